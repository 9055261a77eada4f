#include <fulgurite/symbol.h>

#include "codegen/region_lowering.h"
#include "ops/symbols.h"
#include "support/text.h"

// Elements at places of each row: a loss that picks one class, and its cotangent.
namespace fulgurite::codegen {

namespace {

std::string_view lanes_text(Dtype dtype) {
  static constexpr std::string_view names[] = {"Floats", "Doubles", "Ints", "Longs", "Ints"};
  return names[static_cast<int>(lanes_of(dtype))];
}

int64_t dimension_of(const BoundSymbol& bound) {
  const int64_t dim = bound.args.at(1).integer().hint();
  return dim < 0 ? dim + static_cast<int64_t>(bound.args.at(0).tensor().shape.size()) : dim;
}

}  // namespace

void RegionLowering::lower_constant(const BoundSymbol& bound) {
  const TensorProxy& result = bound.outputs.at(0).tensor();
  Shapes shapes;
  const ArgumentPack pack(bound, shapes);
  if (result.dtype == Dtype::boolean) throw Refusal{"a constant is boolean"};
  const std::string value = text::cat(lanes_text(result.dtype), "(", literal(pack.arguments()[1], result.dtype), ")");
  const Dimensions dimensions = aligned(hinted_sizes(result));
  set_result(bound, compute(value, {}, result.dtype, result.name), dimensions);
}

// Whether a column is its row's place, which is read from memory: only such places can be checked.
std::string RegionLowering::at_place(const Value& index, const Dimensions& dimensions, int64_t dim, const Sizes& sizes, int& place) {
  const auto at = static_cast<size_t>(dim);
  Sizes one_of_each = sizes;
  one_of_each[at] = 1;
  if (hinted_sizes(index.tensor()) != one_of_each || dimensions[at] != 1 << (kernel_.dimensions - 1) || sizes[at] > (int64_t{1} << 30))
    throw Refusal{"places are not one of each row"};
  require_rows(kernel_.dimensions - 1);
  place = value_of(index);
  if (kernel_.values[place].input < 0) throw Refusal{"places are computed in it"};
  kernel_.inputs[static_cast<size_t>(kernel_.values[place].input)].is_place = true;
  kernel_.has_row_sums = true;  // a row is not divided: its columns are counted
  return text::cat("c.places() == ", converted("{0}", kernel_.values[place].dtype, Dtype::i32));
}

// Where the column's number is the row's place, the row's source; else what was there.
void RegionLowering::lower_scatter(const BoundSymbol& bound) {
  const Value &input = bound.args.at(0), &index = bound.args.at(2), &source = bound.args.at(3);
  const TensorProxy& result = bound.outputs.at(0).tensor();
  if (!source.is_tensor() || hinted_sizes(source.tensor()) != hinted_sizes(index.tensor())) throw Refusal{"other elements than one of each row are put at places"};
  const int into = value_of(input);
  const Dimensions dimensions = node(input).dimensions;
  const int64_t dim = dimension_of(bound);
  int place = -1;
  const std::string is_there = at_place(index, dimensions, dim, hinted_sizes(result), place);
  const int from = value_of(source);
  const int value = compute(text::cat("select(", is_there, ", {1}, {2})"), {place, from, into}, result.dtype, result.name);
  kernel_.values[value].dimensions |= dimensions[static_cast<size_t>(dim)];
  set_result(bound, value, dimensions);
}

// A sum of which one term is not zero.
void RegionLowering::lower_gather(const BoundSymbol& bound) {
  const Value &input = bound.args.at(0), &index = bound.args.at(2);
  const TensorProxy& result = bound.outputs.at(0).tensor();
  if (!is_floating(result.dtype)) throw Refusal{"integers are taken at places"};
  const int from = value_of(input);
  Dimensions dimensions = node(input).dimensions;
  const int64_t dim = dimension_of(bound);
  int place = -1;
  const std::string is_there = at_place(index, dimensions, dim, hinted_sizes(input.tensor()), place);
  const int columns = dimensions[static_cast<size_t>(dim)];
  if (kernel_.values[from].dimensions != every_dimension()) throw Refusal{"what elements are taken from does not vary along all of a row"};
  const int chosen = compute(text::cat("select(", is_there, ", {1}, ", lanes_text(result.dtype), "(0))"), {place, from}, result.dtype, result.name + "_chosen");
  dimensions[static_cast<size_t>(dim)] = 0;
  set_result(bound, reduce(KernelValue::Kind::sum, chosen, every_dimension() & ~columns, result.name), dimensions);
}

}  // namespace fulgurite::codegen
