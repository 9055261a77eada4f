// Arguments of operators that PyTorch's schemas allow: integers as tensors, fractions as corrections, reductions of
// scatter.
#include <fulgurite/autograd.h>
#include <fulgurite/jit.h>
#include <fulgurite/nn.h>

#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("an integer parameter accepts a tensor of one integer") {
  const Tensor x = arange(12.0).reshape({3, 4}), one = tensor(1);
  expect_near(x.select(0, one).to_vector<float>(), {4, 5, 6, 7});
  expect_near(x.select(one, one).to_vector<float>(), {1, 5, 9});
  expect_equal(narrow(x, 0, one, tensor(2)).shape(), Shape({2, 4}));
  expect_equal(sum(x, one).shape(), Shape({3}));
  expect_equal(x.reshape({tensor(4), 3}).shape(), Shape({4, 3}));
  expect_equal(std::get<0>(topk(x, tensor({2}))).shape(), Shape({3, 2}));
  expect_equal(nn::one_hot(tensor({0, 1}), tensor(3)).shape(), Shape({2, 3}));
  expect_near(Tensor(call("select", {x, 0, one})).to_vector<float>(), {4, 5, 6, 7});
  expect_error([&] { x.select(0, tensor(1.0)); }, "an integer is needed, not a tensor of f32: cpu f32[]");
  expect_error([&] { x.select(0, tensor({0, 1})); }, "it needs a tensor of exactly one element");
  expect_error([&] { x.select(0, Tensor()); }, "undefined tensor");
  expect_error([&] { call("select", {x, 0, tensor(1.0)}); }, "argument 'index' must be an integer, not a tensor");
}

TEST("a tensor as an integer breaks the graph, and its value is read in each call") {
  const auto pick = jit([](Tensor x, Tensor i) { return (x * 2).select(0, i) + 1; });
  const Tensor x = arange(6.0).reshape({3, 2});
  for (int i = 0; i < 3; ++i) expect_near(pick(x, tensor(i)).to_vector<float>(), {4.0 * i + 1, 4.0 * i + 3});
}

TEST("corrections may be fractions") {
  const Tensor x = tensor({1.0, 2.0, 4.0, 9.0});
  expect_near(var(x, {}, 0.5).item<double>(), 38.0 / 3.5, 1e-5);
  expect_near(var(x, 0, 1).item<double>(), 38.0 / 3, 1e-5);
  expect_near(x.std(0, 0).item<double>(), std::sqrt(38.0 / 4), 1e-5);
}

TEST("scatter adds and multiplies") {
  const Tensor x = ones({2, 3}), index = tensor({{0, 0}, {1, 2}}), source = tensor({{2.0, 3.0}, {4.0, 5.0}});
  expect_near(scatter(x, 1, index, source, "add").to_vector<float>(), {6, 1, 1, 1, 5, 6});
  expect_near(scatter(x, 1, index, source, "multiply").to_vector<float>(), {6, 1, 1, 1, 4, 5});
  expect_near(scatter(x, 1, index, 3.0, "add").to_vector<float>(), {7, 1, 1, 1, 4, 4});
  expect_near(Tensor(call("scatter", {x, 1, index, source}, {{"reduce", "multiply"}})).to_vector<float>(),
              {6, 1, 1, 1, 4, 5});
  const Tensor written = x.clone();
  written.scatter_(1, index, source, "add");
  expect_near(written.to_vector<float>(), {6, 1, 1, 1, 5, 6});
  expect_error([&] { scatter(x, 1, index, source, "mean"); }, "reduce must be \"add\" or \"multiply\", got \"mean\"");
}

TEST("an embedding's gradient may be divided by how often a row is read") {
  const Tensor weight = ones({4, 2}).requires_grad_();
  const Tensor factor = tensor({{1.0, 1.0}, {3.0, 3.0}, {5.0, 5.0}});
  sum(nn::embedding(tensor({1, 1, 2}), weight, {}, {}, 2.0, true) * factor).backward();
  expect_near(weight.grad().to_vector<float>(), {0, 0, 2, 2, 5, 5, 0, 0});
  expect_error([&] { nn::embedding(tensor({1}), weight, {}, {}, 2.0, false, true); },
               "sparse gradients are not supported; leave sparse out");
  expect_error([&] { nn::embedding(tensor({1}), weight, {}, 1.0, 2.0, true); },
               "scale_grad_by_freq is not supported with max_norm");
}

TEST("batch norm of nothing is nothing, and leaves the running statistics alone") {
  const Tensor mean = zeros({3}), variance = ones({3}), weight = ones({3}).requires_grad_();
  expect_equal(nn::batch_norm(ones({0, 3}), mean, variance, weight, {}, true).shape(), Shape({0, 3}));
  expect_equal(nn::batch_norm(ones({0, 3, 4}), mean, variance, {}, {}, true).shape(), Shape({0, 3, 4}));
  expect_equal(nn::batch_norm(ones({2, 0, 4}), {}, {}, {}, {}, true).shape(), Shape({2, 0, 4}));
  expect_near(mean.to_vector<float>(), {0, 0, 0});
  expect_near(variance.to_vector<float>(), {1, 1, 1});
  for (const bool training : {true, false})
    expect_equal(nn::batch_norm(ones({0}), {}, {}, {}, {}, training).shape(), Shape({0}));
}

TEST("a loss of a column beside a vector warns once for each line") {
  const Tensor column = ones({4, 1}), vector = zeros({4});
  const std::string text = stderr_text([&] {
    for (int i = 0; i < 3; ++i) nn::mse_loss(column, vector);
    nn::mse_loss(column, column);
  });
  const std::string begin =
      "[fulgurite] mse_loss: the target's shape [4] is not the input's, [4, 1]: both are broadcast to [4, 4]";
  expect(text.find(begin) != std::string::npos && text.find("arguments_test.cpp:") != std::string::npos, text);
  expect_equal(text.find(begin, begin.size()), std::string::npos);
  expect_different(stderr_text([&] { nn::l1_loss(column, vector); }).find("l1_loss: the target's"), std::string::npos);
  expect(stderr_text([&] { nn::smooth_l1_loss(column, vector); }).find("smooth_l1_loss: the target's") !=
         std::string::npos);
  expect_different(stderr_text([&] { nn::huber_loss(column, vector); }).find("huber_loss: the target's"),
                   std::string::npos);
  expect_different(
      stderr_text([&] { jit([](Tensor a, Tensor b) { return nn::l1_loss(a, b); })(column, vector); }).find("l1_loss"),
      std::string::npos);
  expect_equal(stderr_text([&] { nn::huber_loss(column, column.clone()); }), std::string());
}
