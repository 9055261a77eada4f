// Every pointwise operator's gradient rule against central differences, to second order, on the ranges its record
// gives.
#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Numbers of an operator's range, none on a kink at a whole number, in an order that crosses the range.
Tensor sample(const Symbol& symbol, std::vector<int64_t> sizes, int64_t which) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    const double place = (static_cast<double>((i * 5 + which * 3) % count) + 0.37 + 0.11 * static_cast<double>(which)) /
                         static_cast<double>(count);
    numbers.push_back(symbol.samples.low + place * (symbol.samples.high - symbol.samples.low));
  }
  return tensor(numbers).reshape(Shape(sizes)).requires_grad_();
}

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

void check(const Symbol& symbol, const std::vector<Tensor>& inputs, const std::map<std::string, Value>& kwargs = {}) {
  const std::string name(symbol.qualified_name());
  const std::string wrong = gradcheck(
      [&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
        return {call(name, std::vector<Value>(x.begin(), x.end()), kwargs)};
      },
      inputs);
  expect(wrong.empty(), name + ": " + wrong);
}

/// Of those not tested here, number arguments are needed, or masks; they come below.
bool is_tested(const Symbol& symbol) {
  for (const char* other : {"where", "masked_fill", "clamp"})
    if (&symbol == find_symbol(other)) return false;
  return symbol.traits.pointwise && !symbol.traits.not_differentiable;
}

}  // namespace

TEST("pointwise operators of one tensor have right gradients") {
  for (const Symbol* symbol : symbols())
    if (is_tested(*symbol) && tensors_taken(*symbol) == 1) check(*symbol, {sample(*symbol, {2, 3}, 0)});
}

TEST("pointwise operators of two tensors have right gradients") {
  for (const Symbol* symbol : symbols()) {
    if (!is_tested(*symbol) || tensors_taken(*symbol) != 2) continue;
    check(*symbol, {sample(*symbol, {2, 3}, 0), sample(*symbol, {2, 3}, 1)});
    check(*symbol, {sample(*symbol, {2, 1, 3}, 0), sample(*symbol, {4, 1}, 1)});
  }
}

TEST("pointwise operators of three tensors have right gradients") {
  for (const Symbol* symbol : symbols())
    if (is_tested(*symbol) && tensors_taken(*symbol) == 3)
      check(*symbol, {sample(*symbol, {2, 3}, 0), sample(*symbol, {3}, 1), sample(*symbol, {2, 1}, 2)});
}

TEST("gradients with number operands and options") {
  const auto of = [](const char* name) -> const Symbol& { return *find_symbol(name); };
  const Symbol &add = of("add"), &sub = of("sub"), &gelu = of("gelu"), &addcmul = of("addcmul");
  const std::vector<Tensor> two = {sample(add, {2, 3}, 0), sample(add, {3}, 1)};
  check(add, two, {{"alpha", 2.5}});
  check(sub, two, {{"alpha", 3}});
  check(gelu, {two[0]}, {{"approximate", "tanh"}});
  check(addcmul, {two[0], two[1], two[0]}, {{"value", 0.5}});
  const auto check_function = [](const TensorFunction& function, const Tensor& x) {
    const std::string wrong = gradcheck(function, {x});
    expect(wrong.empty(), wrong);
  };
  const Tensor x = sample(of("pow"), {2, 3}, 0);
  check_function(
      [](const auto& t) -> std::vector<Tensor> {
        return {pow(t[0], 3), pow(t[0], 0), pow(t[0], -1.5), pow(2, t[0])};
      },
      x);
  check_function(
      [](const auto& t) -> std::vector<Tensor> {
        return {2 / t[0], 3 - t[0], t[0] / 2, 2 * t[0], -t[0]};
      },
      x);
  check_function(
      [](const auto& t) -> std::vector<Tensor> {
        return {clamp(t[0], 0.7, 1.5), clamp(t[0], {}, 1.1), clamp_min(t[0], 1.0)};
      },
      x);
  check_function(
      [](const auto& t) -> std::vector<Tensor> {
        return {where(t[0] > 1, t[0] * t[0], 2.0), masked_fill(t[0], t[0] > 1, 3)};
      },
      x);
  check_function(
      [](const auto& t) -> std::vector<Tensor> {
        return {lerp(t[0], t[0] * t[0], 0.3), lerp(t[0], t[0] * t[0], 0.8)};
      },
      x);
  check_function([](const auto& t) -> std::vector<Tensor> { return {remainder(t[0], 0.7), fmod(t[0], 0.7)}; }, x);
}

TEST("gradients at kinks are those of PyTorch") {
  const auto gradient = [](const TensorFunction& function, const std::vector<double>& at) {
    const Tensor x = tensor(at).requires_grad_();
    function({x})[0].sum().backward();
    return x.grad().to_vector<double>();
  };
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {relu(t[0])}; }, {-1, 0, 1}), {0, 0, 1});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {abs(t[0])}; }, {-1, 0, 1}), {-1, 0, 1});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {clamp(t[0], 0, 1)}; }, {-1, 0, 0.5, 1, 2}),
              {0, 0, 1, 0, 0});
  expect_near(
      gradient([](const auto& t) -> std::vector<Tensor> { return {maximum(t[0], ones_like(t[0]))}; }, {0, 1, 2}),
      {0, 0.5, 1});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {amax(t[0])}; }, {1, 3, 3}), {0, 0.5, 0.5});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {prod(t[0])}; }, {0, 2, 3}), {6, 0, 0});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {pow(t[0], 0)}; }, {0, 1}), {0, 0});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {linalg::vector_norm(t[0])}; }, {0, 0}),
              {0, 0});
  expect_near(gradient([](const auto& t) -> std::vector<Tensor> { return {t[0].std()}; }, {2, 2}), {0, 0});
}
