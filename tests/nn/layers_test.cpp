#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/models/gpt.h>
#include <fulgurite/nn.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

struct Model {
  nn::Linear first{3, 4};
  std::vector<nn::Linear> more{nn::Linear(4, 4, false), nn::Linear(4, 2)};
  nn::LayerNorm norm{2};
  nn::Dropout dropout{0.5};
  Tensor operator()(const Tensor& x) const {
    Tensor y = relu(first(x));
    for (const auto& layer : more) y = layer(y);
    return dropout(norm(y));
  }
};

std::vector<std::string> names_of(const nn::NamedTensors& named) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : named) out.push_back(name);
  return out;
}

}  // namespace

TEST("parameters are found by the names of members") {
  const Model model;
  expect_equal(names_of(nn::named_parameters(model)),
               std::vector<std::string>{"first.weight", "first.bias", "more.0.weight", "more.1.weight", "more.1.bias",
                                        "norm.weight", "norm.bias"});
}

TEST("a tensor that two members share is one parameter") {
  Model model;
  model.more[0].weight = model.more[1].weight;
  expect_equal(nn::parameters(model).size(), 6u);
}

TEST("linear layers start as PyTorch's do") {
  manual_seed(3);
  const nn::Linear layer(100, 50);
  expect_equal(layer.weight.shape(), Shape({50, 100}));
  expect(layer.weight.requires_grad() && layer.weight.is_leaf());
  const NoGrad no_grad;
  const double largest = amax(abs(layer.weight)).item<double>();
  expect(largest <= 0.1 && largest > 0.09);
}

TEST("train and eval set every member named training") {
  Model model;
  nn::eval(model);
  expect(!model.dropout.training);
  const Tensor x = ones({2, 3});
  expect(model.dropout(x).is_same(x));
  nn::train(model);
  expect(model.dropout.training);
}

TEST("a state goes from one model into another") {
  Model a, b;
  nn::load_state_dict(b, nn::state_dict(a));
  expect_equal(b.first.weight.to_vector<float>(), a.first.weight.to_vector<float>());
  expect(!b.first.weight.is_same(a.first.weight));
  auto state = nn::state_dict(a);
  state.erase("first.bias");
  state.emplace("other", ones({1}));
  expect_error([&] { nn::load_state_dict(b, state); }, "first.bias is missing; other is not part of the model");
}

TEST("a model is converted where it stands") {
  const Model model;
  const Tensor weight = model.first.weight;
  nn::to(model, Dtype::bf16);
  expect_equal(weight.dtype(), Dtype::bf16);
  expect(weight.requires_grad());
}

TEST("a small GPT gives scores, a loss near the entropy of a guess, and gradients of all parameters") {
  manual_seed(7);
  models::Gpt gpt = models::make_gpt({.vocabulary = 11, .layers = 2, .heads = 2, .width = 8, .block = 6});
  const Tensor tokens = randint(0, 11, {3, 6});
  const Tensor scores = gpt(tokens);
  expect_equal(scores.shape(), Shape({3, 6, 11}));
  const Tensor loss = gpt.loss(tokens, tokens);
  expect_near(loss.item<double>(), std::log(11.0), 0.05);
  loss.backward();
  for (const auto& [name, parameter] : nn::named_parameters(gpt)) expect(parameter.grad().defined(), name);
}

TEST("a GPT predicts each token from those before it") {
  const models::Gpt gpt = models::make_gpt({.vocabulary = 11, .layers = 1, .heads = 2, .width = 8, .block = 4});
  const NoGrad no_grad;
  const Tensor a = gpt(tensor({{1, 2, 3, 4}})), b = gpt(tensor({{1, 2, 3, 9}}));
  const Tensor first_a = narrow(a, 1, 0, 3), first_b = narrow(b, 1, 0, 3);
  expect_equal(first_a.contiguous().to_vector<float>(), first_b.contiguous().to_vector<float>());
}
