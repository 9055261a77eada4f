#include <algorithm>

#include <fulgurite/symbol.h>

#include "codegen/lowering/group_lowering.h"
#include "codegen/lowering/lower_group.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"

// Gather and scatter of one element of each row: a loss that picks one class, and its cotangent.
namespace fulgurite::codegen {

namespace {

/// A mask of the column whose index is operand 0.
ScalarExpr is_at_index() { return apply(ScalarOp::equal, column_index(), operand(0, Lanes::ints)); }

int64_t dimension_of(const BoundSymbol& bound) {
  const int64_t dim = bound.args.at(1).integer().hint();
  return dim < 0 ? dim + static_cast<int64_t>(bound.args.at(0).tensor().shape.size()) : dim;
}

}  // namespace

GroupLowering::IndexingRule GroupLowering::indexing_rule(const Symbol& symbol) {
  struct Entry {
    const Symbol* symbol;
    IndexingRule rule;
  };
  static constexpr Entry entries[] = {{&full_symbol, &GroupLowering::lower_constant},
                                      {&scatter_symbol, &GroupLowering::lower_scatter},
                                      {&gather_symbol, &GroupLowering::lower_gather}};
  const auto* const found = std::ranges::find(entries, &symbol, &Entry::symbol);
  return found != std::end(entries) ? found->rule : nullptr;
}

bool is_nll_loss_op(const BoundSymbol& bound) { return GroupLowering::indexing_rule(*bound.symbol) != nullptr; }

void GroupLowering::lower_constant(const BoundSymbol& bound) {
  const TensorProxy& result = bound.outputs.at(0).tensor();
  Shapes shapes;
  const ArgumentPack pack(bound, shapes);
  if (result.dtype == Dtype::boolean) throw UnsupportedOp{"a constant is boolean"};
  const Dimensions dimensions = aligned(hinted_sizes(result));
  const int constant = compute(codegen::constant(pack.arguments()[1], result.dtype), {}, result.dtype, result.name);
  kernel_.values[constant].is_rounded = is_half(result.dtype);
  if (pack.arguments()[1].floating().hint() == 0) zeros_.insert(constant);
  set_result(bound, constant, dimensions);
}

void GroupLowering::require_one_of_each_row(const Value& value, Dimensions dimensions, size_t dim) {
  dimensions[dim] = 0;
  if (node(value).dimensions != dimensions) throw UnsupportedOp{"conflicting layouts"};
}

// The index of each row, which must be read from memory: only such indices can be checked.
int GroupLowering::index_of_rows(const Value& index, const Dimensions& dimensions, int64_t dim, const Sizes& sizes) {
  const auto at = static_cast<size_t>(dim);
  Sizes one_of_each = sizes;
  one_of_each[at] = 1;
  if (hinted_sizes(index.tensor()) != one_of_each || dimensions[at] != 1 << (kernel_.dimensions - 1) ||
      sizes[at] > (int64_t{1} << 30))
    throw UnsupportedOp{"the index does not have one element per row"};
  require_rows(kernel_.dimensions - 1);
  const int index_value = value_of(index);
  require_one_of_each_row(index, dimensions, at);
  if (kernel_.values[index_value].input < 0) throw UnsupportedOp{"the index is computed inside the fusion"};
  kernel_.inputs[static_cast<size_t>(kernel_.values[index_value].input)].is_place = true;
  kernel_.has_row_sums = true;  // a row is not divided: indices count its columns
  return index_value;
}

// The index as it is compared with column indices.
int GroupLowering::column_of(int index_value) {
  const KernelValue& value = kernel_.values[index_value];
  return value.dtype == Dtype::i32 ? index_value : convert(index_value, Dtype::i32, value.name + "_column");
}

// Selects the row's source where the column is the row's index, else the input.
void GroupLowering::lower_scatter(const BoundSymbol& bound) {
  const Value &input = bound.args.at(0), &index = bound.args.at(2), &source = bound.args.at(3);
  const TensorProxy& result = bound.outputs.at(0).tensor();
  if (!source.is_tensor() || hinted_sizes(source.tensor()) != hinted_sizes(index.tensor()))
    throw UnsupportedOp{"unsupported scatter: more than one index per row"};
  const int into = value_of(input);
  const Dimensions dimensions = node(input).dimensions;
  const int64_t dim = dimension_of(bound);
  const int index_value = index_of_rows(index, dimensions, dim, hinted_sizes(result)), from = value_of(source);
  require_one_of_each_row(source, dimensions, static_cast<size_t>(dim));
  const int column = column_of(index_value);
  const ScalarExpr chosen = select(is_at_index(), leaf(1, from), leaf(2, into));
  const int value = compute(chosen, {column, from, into}, result.dtype, result.name);
  kernel_.values[value].dimensions |= dimensions[static_cast<size_t>(dim)];
  kernel_.values[value].is_rounded = kernel_.values[from].is_rounded && kernel_.values[into].is_rounded;
  if (zeros_.contains(into)) put_into_zeros_.emplace(value, from);
  set_result(bound, value, dimensions);
}

// Returns true if a value that varies along the columns is computed from inputs by few operations.
bool GroupLowering::can_be_gathered(int value, int columns, std::vector<int>& seen) const {
  const KernelValue& v = kernel_.values[value];
  if ((v.dimensions & columns) == 0 || std::ranges::find(seen, value) != seen.end()) return true;
  constexpr size_t most = 16;
  seen.push_back(value);
  if (v.kind == KernelValue::Kind::input) return true;
  if (v.kind != KernelValue::Kind::computed || v.expression.has(ScalarOp::column_index) || seen.size() > most)
    return false;
  return std::ranges::all_of(v.operands, [&](int operand) { return can_be_gathered(operand, columns, seen); });
}

// A value at the row's index, computed only there; none if that is too costly.
std::optional<int> GroupLowering::gathered_at(int value, int index_value, int columns) {
  std::vector<int> parts;
  if (!can_be_gathered(value, columns, parts)) return std::nullopt;
  std::ranges::sort(parts);
  std::unordered_map<int, int> taken;
  for (const int part : parts) {
    KernelValue there = kernel_.values[part];
    there.output = -1;
    if (there.kind == KernelValue::Kind::input) {
      there.kind = KernelValue::Kind::taken;
      there.operands = {index_value};
    }
    there.dimensions = there.dimensions & ~columns;
    for (int& operand : there.operands) {
      if (const auto found = taken.find(operand); found != taken.end()) operand = found->second;
      there.dimensions |= kernel_.values[operand].dimensions;
    }
    const std::string name = there.name + "_taken";
    taken[part] = add(std::move(there), name);
  }
  return taken.at(value);
}

// Gathers the value at the index, or sums its row with all other elements zeroed.
void GroupLowering::lower_gather(const BoundSymbol& bound) {
  const Value &input = bound.args.at(0), &index = bound.args.at(2);
  const TensorProxy& result = bound.outputs.at(0).tensor();
  if (!is_floating(result.dtype)) throw UnsupportedOp{"gathers of integers are not supported"};
  const int from = value_of(input);
  Dimensions dimensions = node(input).dimensions;
  const int64_t dim = dimension_of(bound);
  const int index_value = index_of_rows(index, dimensions, dim, hinted_sizes(input.tensor()));
  const int columns = dimensions[static_cast<size_t>(dim)];
  if (kernel_.values[from].dimensions != every_dimension())
    throw UnsupportedOp{"the gather's source does not vary along the whole row"};
  dimensions[static_cast<size_t>(dim)] = 0;
  if (const auto there = gathered_at(from, index_value, columns)) return set_result(bound, *there, dimensions);
  const int column = column_of(index_value);
  const ScalarExpr elements = select(is_at_index(), leaf(1, from), whole(0, kernel_.values[from].lanes));
  const int chosen = compute(elements, {column, from}, result.dtype, result.name + "_chosen");
  const int taken = reduce(KernelValue::Kind::sum, chosen, every_dimension() & ~columns, result.name);
  kernel_.values[taken].is_rounded = kernel_.values[from].is_rounded;
  set_result(bound, taken, dimensions);
}

}  // namespace fulgurite::codegen
