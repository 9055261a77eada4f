// Calls at points without a derivative, with PyTorch's gradients there for a cotangent of ones.
#include <cmath>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

Tensor leaf(std::vector<double> numbers) { return tensor(numbers).requires_grad_(); }

}  // namespace

void add_kink_cases(std::vector<OperatorCase>& out) {
  using Gradients = std::vector<std::vector<double>>;
  const auto at = [&](const char* op, std::vector<Arg> args, Gradients gradients, OperatorCase::Keywords kwargs = {}) {
    out.push_back(OperatorCase(op, std::move(args), std::move(kwargs)).with_gradients(std::move(gradients)));
  };
  const auto steps = [] { return leaf({-0.5, 0, 0.5, 1, 2}); };
  at("torch.nn.functional.relu", {steps()}, {{0, 0, 1, 1, 1}});
  at("torch.abs", {steps()}, {{-1, 0, 1, 1, 1}});
  at("torch.nn.functional.l1_loss", {steps(), constants({5}, 0, 0)}, {{-1, 0, 1, 1, 1}}, {{"reduction", "sum"}});

  // On the bounds 0.5 and 1, and between them.
  const auto bounded = [] { return leaf({-0.5, 0.5, 0.75, 1, 2}); };
  const auto all = [](double number) { return leaf(std::vector<double>(5, number)); };
  at("torch.clamp", {bounded(), 0.5, 1.0}, {{0, 0, 1, 0, 0}});
  at("torch.clamp", {bounded(), 0.5}, {{0, 0, 1, 1, 1}});
  at("torch.clamp", {bounded(), None, 1.0}, {{1, 1, 1, 0, 0}});
  at("torch.clamp", {bounded(), 1.0, 0.5}, {{0, 0, 0, 0, 0}});
  at("torch.clamp", {bounded(), all(0.5), all(1)}, {{0, 0.5, 1, 0.5, 0}, {1, 0.5, 0, 0, 0}, {0, 0, 0, 0.5, 1}});
  at("torch.clamp", {bounded(), all(1), all(1)}, {{0, 0, 0, 1, 0}, {1, 1, 1, 0, 0}, {0, 0, 0, 0, 1}});
  at("torch.clamp", {bounded(), all(1), all(0.5)}, {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}});
  at("torch.clamp", {bounded(), all(0.5)}, {{0, 0.5, 1, 1, 1}, {1, 0.5, 0, 0, 0}});
  at("torch.clamp", {bounded(), None, all(1)}, {{1, 1, 1, 0.5, 0}, {0, 0, 0, 0.5, 1}});
  at("torch.clamp_min", {bounded(), 0.5}, {{0, 0, 1, 1, 1}});
  at("torch.clamp_max", {bounded(), 1.0}, {{1, 1, 1, 0, 0}});
  at("torch.clamp_min", {bounded(), all(0.5)}, {{0, 0.5, 1, 1, 1}, {1, 0.5, 0, 0, 0}});
  at("torch.clamp_max", {bounded(), all(1)}, {{1, 1, 1, 0.5, 0}, {0, 0, 0, 0.5, 1}});
  at("torch.maximum", {leaf({0, 1, 2}), leaf({1, 1, 1})}, {{0, 0.5, 1}, {1, 0.5, 0}});
  at("torch.minimum", {leaf({0, 1, 2}), leaf({1, 1, 1})}, {{1, 0.5, 0}, {0, 0.5, 1}});
  at("torch.amax", {leaf({1, 3, 3, 3})}, {{0, 1.0 / 3, 1.0 / 3, 1.0 / 3}});
  at("torch.amin", {leaf({1, 3, 1, 3})}, {{0.5, 0, 0.5, 0}});
  at("torch.max", {leaf({1, 3, 3, 3})}, {{0, 1.0 / 3, 1.0 / 3, 1.0 / 3}});
  at("torch.min", {leaf({1, 3, 1, 3})}, {{0.5, 0, 0.5, 0}});
  at("prims.max_with_indices", {leaf({1, 3, 3, 3}), 0}, {{0, 1, 0, 0}});
  at("prims.min_with_indices", {leaf({1, 3, 1, 3}), 0}, {{1, 0, 0, 0}});
  const double nan = std::nan("");
  at("torch.max", {leaf({1, nan, 3, nan})}, {{0, 0.5, 0, 0.5}});
  at("torch.min", {leaf({nan, 1, 3})}, {{1, 0, 0}});
  at("torch.atan2", {leaf({0, 0, 1, 0}), leaf({0, 1, 0, -2})}, {{0, 1, 0, -0.5}, {0, 0, -1, 0}});
  at("torch.pow", {leaf({0, 1}), 0}, {{0, 0}});
  at("torch.pow", {leaf({0, 2, -2}), 2}, {{0, 4, -4}});
  at("torch.pow", {leaf({0, 0, 0, 2, 0}), leaf({0, 2, 1, 0, -1})},
     {{0, 0, 1, 0, -HUGE_VAL}, {0, 0, 0, std::log(2), -HUGE_VAL}});
  at("torch.pow", {0, leaf({0, 1, 2, -1})}, {{0, 0, 0, -HUGE_VAL}});

  // A row of zeros, one of norm 1, and another.
  const auto rows = [](std::vector<double> numbers) { return tensor(numbers).reshape({3, 3}).requires_grad_(); };
  const auto points = [&] { return rows({0, 0, 0, 0, -1, 0, 4, 0, 1}); };
  const double root = std::sqrt(17), cube = std::cbrt(65 * 65), p = std::pow(33, 0.6);
  for (const bool keepdim : {false, true}) {
    const char* norm = "torch.linalg.vector_norm";
    at(norm, {points(), 2.0, 1, keepdim}, {{0, 0, 0, 0, -1, 0, 4 / root, 0, 1 / root}});
    at(norm, {points(), 3.0, 1, keepdim}, {{0, 0, 0, 0, -1, 0, 16 / cube, 0, 1 / cube}});
    at(norm, {points(), 2.5, 1, keepdim}, {{0, 0, 0, 0, -1, 0, 8 / p, 0, 1 / p}});
    at(norm, {points(), 0.5, 1, keepdim}, {{0, 0, 0, 0, -1, 0, 1.5, 0, 3}});
  }
  at("torch.linalg.vector_norm", {leaf({0, 0}), 3.0}, {{0, 0}});
  at("torch.linalg.vector_norm", {leaf({0, 2}), 1.0}, {{0, 1}});
  at("torch.linalg.vector_norm", {leaf({1, -3, 3, 0}), HUGE_VAL}, {{0, -0.5, 0.5, 0}});
  at("torch.linalg.vector_norm", {leaf({1, -3, -1, 4}), -HUGE_VAL}, {{0.5, 0, -0.5, 0}});

  // The same for standard deviations.
  const auto spreads = [&] { return rows({2, 2, 2, 1, 2, 3, 0, 1, 4}); };
  const double twice = 2 * std::sqrt(13.0 / 3), third = 1.0 / 3;
  const std::vector<double> slopes = {0, 0, 0, -0.5, 0, 0.5, -5 * third / twice, -2 * third / twice, 7 * third / twice};
  std::vector<double> with_mean = slopes;
  for (double& slope : with_mean) slope += third;
  for (const bool keepdim : {false, true}) {
    at("torch.std", {spreads(), 1}, {slopes}, {{"keepdim", keepdim}});
    at("torch.std_mean", {spreads(), 1}, {with_mean}, {{"keepdim", keepdim}});
  }
}

}  // namespace fulgurite::test
