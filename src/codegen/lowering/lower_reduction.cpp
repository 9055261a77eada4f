#include <algorithm>
#include <bit>

#include <fulgurite/symbol.h>

#include "codegen/lowering/group_lowering.h"
#include "ops/generated/symbols.h"
#include "ops/reduction/reduction_rules.h"
#include "support/text/text.h"

// Reductions of a fusion group, and its division into rows and columns.
namespace fulgurite::codegen {

using Kind = KernelValue::Kind;

namespace {

// A full reduction is a single row and therefore single-threaded; larger ones are left to the eager kernel, which
// splits them.
constexpr int64_t max_elements_in_one_row = int64_t{1} << 18;

int64_t element_count(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

bool is_extremum(Reduction reduction) { return reduction == Reduction::largest || reduction == Reduction::smallest; }

}  // namespace

void GroupLowering::lower_reduction(const BoundSymbol& bound) {
  const Symbol& symbol = *bound.symbol;
  const Value& input = bound.args.at(0);
  Shapes shapes;
  const ArgumentPack pack(bound, shapes);
  const Arguments arguments = pack.arguments();
  const int operand = value_of(input);
  const Dimensions from = node(input).dimensions;
  const auto is_reduced = reduced_dims(arguments[1], static_cast<int64_t>(from.size()));
  const auto keepdim = std::ranges::find(symbol.signature.params(), "keepdim", &Parameter::name);
  const bool keeps = arguments[static_cast<size_t>(keepdim - symbol.signature.params().begin())].boolean();
  int reduced = 0, all = 0;
  Dimensions to;
  for (size_t d = 0; d < from.size(); ++d) {
    all |= from[d];
    if (is_reduced[d]) reduced |= from[d];
    if (!is_reduced[d]) to.push_back(from[d]);
    else if (keeps) to.push_back(0);
  }
  if (all != every_dimension())
    throw UnsupportedOp{"unsupported reduction: only some of the leading or trailing dimensions"};
  if (reduced == 0) throw UnsupportedOp{"dimensions of size 1 are reduced"};
  const int kept = all & ~reduced;
  const bool is_of_rows = (kept & (kept + 1)) == 0, is_of_columns = (reduced & (reduced + 1)) == 0;
  if (is_of_rows) {
    if (kept == 0 && element_count(loop_sizes_) > max_elements_in_one_row)
      throw UnsupportedOp{"a large tensor is reduced to one element"};
    require_rows(std::popcount(static_cast<unsigned>(kept)));
    const TensorProxy& result = bound.outputs.at(0).tensor();
    int value = row_reduction(symbol, arguments, operand, result.dtype, result.name, kept);
    // Rounding one value per row costs nothing. An extremum is an element, so it is as exact as its operand.
    if (is_extremum(symbol.semantics.reduction)) kernel_.values[value].is_rounded = kernel_.values[operand].is_rounded;
    else if (depth_ == 0 || rounds()) value = rounded(value);
    return set_result(bound, value, std::move(to));
  }
  if (symbol.semantics.reduction != Reduction::sum || !is_of_columns)
    throw UnsupportedOp{"unsupported reduction: only trailing dimensions or all leading dimensions"};
  require_rows(std::popcount(static_cast<unsigned>(reduced)));
  column_reduction(bound, operand, kept, std::move(to));
}

void GroupLowering::column_reduction(const BoundSymbol& bound, int operand, int kept, Dimensions to) {
  const TensorProxy& result = bound.outputs.at(0).tensor();
  KernelValue sum;
  sum.kind = Kind::column_sum;
  sum.operands.push_back(accumulated(operand, result.dtype));
  sum.dtype = result.dtype;
  sum.dimensions = kept;
  kernel_.has_column_sums = true;
  const Lanes lanes = kernel_.values[sum.operands[0]].lanes;
  const int value = add(std::move(sum), result.name);
  kernel_.values[value].lanes = lanes;
  set_result(bound, value, std::move(to));
}

void GroupLowering::require_rows(int first_column) {
  if (required_ >= 0 && required_ != first_column) throw UnsupportedOp{"different dimensions are reduced"};
  required_ = first_column;
}

// The operand in the type that sums are accumulated in.
int GroupLowering::accumulated(int operand, Dtype result) {
  return in_dtype(operand, result == Dtype::f64 ? Dtype::f64 : is_floating(result) ? Dtype::f32 : Dtype::i64);
}

int GroupLowering::in_dtype(int operand, Dtype wanted) {
  const KernelValue value = kernel_.values[operand];
  if (value.lanes == lanes_of(wanted)) return operand;
  return convert(operand, wanted, value.name + "_wide");
}

int GroupLowering::convert(int operand, Dtype dtype, const std::string& name) {
  const ScalarExpr value = converted(leaf(0, operand), kernel_.values[operand].dtype, dtype);
  return compute(value, {operand}, dtype, name);
}

int GroupLowering::compute(ScalarExpr expression, SmallVector<int, 4> operands, Dtype dtype, const std::string& name,
                           bool is_costly) {
  KernelValue value;
  value.expression = std::move(expression);
  value.operands = std::move(operands);
  value.dtype = dtype;
  value.is_costly = is_costly;
  for (const int operand : value.operands) value.dimensions |= kernel_.values[operand].dimensions;
  return add(std::move(value), name);
}

int GroupLowering::reduce(Kind kind, int operand, int dimensions, const std::string& name) {
  KernelValue value;
  value.kind = kind;
  value.operands.push_back(operand);
  value.dtype = kernel_.values[operand].dtype;
  value.dimensions = dimensions;
  kernel_.has_row_sums = true;
  return add(std::move(value), name);
}

int GroupLowering::row_reduction(const Symbol& symbol, Arguments arguments, int operand, Dtype result,
                                 const std::string& name, int kept) {
  const Reduction reduction = symbol.semantics.reduction;
  if (is_extremum(reduction)) {
    const Kind kind = reduction == Reduction::largest ? Kind::largest : Kind::smallest;
    if (result != Dtype::boolean) return reduce(kind, operand, kept, name);
    const int found = reduce(kind, in_dtype(operand, Dtype::i32), kept, name + "_number");
    return convert(found, Dtype::boolean, name);
  }
  if (reduction == Reduction::variance) return variance(arguments, accumulated(operand, result), result, name, kept);
  const int input = accumulated(operand, result);
  if (reduction == Reduction::sum) {
    if (const auto put = put_into_zeros_.find(input); put != put_into_zeros_.end())
      return in_dtype(put->second, result);
    const int total = reduce(Kind::sum, input, kept, name);
    if (is_floating(result)) kernel_.values[total].dtype = result;
    else if (result != Dtype::i64) return convert(total, result, name + "_sum");
    return total;
  }
  const int total = reduce(Kind::sum, input, kept, name + "_sum");
  const ScalarExpr mean = leaf(0, total) / column_count(lanes_of(result));
  return compute(mean, {total}, result, name, true);
}

// Squared deviations from the mean, corrected by the mean's rounding error.
int GroupLowering::variance(Arguments arguments, int operand, Dtype result, const std::string& name, int kept) {
  const Dtype wide = result == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const Lanes lanes = lanes_of(wide);
  const double correction = arguments[2].is_none() ? 1 : arguments[2].floating().hint();
  const ScalarExpr count = column_count(lanes), x = codegen::operand(0, lanes), y = codegen::operand(1, lanes);
  const int total = reduce(Kind::sum, operand, kept, name + "_sum");
  const int mean = compute(x / count, {total}, wide, name + "_mean", true);
  const int deviation = compute(x - y, {operand, mean}, wide, name + "_deviation");
  const int square = compute(x * x, {deviation}, wide, name + "_square");
  const int squares = reduce(Kind::sum, square, kept, name + "_squares");
  const int rest = reduce(Kind::sum, deviation, kept, name + "_rest");
  const ScalarExpr corrected = count - constant(Argument(Float(correction)), wide);
  const ScalarExpr divisor = correction == 0 ? count : apply(ScalarOp::maximum, corrected, whole(0, lanes));
  return compute((x - y * y / count) / divisor, {squares, rest}, result, name, true);
}

// Reductions determine where rows end; else rows are as long as every value allows: it varies along all of a row, or
// along none of it.
void GroupLowering::choose_rows() {
  const auto suits = [&](int first_column) {
    const int columns = every_dimension() & ~((1 << first_column) - 1);
    for (const KernelValue& value : kernel_.values)
      if (const int along = value.dimensions & columns; along != 0 && along != columns) return false;
    return true;
  };
  int first = required_ >= 0 ? required_ : 0;
  while (required_ < 0 && !suits(first)) ++first;
  if (!suits(first)) throw UnsupportedOp{"a value varies along only some of the reduced dimensions"};
  kernel_.first_column_dimension = first;
  const int columns = every_dimension() & ~((1 << first) - 1), rows = every_dimension() & ~columns;
  const auto extent_of = [&](int dimensions) {
    return (dimensions & columns) != 0 ? Extent::full : (dimensions & rows) != 0 ? Extent::row : Extent::uniform;
  };
  for (KernelValue& value : kernel_.values) {
    value.extent = extent_of(value.dimensions);
    // A full reduction belongs to the only row, and so do the values computed from it.
    const auto is_of_row = [&](int operand) { return kernel_.values[operand].extent == Extent::row; };
    if (value.extent == Extent::uniform && std::ranges::any_of(value.operands, is_of_row)) value.extent = Extent::row;
    if (value.kind == Kind::sum || value.kind == Kind::largest || value.kind == Kind::smallest)
      value.extent = Extent::row;
    if (value.extent == Extent::row) kernel_.has_row_values = true;
    if (value.kind == Kind::input) kernel_.inputs[value.input].extent = value.extent;
  }
}

// Makes a copy of a value the result, along dimensions that may be more than the value has.
void GroupLowering::copy_for(const Value& result, Node& n, int dimensions, Extent extent) {
  KernelValue copy = kernel_.values[n.value];
  copy.kind = Kind::computed;
  copy.expression = leaf(0, n.value);
  copy.operands = {n.value};
  copy.output = -1;
  copy.name = result.tensor().name;
  copy.dimensions = dimensions;
  copy.extent = extent;
  if (extent == Extent::row) kernel_.has_row_values = true;
  kernel_.values.push_back(std::move(copy));
  n.value = static_cast<int>(kernel_.values.size()) - 1;
}

void GroupLowering::add_output(const Value& result) {
  Node& n = node(result);
  if (n.value < 0 || kernel_.values[n.value].kind == Kind::input)
    throw UnsupportedOp{"a result is only a view of an input"};
  const int columns = every_dimension() & ~((1 << kernel_.first_column_dimension) - 1),
            rows = every_dimension() & ~columns;
  int own = 0;
  for (const int bits : n.dimensions) {
    if (bits != 0 && bits <= own) throw UnsupportedOp{"a result has its dimensions in another order"};
    own |= bits;
  }
  const KernelValue& made = kernel_.values[n.value];
  const bool is_column_sum = made.kind == Kind::column_sum;
  if (made.output >= 0 && is_column_sum) throw UnsupportedOp{"two results are one sum over all rows"};
  // A value that varies along fewer dimensions than its tensor is stored once for each index; two results that are one
  // value become two copies of it.
  const bool is_repeated = !is_column_sum && made.dimensions != own && (own == every_dimension() || own == rows) &&
                           (made.dimensions & ~own) == 0;
  if (is_repeated) copy_for(result, n, own, own == every_dimension() ? Extent::full : Extent::row);
  else if (made.output >= 0) copy_for(result, n, made.dimensions, made.extent);
  KernelValue& value = kernel_.values[n.value];
  const int wanted = value.kind == Kind::column_sum ? columns
                     : value.extent == Extent::full ? every_dimension()
                     : value.extent == Extent::row  ? rows
                                                    : -1;
  if (value.dimensions != wanted || own != wanted)
    throw UnsupportedOp{text::cat("result ", result.tensor().name, " is smaller than the rest")};
  value.output = static_cast<int>(kernel_.outputs.size());
  kernel_.outputs.push_back(
      {result.tensor().id, result.tensor().dtype, value.extent, value.kind == Kind::column_sum, n.dimensions});
}

// At launch, a kernel reads the loop sizes from its operands.
void GroupLowering::check_sizes_show() const {
  int shown = 0;
  for (const auto* operands : {&kernel_.inputs, &kernel_.outputs})
    for (const KernelOperand& operand : *operands)
      for (const int bits : operand.dimensions)
        if ((bits & (bits - 1)) == 0) shown |= bits;
  if (shown != every_dimension()) throw UnsupportedOp{"a result dimension is not covered by any operand"};
}

// Caches elements that are compared with their row's extremum: the kernel has computed them anyway.
void GroupLowering::keep_exact_comparisons(std::span<const int> operands) {
  for (const int extremum : operands) {
    const KernelValue& value = kernel_.values[extremum];
    if (value.kind == KernelValue::Kind::largest || value.kind == KernelValue::Kind::smallest)
      kernel_.values[value.operands[0]].is_costly = true;
  }
}

}  // namespace fulgurite::codegen
