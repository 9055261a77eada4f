#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"

namespace fulgurite::codegen {

/// Ops of a trace that are to become one kernel, with the results that are used elsewhere.
struct LoopNest {
  std::vector<const BoundSymbol*> ops;  // in order
  std::vector<Value> results;
};

/// Returns true if kernels can compute all subsymbols of a symbol; size restrictions show only when a group is lowered.
bool has_expression(const BoundSymbol&);
/// Returns true if an op computes each element by one expression of its operands' at the same index. Such ops, with
/// results of one shape, always form a fusion group, as long as they look through no views and read and produce at most
/// `max_plain_operands` tensors.
bool is_plain(const BoundSymbol&);
constexpr size_t max_plain_operands = 40;
/// Returns true if an op is a view that a kernel need not read: its elements are the operand's, in the same order.
bool is_transparent_view(const BoundSymbol&);

/// Returns true if a group may contain an op for a loss over classes: a constant, or a gather from or scatter into
/// rows.
bool is_nll_loss_op(const BoundSymbol&);

/// The rounding of 16-bit values in a kernel.
struct Rounding {
  bool allow_excess_precision = false;  // values used only inside the kernel are not rounded
  // true for a composite that eager mode computes by one kernel, which rounds only its results
  bool (*is_one_call)(const BoundSymbol&) = nullptr;
};

/// The expressions of ops, computed once for each: groups are lowered again whenever an op joins. For one trace, which
/// must not change.
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

/// A fusion group as a kernel; `reason` is the reason why there is none.
struct LoweredGroup {
  bool is_possible = false;
  std::string reason;
  Kernel kernel;
};
/// Lowers a fusion group to a loop nest; composites are decomposed. All values have one of the sizes of the largest
/// (broadcast, or reduced along the last dimensions): rows and columns of one loop.
///
///   t1 = softmax(t0, -1)     ->     a maximum, then a sum, then a quotient of each element of t0's rows
LoweredGroup lower(const LoopNest&, OpExpressions&);

}  // namespace fulgurite::codegen
