#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("softmax and log_softmax agree and keep a row's sum at 1") {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {1000.0, 1000.0, -1000.0}});
  const Tensor y = softmax(x, -1);
  expect_near(sum(y, 1).to_vector<float>(), {1, 1});
  expect_near(exp(log_softmax(x, 1)).to_vector<float>(), y.to_vector<float>());
  expect_equal(softmax(tensor({1, 2}), 0, Dtype::f32).dtype(), Dtype::f32);
  expect_error([&] { softmax(tensor({1, 2}), 0); }, "the result must be floating, got i64");
}

TEST("layer_norm and rms_norm normalize the last dimensions") {
  const Tensor x = tensor({{1.0, 3.0}, {2.0, 6.0}});
  expect_near(nn::layer_norm(x, {2}, {}, {}, 0.0).to_vector<float>(), {-1, 1, -1, 1}, 1e-5);
  const Tensor y = nn::rms_norm(x, {2}, tensor({1.0, 2.0}), 0.0);
  expect_near(y.to_vector<float>(), {1 / std::sqrt(5.0), 6 / std::sqrt(5.0), 2 / std::sqrt(20.0), 12 / std::sqrt(20.0)},
              1e-5);
  expect_error([&] { nn::layer_norm(x, {3}); }, "does not end in normalized_shape [3]");
  expect_error([&] { nn::layer_norm(x, {2}, ones({3})); }, "weight has shape [3], normalized_shape is [2]");
}

TEST("cross_entropy takes class numbers and probabilities") {
  const Tensor scores = tensor({{1.0, 2.0, 0.0}, {0.0, 0.0, 0.0}});
  const Tensor classes = tensor({1, 2});
  const double first = std::log(std::exp(1) + std::exp(2) + 1) - 2, second = std::log(3);
  expect_near(nn::cross_entropy(scores, classes).item<double>(), (first + second) / 2);
  expect_near(nn::cross_entropy(scores, classes, {}, {}, 2).item<double>(), first);
  expect_near(nn::cross_entropy(scores, classes, {}, {}, -100, {}, "none").to_vector<float>(), {first, second});
  const Tensor probabilities = tensor({{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}});
  expect_near(nn::cross_entropy(scores, probabilities).item<double>(), (first + second) / 2);
  expect_near(nn::cross_entropy(scores, classes, {}, {}, -100, {}, "mean", 0.3).item<double>(),
              nn::cross_entropy(scores, probabilities, {}, {}, -100, {}, "mean", 0.3).item<double>());
  expect_error([&] { nn::cross_entropy(scores, tensor({1})); },
               "target has shape [1], an input of shape [2, 3] takes [2]");
  expect_error([&] { nn::cross_entropy(scores, classes, {}, {}, -100, {}, "median"); }, "reduction must be");
}

TEST("mse_loss and l1_loss average differences") {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({3.0, 1.0});
  expect_near(nn::mse_loss(x, y).item<double>(), 2.5);
  expect_near(nn::l1_loss(x, y, {}, {}, "sum").item<double>(), 3);
}

TEST("embedding reads rows") {
  const Tensor table = tensor({{0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}});
  expect_near(nn::embedding(tensor({2, 0}), table).to_vector<float>(), {4, 5, 0, 1});
  expect_near(nn::embedding(tensor({1}), table, {}, 2.5, 1.0).to_vector<float>(), {1, 1.5}, 1e-5);
  expect_error([&] { nn::embedding(tensor({0}), table, 3); }, "padding_idx 3 is out of range for 3 rows");
  expect_error([&] { nn::embedding(table, table); }, "input must be i64 or i32, got f32");
}

TEST("attention weighs values by scores") {
  const Tensor q = zeros({1, 2, 4}), v = tensor({{{1.0, 2.0}, {3.0, 4.0}}});
  expect_near(nn::scaled_dot_product_attention(q, q, v).to_vector<float>(), {2, 3, 2, 3});
  expect_near(nn::scaled_dot_product_attention(q, q, v, {}, 0.0, true).to_vector<float>(), {1, 2, 2, 3});
  const Tensor nothing_seen = tensor({{false, false}, {true, false}});
  expect_near(nn::scaled_dot_product_attention(q, q, v, nothing_seen).to_vector<float>(), {0, 0, 1, 2});
  expect_equal(nn::scaled_dot_product_attention(zeros({1, 4, 3, 8}), zeros({1, 2, 3, 8}), zeros({1, 2, 3, 8}), {}, 0.0,
                                                false, {}, true)
                   .shape(),
               Shape{1, 4, 3, 8});
  expect_error([&] { nn::scaled_dot_product_attention(q, q, v, nothing_seen, 0.0, true); }, "exclude each other");
  expect_error([&] { nn::scaled_dot_product_attention(q, zeros({1, 2, 3}), v); }, "different last sizes");
}

TEST("adamw steps as its formula says") {
  const Tensor p = tensor({1.0}), g = tensor({0.5}), zero = tensor({0.0}), step = tensor(1.0), rate = tensor(0.1);
  const auto [parameter, first, second] = prims::adamw(p, g, zero, zero, step, rate, 0.9, 0.99, 1e-8, 0.01);
  expect_near(first.item<double>(), 0.05);
  expect_near(second.item<double>(), 0.0025);
  expect_near(parameter.item<double>(), 1 - 0.1 * 0.01 - 0.1);
}

TEST("gradients reach the weights of layer_norm, embedding and attention") {
  const Tensor x = tensor({{1.0, 3.0}, {2.0, 6.0}}), weight = ones({2}).requires_grad_(),
               bias = zeros({2}).requires_grad_();
  sum(nn::layer_norm(x, {2}, weight, bias, 0.0)).backward();
  expect_near(weight.grad().to_vector<float>(), {-2, 2}, 1e-5);
  expect_near(bias.grad().to_vector<float>(), {2, 2}, 1e-5);
  const Tensor table = ones({3, 2}).requires_grad_();
  sum(nn::embedding(tensor({0, 2, 2}), table, 0)).backward();
  expect_near(table.grad().to_vector<float>(), {0, 0, 0, 0, 2, 2});
  const Tensor q = zeros({1, 2, 4}), v = ones({1, 2, 3}).requires_grad_();
  sum(nn::scaled_dot_product_attention(q, q, v, {}, 0.0, true)).backward();
  expect_near(v.grad().to_vector<float>(), {1.5, 1.5, 1.5, 0.5, 0.5, 0.5});
}
