// The gradient rules of reductions against central differences, to second order.
#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor sample() {
  const std::vector<double> numbers = {0.3, -1.2, 2.1, 0.8, -0.4, 1.7, -2.2, 0.9, 1.4, -0.7, 0.6, 1.1};
  return tensor(numbers).reshape({2, 3, 2}).requires_grad_();
}

void check(const char* name, const TensorFunction& function) {
  const std::string wrong = gradcheck(function, {sample()});
  expect(wrong.empty(), std::string(name) + ": " + wrong);
}

}  // namespace

TEST("sums and means have right gradients") {
  check("sum", [](const auto& t) -> std::vector<Tensor> {
    return {sum(t[0]), sum(t[0], 1), sum(t[0], {0, -1}, true)};
  });
  check("mean", [](const auto& t) -> std::vector<Tensor> {
    return {mean(t[0]), mean(t[0], 1, true), mean(t[0], {0, 2})};
  });
  check("cumsum", [](const auto& t) -> std::vector<Tensor> { return {cumsum(t[0], 0), cumsum(t[0], -1)}; });
  check("prod", [](const auto& t) -> std::vector<Tensor> { return {prod(t[0]), prod(t[0], 1), prod(t[0], 2, true)}; });
}

TEST("products at zeros have right gradients of both orders") {
  const Tensor x = tensor(std::vector<double>{0, 2, 3, 0.5, 0, 0, 4, 1, 2}).reshape({3, 3}).requires_grad_();
  expect_equal(gradcheck(
                   [](const auto& t) -> std::vector<Tensor> {
                     return {prod(t[0], 1), prod(t[0], 0)};
                   },
                   {x}),
               std::string());
}

TEST("extrema have right gradients") {
  check("amax", [](const auto& t) -> std::vector<Tensor> {
    return {amax(t[0]), amax(t[0], 1), amin(t[0], {0, 2}, true)};
  });
  check("max", [](const auto& t) -> std::vector<Tensor> {
    const auto [values, indices] = max(t[0], 1);
    return {values, max(t[0]), min(t[0])};
  });
}

TEST("statistics have right gradients") {
  check("var", [](const auto& t) -> std::vector<Tensor> {
    return {var(t[0]), var(t[0], 1, 0), var(t[0], {0, 1}, 1, true)};
  });
  check("std", [](const auto& t) -> std::vector<Tensor> { return {fulgurite::std(t[0]), fulgurite::std(t[0], 1)}; });
  check("var_mean", [](const auto& t) -> std::vector<Tensor> {
    const auto [variance, average] = var_mean(t[0], 1);
    const auto [deviation, same] = std_mean(t[0], 2, 0);
    return {variance, average, deviation, same};
  });
  check("logsumexp", [](const auto& t) -> std::vector<Tensor> {
    return {logsumexp(t[0], 1), logsumexp(t[0], {0, 2}, true)};
  });
  for (const double order : {0.0, 1.0, 2.0, 3.0, 2.5, HUGE_VAL, -HUGE_VAL})
    check("vector_norm", [order](const auto& t) -> std::vector<Tensor> {
      return {linalg::vector_norm(t[0], order), linalg::vector_norm(t[0], order, 1, true)};
    });
}
