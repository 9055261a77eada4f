// Whole tensors compared, and operators under PyTorch's other names for them.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "ops/core/aliases.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity(), missing = std::numeric_limits<float>::quiet_NaN();

std::string message_of(auto&& run) {
  try {
    run();
  } catch (const UserError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
  return "no error";
}

}  // namespace

TEST("isclose is relative to the second, and infinities are close to themselves alone") {
  const Tensor x = tensor(std::vector<float>{1, 1, 1, infinite, infinite, missing, 0});
  const Tensor y = tensor(std::vector<float>{1, 1.1f, 1.0f / 1.1f, infinite, 1, missing, 1e-9f});
  expect_equal(isclose(x, y, 0.095).to_vector<bool>(), std::vector<bool>{true, true, false, true, false, false, true});
  expect_equal(isclose(x, y, 0.0, 0.0, true).to_vector<bool>(),
               std::vector<bool>{true, false, false, true, false, true, false});
  expect_equal(isclose(tensor({10, 20}), tensor({11, 25}), 0.1).to_vector<bool>(), std::vector<bool>{true, false});
  expect_equal(isclose(ones({2, 1}), ones({3})).shape(), Shape{2, 3});
  expect_equal(isclose(zeros({0}), zeros({0})).numel(), 0);
}

TEST("isclose says what it cannot compare") {
  expect_equal(message_of([] { isclose(ones({2}), ones({2}, {.dtype = Dtype::f64})); }),
               "isclose(cpu f32[2], cpu f64[2]): input is f32, other f64; they must be of one dtype");
  expect_equal(message_of([] { isclose(ones({2}), ones({2}), -0.5); }),
               "isclose(cpu f32[2], cpu f32[2], -0.5): rtol must not be negative: -0.5");
}

TEST("equal asks for one shape, allclose broadcasts") {
  expect(equal(ones({2}), ones({2})));
  expect(equal(ones({2}), ones({2}, {.dtype = Dtype::f64})));
  expect(!equal(ones({2}), ones({1})));
  expect(!equal(tensor(std::vector<float>{missing}), tensor(std::vector<float>{missing})));
  expect(equal(zeros({0, 3}), zeros({0, 3})));
  expect(allclose(ones({2}), ones({1})));
  expect(allclose(ones({2}), ones({2}) * 1.01, 0.02));
  expect(!allclose(ones({2}), ones({2}) * 1.01));
  expect(allclose(tensor(std::vector<float>{missing}), tensor(std::vector<float>{missing}), 1e-5, 1e-8, true));
}

TEST("comparing whole tensors breaks a graph") {
  const auto f = jit([](Tensor x) { return allclose(x, zeros_like(x)) ? x + 1 : x - 1; });
  expect_equal(f(zeros({1})).item<double>(), 1.0);
  expect_equal(f(ones({1})).item<double>(), 0.0);
}

TEST("an alias is the operator that it names") {
  for (const Alias& alias : aliases()) {
    expect(find_symbol(alias.name) != nullptr, std::string(alias.name));
    expect(find_symbol(alias.name) == find_symbol(alias.of), std::string(alias.name));
  }
  expect_equal(find_symbol("special.psi"), find_symbol("digamma"));
  expect_equal(find_symbol("absolute"), find_symbol("abs"));
  const Tensor x = tensor(std::vector<float>{-0.5f, 0.25f, 2});
  expect(equal(special::expit(x), sigmoid(x)));
  expect(equal(special::erf(x), erf(x)));
  expect(equal(special::softmax(x, 0), softmax(x, 0)));
  expect(equal(special::polygamma(1, abs(x)), polygamma(1, abs(x))));
  expect(equal(linalg::matmul(x, x), matmul(x, x)));
  expect(equal(nn::sigmoid(x), sigmoid(x)));
  expect(equal(absolute(x), abs(x)));
  expect(equal(x.clip(0, 1), clamp(x, 0, 1)));
  expect(equal(concat({x, x}), cat({x, x})));
  expect(equal(true_divide(x, 2), x / 2));
  expect(equal(Tensor(call("clip", {x, 0, 1}).tensor()), clamp(x, 0, 1)));
  Tensor y = x.clone();
  y.multiply_(2);
  expect(equal(y, x * 2));
}
