#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/lowering/kernel.h"

namespace fulgurite::codegen {

/// Lines of a trace that are to become one kernel, and which of their results are used elsewhere.
struct LoopNest {
  std::vector<const BoundSymbol*> ops;  // in order
  std::vector<Value> results;
};

/// Whether a symbol is made only of what kernels can compute; what its sizes allow shows when a region is lowered.
bool has_expression(const BoundSymbol&);
/// Whether a line gives each element by one expression of its operands' at the same place. Such lines, of results of one shape, always make a
/// region, as long as they look through no views and there are no more than `max_plain_operands` tensors that it reads and gives.
bool is_plain(const BoundSymbol&);
constexpr size_t max_plain_operands = 40;
/// Whether a line is a view that a kernel need not read: its elements are those of what it is a view of, in the same order.
bool is_transparent_view(const BoundSymbol&);

/// Whether a line is one that a region may hold for a loss of classes: a constant, or elements put into rows, or taken out, at places.
bool is_nll_loss_op(const BoundSymbol&);

/// Where a kernel rounds values of 16 bits.
struct Rounding {
  bool allow_excess_precision = false;                  // not where they are used only inside the kernel
  bool (*is_one_call)(const BoundSymbol&) = nullptr;    // true for a composite that eager mode computes by one kernel, which rounds its results alone
};

/// What lines compute, found once for each: regions of a trace are lowered again whenever a line joins. To be used with one trace, which stays as
/// it is.
class OpExpressions {
 public:
  explicit OpExpressions(Rounding = {});
  ~OpExpressions();
  OpExpressions(const OpExpressions&) = delete;
  OpExpressions& operator=(const OpExpressions&) = delete;

 private:
  friend class GroupLowering;
  struct Known;
  std::unique_ptr<Known> known_;
};

/// A region as a kernel; `reason` says why there is none.
struct LoweredGroup {
  bool is_possible = false;
  std::string reason;
  Kernel kernel;
};
/// Composite symbols become what they are made of. All values have one of the sizes of the largest (broadcast, or reduced along the
/// last dimensions): rows and columns of one loop.
///
///   t1 = softmax(t0, -1)     ->     largest, then a sum, then a quotient of each element of t0's rows
LoweredGroup lower(const LoopNest&, OpExpressions&);

}  // namespace fulgurite::codegen
