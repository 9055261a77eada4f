#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/jit.h>
#include <fulgurite/nn.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

struct Classifier {
  nn::Conv2d first{1, 4, 3, 1, "same"};
  nn::BatchNorm2d norm{4};
  nn::MaxPool2d pool{2};
  nn::Conv2d second{4, 6, {3, 2}, 2, 1};
  nn::AdaptiveAvgPool2d mean{1};
  nn::Linear last{6, 3};
  Tensor operator()(const Tensor& x) const {
    const Tensor y = pool(relu(norm(first(x))));
    return last(mean(relu(second(y))).flatten(1));
  }
};

}  // namespace

TEST("layers of images are differentiated, by the names of their members") {
  manual_seed(1);
  Classifier model;
  const Tensor x = randn({5, 1, 8, 8});
  const Tensor y = model(x);
  expect_equal(y.shape(), Shape({5, 3}));
  mean(y * y).backward();
  std::vector<std::string> names;
  for (const auto& [name, parameter] : nn::named_parameters(model)) {
    names.push_back(name);
    expect(parameter.grad().defined(), name + " has no gradient");
  }
  expect_equal(names, std::vector<std::string>{"first.weight", "first.bias", "norm.weight", "norm.bias",
                                               "second.weight", "second.bias", "last.weight", "last.bias"});
  nn::eval(model);
  const auto f = jit(model);
  expect_near(f(x).detach().to_vector<float>(), model(x).detach().to_vector<float>(), 1e-5);
}

TEST("convolutions start as PyTorch's do") {
  manual_seed(3);
  const nn::Conv2d layer(8, 16, 5, 1, 0, 1, 2);
  expect(layer.weight.shape() == Shape({16, 4, 5, 5}) && layer.bias.shape() == Shape({16}));
  const NoGrad no_grad;
  const double largest = amax(abs(layer.weight)).item<double>();
  expect(largest <= 0.1 && largest > 0.095);
  const nn::ConvTranspose1d transposed(6, 4, 3, 2, 1, 1, 2, false);
  expect(transposed.weight.shape() == Shape({6, 2, 3}) && !transposed.bias.defined());
  expect_equal(transposed(ones({2, 6, 5})).shape(), Shape({2, 4, 10}));
  expect_error([] { nn::Conv1d(3, 4, 3, 1, 0, 1, 2); }, "in_channels = 3 is not a multiple of groups = 2");
  expect_error([] { nn::Conv1d(3, 4, {3, 3}); }, "kernel_size must have 1 or 1 numbers, got [3, 3]");
  expect_error([] { nn::Conv1d(3, 4, 3, 1, "half"); }, "padding must be numbers, \"same\" or \"valid\", not \"half\"");
}

TEST("convolutions pad with what padding_mode says") {
  nn::Conv1d layer(1, 1, 3, 1, 1, 1, 1, false, "circular");
  copy_(layer.weight.detach(), tensor({{{1.0, 10.0, 100.0}}}));
  expect_near(layer(tensor({{{1.0, 2.0, 3.0}}})).detach().to_vector<float>(), {213, 321, 132});
}

TEST("batch norm follows the batches' statistics while training, and uses them after it") {
  nn::BatchNorm1d layer(2, 1e-5, 0.5);
  const Tensor x = tensor({{1.0, 10.0}, {3.0, 30.0}});
  expect_near(layer(x).detach().to_vector<float>(), {-1, -1, 1, 1}, 1e-4);
  expect_near(layer.running_mean.to_vector<float>(), {1, 10});
  expect_near(layer.running_var.to_vector<float>(), {1.5, 100.5});
  expect_equal(layer.num_batches_tracked.item<int64_t>(), 1);
  nn::eval(layer);
  expect_near(layer(tensor({{1.0, 10.0}})).detach().to_vector<float>(), {0, 0});
  nn::BatchNorm1d average(2, 1e-5, {});
  average(x);
  average(x + 1);
  expect_near(average.running_mean.to_vector<float>(), {2.5, 20.5});
  expect_error([&] { layer(ones({2})); }, "BatchNorm1d takes 2 or 3 dimensions, got shape [2]");
}
