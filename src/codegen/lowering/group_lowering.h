#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/lowering/lower_group.h"
#include "codegen/lowering/scalar_ops.h"
#include "tensor/tensor_impl.h"
#include "tracing/argument_pack.h"

namespace fulgurite::codegen {

/// The reason why a fusion group has no kernel.
struct UnsupportedOp {
  std::string reason;
};

/// For each dimension of a value, the loop dimensions that it is, as bits: none if its size is 1, several if it is
/// these joined.
using Dimensions = SmallVector<int, 6>;

/// A proxy's sizes; symbols have the values of the recorded call.
Sizes hinted_sizes(const TensorProxy&);

/// A scalar argument of an op; symbols have the values of the recorded call.
Argument number_of(const Value&);

/// Resolves proxies to meta tensors: rules inspect dtypes and sizes.
class Shapes final : public ArgumentPack::Resolver {
 public:
  Tensor tensor(const detail::Ref<TensorProxy>&) override;
  Int integer(Int symbol) override { return symbol.hint(); }
  Float floating(Float symbol) override { return symbol.hint(); }
  Bool boolean(Bool symbol) override { return symbol.hint(); }
};

bool is_reduction(const Symbol&);

struct OpExpressions::Known {
  Rounding rounding;
  std::unordered_map<const BoundSymbol*, std::optional<Expression>> ops;
  std::unordered_map<const BoundSymbol*, bool> calls;
  const std::optional<Expression>& of(const BoundSymbol&);
  bool is_one_call(const BoundSymbol&);
};

/// Maps the dimensions of a view's operand to its result's, and back; `aligned` are the result's, counted from the
/// last. None for views that a kernel cannot look through.
std::optional<Dimensions> dimensions_after_view(const BoundSymbol&, const Dimensions& from,
                                                const std::optional<Dimensions>& aligned, const Sizes& loop_sizes);
std::optional<Dimensions> dimensions_before_view(const BoundSymbol&, const Dimensions& to, const Sizes& loop_sizes);
/// Sizes as joined dimensions of the given ones, each of which must be used up; none if they do not fit.
std::optional<Dimensions> grouped(const Sizes& sizes, const Dimensions& given, const Sizes& loop_sizes);
/// Sizes as joined neighbours among the loop dimensions, some of which may be omitted; none if that is ambiguous.
std::optional<Dimensions> only_grouping(const Sizes& sizes, const Sizes& loop_sizes);

/// Lowers a fusion group to a kernel, op by op. Throws UnsupportedOp.
class GroupLowering {
 public:
  GroupLowering(const LoopNest& loop_nest, OpExpressions& expressions)
      : loop_nest_(loop_nest), expressions_(*expressions.known_) {}
  Kernel run();

  using IndexingRule = void (GroupLowering::*)(const BoundSymbol&);
  /// Lowers an op that writes or reads one element of each row, or makes the row to write into; null for others.
  static IndexingRule indexing_rule(const Symbol&);

 private:
  /// A value of the trace as the kernel sees it.
  struct Node {
    int value = -1;  // in the kernel; -1: not lowered yet
    Dimensions dimensions;
  };

  void find_sizes();
  void look_ahead(const BoundSymbol&);
  void look_at_sizes(const BoundSymbol&, int64_t& most);
  void lower(const BoundSymbol&);
  void lower_expression(const BoundSymbol&, const Expression&);
  void lower_conversion(const BoundSymbol&);
  void lower_view(const BoundSymbol&);
  void lower_constant(const BoundSymbol&);
  void lower_scatter(const BoundSymbol&);
  void lower_gather(const BoundSymbol&);
  void require_one_of_each_row(const Value&, Dimensions, size_t dim);
  int index_of_rows(const Value& index, const Dimensions&, int64_t dim, const Sizes&);
  int column_of(int index_value);
  std::optional<int> gathered_at(int value, int index_value, int columns);
  bool can_be_gathered(int value, int columns, std::vector<int>& seen) const;
  std::optional<KernelValue> share_of_row(const KernelValue& exponential);
  void lower_reduction(const BoundSymbol&);
  void choose_rows();
  void add_output(const Value&);
  void copy_for(const Value& result, Node&, int dimensions, Extent);
  void keep_exact_comparisons(std::span<const int> operands);
  bool rounds() const { return inside_one_call_ == 0 && !expressions_.rounding.allow_excess_precision; }
  bool is_exact(const BoundSymbol&, const Expression&) const;
  int rounded(int value);
  void round_results(const BoundSymbol&);
  void check_sizes_show() const;

  Dimensions aligned(const Sizes&) const;
  std::optional<Dimensions> aligned_or_none(const Sizes&) const;
  Dimensions broadcast_dimensions(const BoundSymbol&);
  ScalarExpr number(const Argument&, Dtype);

  Node& node(const Value&);
  bool is_known(const Value& value) const { return nodes_.contains(value.tensor().id); }
  int value_of(const Value&);
  void set_result(const BoundSymbol&, int value, Dimensions);
  int add(KernelValue, const std::string& name);

  // Steps of reductions.
  int accumulated(int operand, Dtype result);
  int in_dtype(int operand, Dtype wanted);
  int compute(ScalarExpr, SmallVector<int, 4> operands, Dtype, const std::string& name, bool is_costly = false);
  int convert(int operand, Dtype, const std::string& name);
  ScalarExpr leaf(int k, int value) const { return operand(k, kernel_.values[value].lanes); }
  int reduce(KernelValue::Kind, int operand, int dimensions, const std::string& name);
  int row_reduction(const Symbol&, Arguments, int operand, Dtype result, const std::string& name, int kept);
  int variance(Arguments, int operand, Dtype result, const std::string& name, int kept);
  void column_reduction(const BoundSymbol&, int operand, int kept, Dimensions);
  void require_rows(int first_column);
  int every_dimension() const { return (1 << kernel_.dimensions) - 1; }

  const LoopNest& loop_nest_;
  OpExpressions::Known& expressions_;
  Kernel kernel_;
  Sizes full_;  // of the largest value
  Dimensions full_dimensions_;
  Sizes loop_sizes_;         // full_ without dimensions of size 1
  int depth_ = 0;            // of the op being lowered: 0 for the group's own, more for subsymbols
  int inside_one_call_ = 0;  // of the enclosing composites, those that eager mode computes by one kernel
  int required_ = -1;        // the first column dimension that reductions require
  std::unordered_map<int, Dimensions> expected_;  // by proxy id: a value's dimensions as later views imply
  std::unordered_map<int, Node> nodes_;
  std::unordered_set<int> results_;  // results of composites that are stored
  std::unordered_set<int> zeros_;    // constants that are zero
  // values that are zero but at one index of each row, and the value there
  std::unordered_map<int, int> put_into_zeros_;
  std::unordered_multimap<size_t, int> made_;  // the values by a hash of the expression they are computed by
};

}  // namespace fulgurite::codegen
