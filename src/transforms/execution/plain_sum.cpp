#include "transforms/execution/plain_sum.h"

#include <algorithm>

#include <fulgurite/symbol.h>

namespace fulgurite {

bool is_number(const Value& value, double number) {
  if (value.is_int()) return !value.integer().is_symbolic() && static_cast<double>(value.integer().hint()) == number;
  return value.is_float() && !value.floating().is_symbolic() && value.floating().hint() == number;
}

bool is_plain_sum(const BoundSymbol& bound) {
  if (bound.symbol->semantics.linearity != Linearity::sum) return false;
  const std::span<const Value> args = bound.args.read();
  if (args.size() < 2 || !args[0].is_tensor() || !args[1].is_tensor()) return false;
  const auto scales = [](const auto& keyword) { return !is_number(keyword.second, 1); };  // alpha
  if ((args.size() > 2 && !is_number(args[2], 1)) || std::ranges::any_of(bound.kwargs.read(), scales)) return false;
  const TensorProxy& sum = bound.outputs.at(0).tensor();
  const auto is_whole = [&](const Value& operand) {
    return operand.tensor().shape == sum.shape && operand.tensor().dtype == sum.dtype;
  };
  return (sum.dtype == Dtype::f32 || sum.dtype == Dtype::f64) && is_whole(args[0]) && is_whole(args[1]) &&
         args[0].tensor().id != args[1].tensor().id;
}

}  // namespace fulgurite
