// What PyTorch answers where a derivative does not exist.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("gradients at kinks are those of PyTorch") {
  const auto gradient = [](const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function,
                           const std::vector<double>& at) {
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
