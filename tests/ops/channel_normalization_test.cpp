// What batch and instance normalization do to running statistics.
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

TEST("batch_norm in a jitted function advances the statistics that it is given") { check_training(jit(normalize_batch)); }

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
  expect(y.dtype() == Dtype::bf16);
  expect_near(mean.to_vector<float>(), {0.2, 0.5});
}
