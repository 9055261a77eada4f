// Writes through an index: x[places] = value.
#include <algorithm>

#include "bridge.h"

namespace fulgurite_python {

namespace {

fg::Operand operand_of(const Value& value, const Tensor& tensor, SourceLocation at) {
  if (value.is_tensor()) return fg::Operand(tensor, at);
  if (value.is_int()) return fg::Operand(value.integer(), at);
  if (value.is_bool()) return fg::Operand(value.boolean(), at);
  return fg::Operand(value.floating(), at);
}

/// The value to write, as it was given and as a tensor.
struct Source {
  Value value;
  Tensor tensor;  // undefined of a number
};

bool is_mask(const Value& place) { return place.is_tensor() && Tensor(place).dtype() == fg::Dtype::boolean; }

/// Returns true of an index that selects by elements, of which x[index] is a copy.
bool selects(const Value& place) { return place.is_list() || (place.is_tensor() && Tensor(place).ndim() > 0); }

/// A tensor or a list of positions.
bool has_positions(const Value& place) {
  if (!place.is_list()) return selects(place) && !is_mask(place);
  return std::ranges::all_of(place.list(), [](const Value& item) { return item.is_int(); });
}

bool is_one_number(const Source& source) { return !source.tensor.defined() || source.tensor.ndim() == 0; }

Tensor positions_in(const Value& place, SourceLocation at) {
  if (place.is_tensor()) return Tensor(place);
  std::vector<int64_t> numbers;
  for (const Value& item : place.list()) numbers.push_back(item.integer().hint());
  return fg::tensor(std::span<const int64_t>(numbers), {}, at);
}

/// A mask over all of `x`, from one over its leading dimensions.
Tensor whole_mask(const Tensor& x, Tensor mask, SourceLocation at) {
  while (mask.ndim() < x.ndim()) mask = fg::unsqueeze(mask, -1, at);
  return mask;
}

Tensor as_tensor(const Tensor& x, const Source& source, SourceLocation at) {
  if (source.tensor.defined()) return source.tensor.to(x.dtype(), at);
  return Tensor(fg::call("full", std::vector<Value>{Value(std::vector<Value>{}), source.value},
                         {{"dtype", Value(x.dtype())}}, at));
}

/// Lists and tensors of positions alone, one for each of the leading dimensions.
void write_at_positions(const Tensor& x, const Value& places, const Source& source, SourceLocation at) {
  std::vector<Value> positions;
  for (const Value& place : places.list()) positions.emplace_back(positions_in(place, at));
  fg::call("index_put_", std::vector<Value>{Value(x), Value(std::move(positions)), Value(as_tensor(x, source, at))}, {},
           at);
}

/// Any mixture: the elements are found by an index into their numbers.
void write_at_elements(const Tensor& x, const Value& places, const Source& source, SourceLocation at) {
  const Tensor numbers = fg::reshape(fg::arange(fg::numel(x), {}, at), x.shape(), at);
  const Tensor chosen = Tensor(fg::call("__getitem__", std::vector<Value>{Value(numbers), places}, {}, at));
  const Tensor values = fg::reshape(fg::expand(as_tensor(x, source, at), chosen.shape(), at), {-1}, at);
  const Tensor flat = fg::reshape(x, {-1}, at);
  const Value at_places(std::vector<Value>{Value(fg::reshape(chosen, {-1}, at))});
  const Tensor written =
      Tensor(fg::call("index_put", std::vector<Value>{Value(flat), at_places, Value(values)}, {}, at));
  fg::copy_(x, fg::Operand(fg::reshape(written, x.shape(), at), at), at);
}

}  // namespace

void set_item(const Tensor& tensor, nb::handle index, nb::handle given, nb::handle where) {
  const SourceLocation at = location_of(where);
  const Value value = to_value(given);
  const Source source{value, value.is_tensor() ? Tensor(value) : Tensor()};
  if (!value.is_number() && !source.tensor.defined())
    throw nb::type_error("what is written into a tensor is a tensor or a number");
  const Value places = PyTuple_Check(index.ptr()) ? to_value(index) : Value(std::vector<Value>{to_value(index)});
  const auto& list = places.list();
  if (!std::ranges::any_of(list, selects)) {
    Tensor view = Tensor(fg::call("__getitem__", std::vector<Value>{Value(tensor), places}, {}, at));
    std::move(view) = operand_of(value, source.tensor, at);
  } else if (list.size() == 1 && is_mask(list[0]) && is_one_number(source)) {
    const Tensor mask = whole_mask(tensor, Tensor(list[0]), at);
    fg::call("masked_fill_", std::vector<Value>{Value(tensor), Value(mask), value}, {}, at);
  } else if (std::ranges::all_of(list, has_positions)) {
    write_at_positions(tensor, places, source, at);
  } else {
    write_at_elements(tensor, places, source, at);
  }
}

}  // namespace fulgurite_python
