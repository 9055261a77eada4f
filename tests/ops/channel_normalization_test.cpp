// Updates of running statistics by batch and instance normalization.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

// Channel 0 has mean 2 and variance 1 (2 without bias), channel 1 has 5 and 9 (18).
Tensor batch() { return tensor({{1.0, 2.0}, {3.0, 8.0}}); }

/// Runs `normalize` in one way and looks at the statistics and the result.
void check_training(const std::function<Tensor(Tensor x, Tensor mean, Tensor var)>& normalize) {
  for (const bool has_gradient : {false, true}) {
    const Tensor x = batch().requires_grad_(has_gradient), mean = zeros({2}), var = ones({2});
    const Tensor y = normalize(x, mean, var);
    expect_near(y.detach().to_vector<float>(), {-1, -1, 1, 1}, 1e-4);
    expect_near(mean.to_vector<float>(), {0.2, 0.5});
    expect_near(var.to_vector<float>(), {1.1, 2.7});
    if (!has_gradient) continue;
    sum(y * tensor({{1.0, 2.0}, {0.0, 1.0}})).backward();
    expect_near(x.grad().to_vector<float>(), {0, 0, 0, 0}, 1e-4);
    expect_near(mean.to_vector<float>(), {0.2, 0.5});
  }
}

Tensor normalize_batch(Tensor x, Tensor mean, Tensor var) { return nn::batch_norm(x, mean, var, {}, {}, true); }

}  // namespace

TEST("batch_norm in training advances its running statistics") { check_training(normalize_batch); }

TEST("batch_norm in a jitted function advances the statistics that it is given") {
  check_training(jit(normalize_batch));
}

TEST("a jitted step advances statistics that the function captures") {
  const Tensor mean = zeros({2}), var = ones({2});
  const auto f = jit([&](Tensor x) { return nn::batch_norm(x, mean, var, {}, {}, true); });
  f(batch());
  f(batch());
  expect_near(mean.to_vector<float>(), {0.38, 0.95});
  expect_near(var.to_vector<float>(), {1.19, 4.23});
}

TEST("batch_norm outside training reads its running statistics and leaves them") {
  const Tensor mean = tensor({1.0, 2.0}), var = tensor({4.0, 9.0});
  const Tensor y = nn::batch_norm(batch(), mean, var, tensor({1.0, 2.0}), tensor({0.5, 0.0}), false, 0.1, 0.0);
  expect_near(y.to_vector<float>(), {0.5, 0, 1.5, 4});
  expect_near(mean.to_vector<float>(), {1, 2});
  expect_near(var.to_vector<float>(), {4, 9});
}

TEST("instance_norm advances its statistics by the samples' mean") {
  const Tensor x = tensor({{{1.0, 3.0}}, {{2.0, 6.0}}}), mean = zeros({1}), var = ones({1});
  const Tensor y = nn::instance_norm(x, mean, var, {}, {}, true, 0.5);
  expect_near(y.to_vector<float>(), {-1, 1, -1, 1}, 1e-4);
  expect_near(mean.to_vector<float>(), {1.5});  // half of the mean of 2 and 4
  expect_near(var.to_vector<float>(), {3});     // half of 1 and of the mean of 2 and 8
}

TEST("running statistics keep their own dtype") {
  const Tensor mean = zeros({2}, {.dtype = Dtype::f32}), var = ones({2}, {.dtype = Dtype::f32});
  const Tensor y = nn::batch_norm(batch().to(Dtype::bf16), mean, var, {}, {}, true);
  expect_equal(y.dtype(), Dtype::bf16);
  expect_near(mean.to_vector<float>(), {0.2, 0.5});
}

TEST("batch_norm's gradients of both orders are those of f64, eager and compiled, also where the mean is large") {
  const auto gradients = [](Dtype dtype, bool is_compiled) {
    manual_seed(5);
    const auto given = [&](const Dims& sizes, double scale, double shift) {
      return (randn(sizes).to(Dtype::f64) * scale + shift).to(Dtype::f32).to(dtype);
    };
    const Tensor x = given({6, 3, 4, 5}, 0.5, 100).requires_grad_(), weight = given({3}, 1, 2).requires_grad_(),
                 bias = given({3}, 1, 0).requires_grad_(), g = given({6, 3, 4, 5}, 1, 0),
                 direction = given({6, 3, 4, 5}, 1, 0);
    const auto normalize = [](Tensor input, Tensor w, Tensor b) { return nn::batch_norm(input, {}, {}, w, b, true); };
    const Tensor y = is_compiled ? jit(normalize)(x, weight, bias) : normalize(x, weight, bias);
    std::vector<Tensor> all = autograd::grad({y}, {x, weight, bias}, {g}, {.create_graph = true});
    const std::vector<Tensor> second = autograd::grad({all[0]}, {x, weight}, {direction});
    all.insert(all.end(), second.begin(), second.end());
    all.push_back(y);
    return all;
  };
  const std::vector<Tensor> exact = gradients(Dtype::f64, false);
  for (const bool is_compiled : {false, true}) {
    const std::vector<Tensor> given = gradients(Dtype::f32, is_compiled);
    for (size_t i = 0; i < given.size(); ++i) {
      const Tensor error = max(abs(given[i].detach().to(Dtype::f64) - exact[i].detach()));
      expect_less(error.item<double>(), 2e-4 * max(abs(exact[i].detach())).item<double>());
    }
  }
}

TEST("batch_norm outside training scales and shifts each channel by its running statistics") {
  manual_seed(6);
  const Tensor x = randn({4, 3, 5}), mean = randn({3}), var = rand({3}) + 0.5, weight = randn({3}), bias = randn({3});
  const auto shaped = [](const Tensor& t) { return reshape(t, {1, 3, 1}); };
  const Tensor expected = (x - shaped(mean)) / sqrt(shaped(var) + 1e-5) * shaped(weight) + shaped(bias);
  expect_near(nn::batch_norm(x, mean, var, weight, bias).to_vector<float>(), expected.to_vector<float>(), 1e-5);
}
