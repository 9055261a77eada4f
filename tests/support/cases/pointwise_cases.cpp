// Pointwise operators: those of tensors alone by their records' ranges, the others one by one.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

/// How many leading parameters take a tensor, where all others have defaults; 0 where an operator wants something else.
size_t tensors_taken(const Symbol& symbol) {
  size_t count = 0;
  bool leading = true;
  for (const Parameter& parameter : symbol.signature.params()) {
    const bool takes = parameter.type == Parameter::Type::tensor || parameter.type == Parameter::Type::operand;
    if (leading && takes && parameter.default_text.empty()) ++count;
    else leading = false;
    if (!leading && parameter.default_text.empty()) return 0;
  }
  return count;
}

bool has_cases_of_its_own(const Symbol& symbol) {
  for (const char* name :
       {"where", "masked_fill", "clamp", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor",
        "bitwise_left_shift", "bitwise_right_shift", "igamma", "igammac", "special.zeta", "prims.standard_gamma_grad"})
    if (&symbol == find_symbol(name)) return true;
  return false;
}

void add_by_range(const Symbol& symbol, std::vector<OperatorCase>& out) {
  const std::string name(symbol.qualified_name());
  const auto sample = [&](std::vector<int64_t> sizes) {
    return floats(std::move(sizes), symbol.samples.low, symbol.samples.high);
  };
  switch (tensors_taken(symbol)) {
    case 1:
      out.push_back({name, {sample({2, 3})}});
      out.push_back({name, {sample({})}});
      out.push_back({name, {sample({0, 3})}});
      break;
    case 2:
      out.push_back({name, {sample({2, 3}), sample({2, 3})}});
      out.push_back({name, {sample({2, 1, 3}), sample({4, 1})}});
      out.push_back({name, {sample({3}), sample({})}});
      out.push_back({name, {sample({0, 3}), sample({3})}});
      break;
    case 3:
      out.push_back({name, {sample({2, 3}), sample({3}), sample({2, 1})}});
      out.push_back({name, {sample({}), sample({}), sample({})}});
      break;
    default: break;
  }
}

}  // namespace

void add_pointwise_cases(std::vector<OperatorCase>& out) {
  for (const Symbol* symbol : symbols())
    if (symbol->traits.pointwise && !has_cases_of_its_own(*symbol)) add_by_range(*symbol, out);

  const auto x = [] { return floats({2, 3}, 0.3, 2); };
  // The first argument has no derivative, or one that has none.
  const auto shape = [](std::vector<int64_t> sizes) { return floats(std::move(sizes), 0.5, 4).detach(); };
  for (const char* name : {"torch.igamma", "torch.igammac"}) {
    out.push_back({name, {shape({2, 3}), floats({3}, 0.5, 4)}});
    out.push_back({name, {shape({}), floats({0, 3}, 0.5, 4)}});
  }
  // PyTorch approximates it with four digits.
  out.push_back(OperatorCase("prims.standard_gamma_grad", {shape({2, 3}), shape({3})}).without_pytorch());
  // At 0 the quotients of these gradients have limits.
  const auto from_zero = [] { return tensor({0.0, 1.5}, {.dtype = Dtype::f64, .requires_grad = true}); };
  out.push_back({"torch.special.i1", {from_zero()}});
  out.push_back({"torch.special.bessel_j1", {from_zero()}});
  out.push_back(OperatorCase("torch.special.i1e", {from_zero()}).with_gradients({{0.5, 0.002367963352615632}}));
  out.push_back({"torch.special.zeta", {add(shape({2, 3}), 1), floats({3}, 0.5, 4)}});
  out.push_back({"torch.add", {x(), floats({3})}, {{"alpha", 2.5}}});
  out.push_back({"torch.add", {x(), 2}});
  out.push_back({"torch.add", {1.5, x()}, {{"alpha", 3}}});
  out.push_back({"torch.sub", {x(), floats({3})}, {{"alpha", 3}}});
  out.push_back({"torch.sub", {3, x()}});
  out.push_back({"torch.mul", {2, x()}});
  out.push_back({"torch.div", {x(), 2}});
  out.push_back({"torch.div", {2, x()}});
  out.push_back({"torch.div", {x(), floats({3}, 0.2, 0.7)}, {{"rounding_mode", "floor"}}});
  out.push_back({"torch.div", {x(), floats({3}, 0.2, 0.7)}, {{"rounding_mode", "trunc"}}});
  for (const double exponent : {3.0, 2.0, 1.0, 0.0, 0.5, -1.5}) out.push_back({"torch.pow", {x(), exponent}});
  out.push_back({"torch.pow", {x(), 2}});
  out.push_back({"torch.pow", {2, x()}});
  out.push_back({"torch.pow", {floats({3}), integers({3}, {2, 0, 3})}});
  out.push_back({"torch.remainder", {floats({2, 3}), 0.7}});
  out.push_back({"torch.remainder", {4.7, x()}});
  out.push_back({"torch.remainder", {floats({3}, 1.3, 1.7), floats({}, 0.4, 0.6)}});
  out.push_back({"torch.fmod", {floats({2, 3}), 0.7}});
  out.push_back({"torch.maximum", {floats({4}), constants({2, 1})}});
  out.push_back({"torch.maximum", {tensor(std::vector<double>{-1, 0.3, 2}).requires_grad_(), floats({}, 0.4, 1)}});
  for (const char* op : {"torch.fmax", "torch.fmin"})
    out.push_back({op, {tensor(std::vector<double>{-1, 0.3, 2}).requires_grad_(), floats({}, 0.4, 1)}});
  out.push_back({"torch.isclose", {constants({2, 3}), constants({3}), 0.5}, {{"atol", 0.1}}});
  out.push_back({"torch.isclose", {integers({3}, {1, 20, 3}), integers({3}, {1, 21, 30}), 0.1}, {{"equal_nan", true}}});
  out.push_back({"torch.clamp", {floats({2, 5}), -0.7, 1.1}});
  out.push_back({"torch.clamp", {floats({2, 5}), None, 0.4}});
  out.push_back({"torch.clamp", {floats({2, 5}), floats({5}, -1, -0.5), floats({2, 1}, 0.5, 1)}});
  out.push_back({"torch.clamp_min", {floats({2, 5}), 0.3}});
  out.push_back({"torch.clamp_min", {floats({2, 5}), floats({5})}});
  out.push_back({"torch.clamp_max", {floats({2, 5}), 0.3}});
  out.push_back({"torch.clamp_max", {floats({2, 5}), floats({5})}});
  out.push_back({"torch.where", {booleans({2, 3}), x(), floats({3})}});
  out.push_back({"torch.where", {booleans({4, 1, 1}), x(), floats({})}});
  out.push_back({"torch.where", {booleans({2, 3}), x(), 2.0}});
  out.push_back({"torch.where", {booleans({2, 3}), 1.5, x()}});
  out.push_back({"torch.where", {booleans({0}), floats({0}), floats({1})}});
  out.push_back({"torch.masked_fill", {x(), booleans({3}), 3}});
  out.push_back({"torch.masked_fill", {x(), booleans({2, 3}), floats({})}});
  out.push_back({"torch.lerp", {x(), floats({3}), 0.3}});
  out.push_back({"torch.lerp", {x(), floats({3}), 0.8}});
  out.push_back({"torch.addcmul", {x(), floats({3}), floats({2, 1})}, {{"value", 0.5}}});
  out.push_back({"torch.addcdiv", {x(), floats({3}), floats({2, 1}, 0.5, 2)}, {{"value", -2}}});
  out.push_back({"torch.nn.functional.gelu", {x()}, {{"approximate", "tanh"}}});
  out.push_back({"prims.gelu_backward", {floats({2, 3}), x(), "none"}});
  out.push_back({"prims.gelu_backward", {floats({2, 3}), x(), "tanh"}});
  out.push_back({"prims.convert_element_type", {x(), Dtype::f64}});
  out.push_back({"prims.convert_element_type", {integers({3}, {1, -2, 3}), Dtype::f32}});
  out.push_back({"prims.convert_element_type", {constants({2, 3}), Dtype::bf16}});

  const auto whole = [] { return integers({2, 3}, {5, -3, 12, 0, 7, -8}); };
  out.push_back({"torch.bitwise_not", {whole()}});
  out.push_back({"torch.bitwise_not", {booleans({2, 3})}});
  for (const char* op : {"torch.bitwise_and", "torch.bitwise_or", "torch.bitwise_xor"}) {
    out.push_back({op, {whole(), integers({3}, {6, 3, -1})}});
    out.push_back({op, {booleans({2, 3}), booleans({3})}});
    out.push_back({op, {whole(), 6}});
  }
  for (const char* op : {"torch.eq", "torch.ne", "torch.lt", "torch.le", "torch.gt", "torch.ge"}) {
    out.push_back({op, {whole(), 5}});
    out.push_back({op, {whole(), integers({3}, {5, -3, 1})}});
  }
  for (const char* op : {"torch.add", "torch.mul", "torch.sub", "torch.maximum"})
    out.push_back({op, {whole(), integers({3}, {5, -3, 1})}});
  out.push_back({"torch.minimum", {floats({3}, -2, -1), floats({}, 1, 2)}});
  out.push_back({"torch.maximum", {floats({3}, 1, 2), floats({}, -2, -1)}});
  out.push_back({"torch.div", {whole(), 4}});
  out.push_back({"torch.div", {whole(), 4}, {{"rounding_mode", "floor"}}});
  out.push_back({"torch.remainder", {whole(), 5}});
}

}  // namespace fulgurite::test
