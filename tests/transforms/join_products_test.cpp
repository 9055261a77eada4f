// Sums of thin matrix products.
#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// The default executors' trace; compares the results with eager mode.
template <class Function, class... Inputs>
std::string last_text(Function function, const Inputs&... inputs) {
  const NoGrad no_grad;
  const auto jitted = jit(function, {.executors = {"fuser", "eager"}, .debug = {.check_traces = true}});
  const Tensor found = jitted(inputs...), expected = function(inputs...);
  expect_near(found.to(Dtype::f32).template to_vector<float>(), expected.to(Dtype::f32).template to_vector<float>(),
              1e-4);
  return last_traces(jitted).back().cpp({.time = false, .source = false});
}
int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Tensor three_products(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f) {
  const Tensor first = matmul(a, b), second = matmul(c, d), third = matmul(e, f);
  const Tensor two = first + second;
  return two + third;
}

}  // namespace

TEST("a sum of thin matmuls is one matmul") {
  manual_seed(1);
  expect_text(last_text(three_products, randn({200, 2}), randn({2, 100}), randn({200, 1}), randn({1, 100}),
                        randn({200, 3}), randn({3, 100})),
              R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1, Tensor t_2, Tensor t_3, Tensor t_4, Tensor t_5) {
  // t_0: "cpu f32[200, 2]"
  // t_1: "cpu f32[2, 100]"
  // t_2: "cpu f32[200, 1]"
  // t_3: "cpu f32[1, 100]"
  // t_4: "cpu f32[200, 3]"
  // t_5: "cpu f32[3, 100]"
  auto t5 = cat({t_0, t_2, t_4}, 1);  // t5: "cpu f32[200, 6]"
  del(t_0, t_2, t_4);
  auto t6 = cat({t_1, t_3, t_5});  // t6: "cpu f32[6, 100]"
  del(t_1, t_3, t_5);
  auto t4 = matmul(t5, t6);  // t4: "cpu f32[200, 100]"
  del(t5, t6);
  return t4;
}
)");
}

TEST("transposed operands are joined by rows, and other terms are added") {
  manual_seed(2);
  const auto function = [](Tensor a, Tensor b, Tensor c, Tensor d, Tensor bias) {
    const Tensor first = matmul(transpose(a, 0, 1), b), second = matmul(transpose(c, 0, 1), d);
    const Tensor with_bias = first + bias;
    return with_bias + second;
  };
  expect_text(
      last_text(function, randn({2, 200}), randn({2, 100}), randn({4, 200}), randn({4, 100}), randn({200, 100})),
      R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1, Tensor t_2, Tensor t_3, Tensor t_4) {
  // t_0: "cpu f32[2, 200]"
  // t_1: "cpu f32[2, 100]"
  // t_2: "cpu f32[4, 200]"
  // t_3: "cpu f32[4, 100]"
  // t_4: "cpu f32[200, 100]"
  auto t0 = transpose(t_0, 0, 1);  // t0: "cpu f32[200, 2]"
  del(t_0);
  auto t3 = transpose(t_2, 0, 1);  // t3: "cpu f32[200, 4]"
  del(t_2);
  auto t6 = permute(t0, {1, 0});  // t6: "cpu f32[2, 200]"
  del(t0);
  auto t7 = permute(t3, {1, 0});  // t7: "cpu f32[4, 200]"
  del(t3);
  auto t8 = cat({t6, t7});  // t8: "cpu f32[6, 200]"
  del(t6, t7);
  auto t9 = permute(t8, {1, 0});  // t9: "cpu f32[200, 6]"
  del(t8);
  auto t10 = cat({t_1, t_3});  // t10: "cpu f32[6, 100]"
  del(t_1, t_3);
  auto t11 = matmul(t9, t10);  // t11: "cpu f32[200, 100]"
  del(t9, t10);
  auto t5 = add(t11, t_4);  // t5: "cpu f32[200, 100]"
  del(t11, t_4);
  return t5;
}
)");
}

TEST("sums that would not be faster or that have other readers stay") {
  manual_seed(3);
  const auto thick = last_text(
      [](Tensor a, Tensor b) {
        const Tensor first = matmul(a, b), second = matmul(b, a);
        return first + second;
      },
      randn({150, 150}), randn({150, 150}));
  expect_equal(count(thick, "matmul("), 2);
  const auto shared = last_text(
      [](Tensor a, Tensor b, Tensor c, Tensor d) {
        const Tensor first = matmul(a, b), second = matmul(c, d);
        const Tensor sum = first + second;
        return sum * first;
      },
      randn({200, 2}), randn({2, 100}), randn({200, 2}), randn({2, 100}));
  expect_equal(count(shared, "matmul("), 2);
  const Tensor half = randn({200, 2}).to(Dtype::bf16), other = randn({2, 100}).to(Dtype::bf16);
  const auto narrow_dtype = last_text(three_products, half, other, half + 1, other, half + 2, other);
  expect_equal(count(narrow_dtype, "matmul("), 3);
}

TEST("a recurrent layer's weights have gradients by one matmul each") {
  manual_seed(4);
  struct Model {
    nn::LSTM lstm{8, 80};
    Tensor operator()(const Tensor& x) const {
      const auto [states, last] = lstm(x);
      return sum(states * states);
    }
  };
  const Model model, copy = nn::clone(model);
  const Tensor x = randn({6, 2, 8});
  const auto jitted = jit([](Model model, Tensor x) { return model(x); });
  jitted(model, x).backward();
  copy(x).backward();
  const auto expected = nn::named_parameters(copy);
  for (size_t i = 0; i < expected.size(); ++i)
    expect_near(nn::named_parameters(model)[i].second.grad().to_vector<float>(),
                expected[i].second.grad().to_vector<float>(), 1e-4);
  // A product with the state's cotangent for each step but the first, and one product for each weight.
  expect_equal(count(last_backward_traces(jitted).back().cpp({.depth = 0}), "matmul("), 5 + 2);
}
