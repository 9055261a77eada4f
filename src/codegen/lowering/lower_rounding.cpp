#include <algorithm>

#include <fulgurite/symbol.h>

#include "codegen/lowering/group_lowering.h"
#include "ir/analysis/trace_values.h"
#include "support/text/text.h"

// Rounding of 16-bit values, and conversions, which round too.
namespace fulgurite::codegen {

Argument number_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::integer: return Int(value.integer().hint());
    case Value::Kind::floating: return Float(value.floating().hint());
    case Value::Kind::boolean: return Bool(value.boolean().hint());
    default: throw UnsupportedOp{"an argument is not a number"};
  }
}

bool OpExpressions::Known::is_one_call(const BoundSymbol& bound) {
  if (rounding.is_one_call == nullptr) return false;
  const auto [found, is_new] = calls.try_emplace(&bound);
  if (is_new) found->second = rounding.is_one_call(bound);
  return found->second;
}

int GroupLowering::rounded(int value) {
  const KernelValue unrounded = kernel_.values[value];
  if (!is_half(unrounded.dtype) || unrounded.is_rounded || unrounded.kind == KernelValue::Kind::column_sum)
    return value;
  const int result =
      compute(rounded_to(leaf(0, value), unrounded.dtype), {value}, unrounded.dtype, unrounded.name + "_rounded");
  kernel_.values[result].is_rounded = true;
  return result;
}

void GroupLowering::round_results(const BoundSymbol& bound) {
  for_each_output(bound, [&](const Value& output) {
    if (!output.is_tensor()) return;
    const auto found = nodes_.find(output.tensor().id);
    if (found == nodes_.end() || found->second.value < 0) return;
    found->second.value = rounded(found->second.value);
    const auto is_output = [&](const Value& result) { return result.tensor().id == output.tensor().id; };
    if (std::ranges::any_of(loop_nest_.results, is_output)) results_.insert(found->second.value);
  });
}

// Returns true if a 16-bit op's expression already gives numbers of its dtype.
bool GroupLowering::is_exact(const BoundSymbol& bound, const Expression& expression) const {
  if (!expression.is_exact) return false;
  const Dtype dtype = bound.outputs.at(0).tensor().dtype;
  bool is_exact = true;
  for_each_argument(bound, [&](const Value& argument) {
    if (argument.is_tensor()) {
      const auto found = nodes_.find(argument.tensor().id);
      const bool is_mask = argument.tensor().dtype == Dtype::boolean;
      is_exact = is_exact && (is_mask || (argument.tensor().dtype == dtype && found != nodes_.end() &&
                                          kernel_.values[found->second.value].is_rounded));
    } else if (argument.kind() == Value::Kind::integer || argument.kind() == Value::Kind::floating) {
      const Argument number = number_of(argument);
      is_exact = is_exact && (expression.read == dtype || constant(number, dtype) == constant(number, Dtype::f32));
    }
  });
  return is_exact;
}

void GroupLowering::lower_conversion(const BoundSymbol& bound) {
  const Value& input = bound.args.at(0);
  const Dtype dtype = bound.outputs.at(0).tensor().dtype;
  if (is_known(input)) {
    const Node known = node(input);
    if (known.value >= 0 && kernel_.values[known.value].kind == KernelValue::Kind::column_sum) {
      // The dtype in which a column sum is stored; it is added up in that dtype's lanes.
      KernelValue sum = kernel_.values[known.value];
      if (is_half(sum.dtype) && sum.dtype != dtype && rounds())
        throw UnsupportedOp{"a sum over all rows is rounded to 16 bits before it is converted"};
      const Lanes lanes = sum.lanes;
      if (lanes_of(dtype) != lanes) throw UnsupportedOp{"a column reduction would need a narrower accumulator"};
      sum.dtype = dtype;
      const int value = add(std::move(sum), bound.outputs.at(0).tensor().name);
      kernel_.values[value].lanes = lanes;
      return set_result(bound, value, known.dimensions);
    }
  }
  const int operand = value_of(input);
  const int value = convert(operand, dtype, bound.outputs.at(0).tensor().name);
  kernel_.values[value].is_rounded =
      is_half(dtype) && (kernel_.values[operand].dtype != dtype || kernel_.values[operand].is_rounded);
  const Dimensions dimensions = node(input).dimensions;
  set_result(bound, value, dimensions);
}

}  // namespace fulgurite::codegen
