// Operators that write into their first tensor.
#include "ops/tensor/in_place.h"

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"
#include "support/base/deferred_error.h"
#include "tensor/overlap.h"

namespace fulgurite {

namespace {

int category(Dtype dtype) { return is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

void check_destination(const Tensor& destination, const Shape& source, std::string_view operation, SourceLocation at) {
  if (!destination.defined()) {
    throw_deferred_error();
    throw UserError(text::cat(operation, ": the tensor is undefined"), at);
  }
  Shape common;
  try {
    common = broadcast_shapes(destination.shape(), source);
  } catch (const RuleError& error) {
    throw UserError(text::cat(operation, ": ", error.message), at);
  }
  if (!(common == destination.shape()))
    throw UserError(
        text::cat(operation, ": the value has shape ", source, ", which does not fit into ", type_text(destination)),
        at);
  if (!innermost_interpreter() && grad_enabled() && destination.requires_grad() && destination.is_leaf())
    throw UserError(text::cat("a leaf tensor that requires grad is written in place: ", operation, " on ",
                              type_text(destination), "; wrap it in NoGrad, or write into a copy"),
                    at);
}

constexpr std::string_view in_place_parameter = "inplace";

bool has_memory(const Tensor& tensor) { return tensor.defined() && !innermost_interpreter() && !tensor.impl()->proxy; }

// Reduces dimensions that repeat one element to size 1: one write reaches all repetitions.
Tensor without_repetitions(Tensor tensor, SourceLocation at) {
  if (!has_memory(tensor) || !repeats_elements(tensor.impl()->sizes, tensor.impl()->strides)) return tensor;
  for (int64_t d = 0; d < tensor.ndim(); ++d)
    if (tensor.impl()->strides[static_cast<size_t>(d)] == 0) tensor = narrow(tensor, d, 0, 1, at);
  return tensor;
}

// If elements of the tensor overlap, an in-place operator is applied to an element several times: it must be
// idempotent.
void check_is_idempotent(const Symbol& symbol, SmallVector<Argument, 6>& arguments, const Tensor& value,
                         SourceLocation at) {
  const Tensor& destination = arguments[0].tensor();
  if (!has_memory(destination) || destination.impl()->is_contiguous ||
      !may_overlap_itself(destination.impl()->sizes, destination.impl()->strides))
    return;
  const NoGrad no_grad;
  arguments[0] = Argument(value);
  const Tensor again = dispatch(symbol, {arguments.begin(), arguments.end()}, at);
  const Tensor differs = any(ne(again, value, at), {}, {}, at);
  if (differs.item<bool>()) throw UserError(text::cat(symbol.name(), "_: ", overlapping_write), at);
}

}  // namespace

bool asks_for_in_place(const Symbol& symbol, Arguments arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (symbol.signature.parameters[i].name == in_place_parameter) return arguments[i].boolean();
  return false;
}

Tensor write_in_place(const Tensor& destination, const Tensor& source, std::string_view operation, SourceLocation at) {
  check_destination(destination, source.shape(), operation, at);
  Tensor value = source;
  if (value.dtype() != destination.dtype()) value = prims::convert_element_type(value, destination.dtype(), at);
  if (!(value.shape() == destination.shape())) value = expand(value, destination.shape(), at);
  const Argument arguments[] = {value, destination};
  Results results;
  dispatch(prims_copy__symbol, arguments, at, results);
  return destination;
}

Tensor apply_in_place(const Symbol& symbol, Arguments arguments, SourceLocation at) {
  const Tensor& destination = arguments[0].tensor_or_none();
  std::string operation(symbol.name());
  operation += '_';
  check_destination(destination, {}, operation, at);
  SmallVector<Argument, 6> given;
  for (size_t i = 0; i < arguments.size(); ++i)
    given.push_back(symbol.signature.parameters[i].name == in_place_parameter ? Argument(false) : arguments[i]);
  const Tensor value = dispatch(symbol, {given.begin(), given.size()}, at);
  check_is_idempotent(symbol, given, value, at);
  if (category(value.dtype()) > category(destination.dtype()))
    throw UserError(text::cat(operation, ": the result is ", name(value.dtype()), " and cannot be stored in ",
                              type_text(destination), "; convert the tensor first"),
                    at);
  return write_in_place(destination, value, operation, at);
}

Tensor copy_(const Tensor& input, const Operand& source, SourceLocation at) {
  if (source.kind() == Operand::Kind::none) throw UserError("copy_: the source is an undefined tensor", at);
  if (source.is_tensor()) return write_in_place(input, source.tensor(), "copy_", at);
  return fill_(input, source, at);
}

Tensor fill_(const Tensor& input, const Operand& value, SourceLocation at) {
  if (value.is_tensor()) return write_in_place(input, value.tensor(), "fill_", at);
  if (value.kind() == Operand::Kind::none) throw UserError("fill_: the value is an undefined tensor", at);
  check_destination(input, {}, "fill_", at);
  try {
    require_fits("fill_:", Argument(value), input.dtype());
  } catch (const RuleError& error) {
    throw UserError(error.message, at);
  }
  const Tensor written = without_repetitions(input, at);
  const Tensor filled = full_like(written, value, {}, at);
  write_in_place(written, filled, "fill_", at);
  return input;
}

Tensor zero_(const Tensor& input, SourceLocation at) {
  check_destination(input, {}, "zero_", at);
  const Tensor written = without_repetitions(input, at);
  const Tensor zeros = zeros_like(written, {}, at);
  write_in_place(written, zeros, "zero_", at);
  return input;
}

}  // namespace fulgurite
