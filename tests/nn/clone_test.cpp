#include <fulgurite/autograd.h>
#include <fulgurite/jit.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

struct Tied {
  nn::Embedding embedding{5, 3};
  Tensor head;  // the embedding's weight
  Tensor rows;  // its first rows, in the same memory
  Tensor operator()(const Tensor& x) const { return matmul(embedding(x), head.t()); }
};

struct Net {
  nn::Conv2d conv{1, 2, 3, {.padding = 1}};
  nn::BatchNorm2d norm{2};
  std::vector<nn::Linear> layers = {nn::Linear(4, 4), nn::Linear(4, 2, false)};
  std::optional<Tensor> scale = ones({2});
  std::map<std::string, Tensor> buffers = {{"steps", tensor({1, 2})}};
  Tensor undefined;
  Tensor operator()(const Tensor& x) const { return layers[1](relu(layers[0](norm(conv(x)).mean({1, 2})))) * *scale; }
};

}  // namespace

TEST("a clone of a model has tensors of its own") {
  nn::Linear model(1, 1);
  const NoGrad no_grad;
  model.weight.fill_(1);
  nn::Linear shared = model;
  const nn::Linear best = nn::clone(model);
  model.weight.fill_(2);
  expect_equal(best.weight.item<double>(), 1.0);
  expect_equal(shared.weight.item<double>(), 2.0);
}

TEST("a clone computes what the model does, whatever holds its tensors") {
  manual_seed(4);
  Net model;
  const Tensor x = rand({3, 1, 4, 4});
  nn::eval(model);
  const Net copy = nn::clone(model);
  expect_equal(copy(x).detach().to_vector<float>(), model(x).detach().to_vector<float>());
  const auto of_model = nn::state_dict(model), of_copy = nn::state_dict(copy);
  expect_equal(of_copy.size(), of_model.size());
  for (const auto& [name, tensor] : of_model) {
    const Tensor& other = of_copy.at(name);
    expect(other.data_pointer() != tensor.data_pointer(), name + " is shared");
    expect(other.dtype() == tensor.dtype() && other.shape() == tensor.shape(), name);
    expect(all(eq(other, tensor)).item<bool>(), name);
  }
  const auto parameters = nn::named_parameters(model), copies = nn::named_parameters(copy);
  expect_equal(copies.size(), parameters.size());
  for (size_t i = 0; i < copies.size(); ++i) expect_equal(copies[i].first, parameters[i].first);
  expect(!copy.undefined.defined() && !copy.norm.training);
}

TEST("a clone shares inside what its model shares") {
  Tied model;
  model.head = model.embedding.weight;
  model.rows = model.embedding.weight.detach()(Slice(0, 2));
  const Tied copy = nn::clone(model);
  expect(copy.head.is_same(copy.embedding.weight) && !copy.head.is_same(model.head));
  expect_equal(nn::parameters(copy).size(), size_t{1});
  expect(copy.head.requires_grad() && copy.head.is_leaf() && !copy.rows.requires_grad());
  const NoGrad no_grad;
  copy.head.fill_(7);
  expect_near(copy.rows.to_vector<float>(), {7, 7, 7, 7, 7, 7});
  expect_different(model.head.to_vector<float>()[0], 7);
}

TEST("a clone is trained alone, and can follow a model slowly") {
  manual_seed(2);
  nn::Linear model(3, 1);
  const nn::Linear start = nn::clone(model);
  const nn::Linear average = nn::clone(model);
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
  const Tensor x = rand({8, 3}), y = rand({8, 1});
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    nn::mse_loss(model(x), y).backward();
    optimizer.step();
    const NoGrad no_grad;
    const auto slow = nn::parameters(average), fast = nn::parameters(model);
    for (size_t i = 0; i < slow.size(); ++i) slow[i].mul_(0.9).add_(fast[i], 0.1);
  }
  expect(!start.weight.grad().defined() && model.weight.grad().defined());
  const Tensor moved = sum(abs(model.weight - start.weight)).detach(),
               followed = sum(abs(average.weight - start.weight)).detach();
  expect(moved.item<double>() > followed.item<double>() && followed.item<double>() > 0);
  nn::load_state_dict(model, nn::state_dict(start));
  expect_equal(model.weight.detach().to_vector<float>(), start.weight.detach().to_vector<float>());
}
