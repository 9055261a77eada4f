#include "ops/elementwise/pointwise_rules.h"

#include <fulgurite/operators.h>

#include "tensor/number_range.h"

namespace fulgurite {

TensorType broadcast_type(Arguments operands, Dtype dtype) {
  TensorType type;
  type.dtype = dtype;
  bool found = false;
  for (const Argument& operand : operands) {
    if (!operand.is_tensor()) continue;
    const Tensor& tensor = operand.tensor();
    if (!found) {
      type.shape = tensor.shape();
      type.device = tensor.device();
      found = true;
      continue;
    }
    require(tensor.device() == type.device || tensor.ndim() == 0,
            "operands are on different devices: ", type.device.name(), " and ", tensor.device().name());
    type.shape = broadcast_shapes(type.shape, tensor.shape());
  }
  require(found, "at least one operand must be a tensor");
  return type;
}

Dtype floating_or_default(Dtype dtype) { return is_floating(dtype) ? dtype : default_dtype(); }

void infer_same(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back({x.shape(), x.dtype(), x.device()});
}

void infer_same_number(Arguments a, InferredTypes& types) {
  require(!is_boolean(a[0].tensor().dtype()),
          "not defined for booleans; convert with to(Dtype::i64), or use logical_not");
  infer_same(a, types);
}

void infer_floating(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back({x.shape(), floating_or_default(x.dtype()), x.device()});
}

void infer_boolean(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back({x.shape(), Dtype::boolean, x.device()});
}

void infer_promoted(Arguments a, InferredTypes& types) {
  const Arguments operands = a.first(2);
  types.push_back(broadcast_type(operands, result_dtype(operands)));
}

void infer_promoted_floating(Arguments a, InferredTypes& types) {
  const Arguments operands = a.first(2);
  types.push_back(broadcast_type(operands, floating_or_default(result_dtype(operands))));
}

void infer_comparison(Arguments a, InferredTypes& types) {
  types.push_back(broadcast_type(a.first(2), Dtype::boolean));
}

void infer_bitwise(Arguments a, InferredTypes& types) {
  infer_promoted(a, types);
  require(!is_floating(types[0].dtype), "needs integers or booleans, not ", types[0].dtype);
}

void require_fits(std::string_view name, const Argument& number, Dtype dtype) {
  if (number.is_integer()) {
    const int64_t value = number.integer().hint();
    if (overflows(value, dtype)) throw RuleError{text::cat(name, " ", does_not_fit(value, dtype))};
  } else if (number.is_floating()) {
    const double value = number.floating().hint();
    if (overflows(value, dtype)) throw RuleError{text::cat(name, " ", does_not_fit(value, dtype))};
  }
}

Tensor as_tensor(const Argument& operand, const Tensor& other, Dtype dtype, SourceLocation at) {
  if (operand.is_tensor()) return operand.tensor();
  return full({}, operand.operand(), {.dtype = dtype, .device = other.device()}, at);
}

void check(InferRule rule, Arguments a) {
  InferredTypes types;
  rule(a, types);
}

bool logit_has_bounds(const Argument& eps, Dtype dtype) {
  return !eps.is_none() && !(eps.floating() < (dtype == Dtype::f64 ? 0.0 : -0x1p-150));
}

Tensor zeros_of(const Tensor& x) { return zeros(x.shape(), {.dtype = x.dtype(), .device = x.device()}); }

void gradient_is_zero(Gradient& g) {
  for (size_t i = 0; i < g.arguments().size(); ++i) {
    if (g.needs(i)) g.set(i, zeros_of(g.tensor(i)));
  }
}

void gradient_of_extremum(Gradient& g, bool of_maximum) {
  const Tensor a = g.tensor(0), b = g.tensor(1);
  const Tensor tied = eq(a, b);
  const Tensor half = div(g.cotangent(), 2);
  const Tensor shared = where(tied, half, g.cotangent());
  if (g.needs(0)) {
    const Tensor loses = of_maximum ? lt(a, b) : gt(a, b);
    g.set(0, where(loses, 0, shared));
  }
  if (g.needs(1)) {
    const Tensor loses = of_maximum ? gt(a, b) : lt(a, b);
    g.set(1, where(loses, 0, shared));
  }
}

}  // namespace fulgurite
