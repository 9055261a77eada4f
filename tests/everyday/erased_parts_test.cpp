#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub/linear_layers.h>

#include "support/test.h"

using namespace fulgurite;

// Layers inside Sequential, AnyLayer, pointers and classes derived from nn::Module, which functions reach by their
// types, and statistics of batch norms, which are computed anew.

namespace {

std::vector<float> floats(const Tensor& x) { return x.detach().contiguous().to_vector<float>(); }

struct Block : nn::Module {
  nn::Sequential layers{nn::Conv2d(1, 2, 3), nn::BatchNorm2d(2), nn::ReLU()};
  nn::Dropout dropout{0.5};
  void members(nn::Members& member) override {
    member("layers", layers);
    member("dropout", dropout);
  }
};
struct Net : nn::Module {
  std::shared_ptr<Block> block = std::make_shared<Block>();
  std::vector<nn::AnyLayer> heads{nn::Linear(2, 2), nn::Linear(2, 1)};
  void members(nn::Members& member) override {
    member("block", block);
    member("heads", heads);
  }
};
struct Scale {
  Tensor factor = ones({}).requires_grad_();
  Tensor operator()(const Tensor& x) const { return x * factor; }
};

}  // namespace

TEST("everyday: a function is applied to layers inside sequences and classes") {
  Net net;
  int linear = 0, convolutions = 0, blocks = 0, modules = 0;
  nn::apply(net, [&](nn::Linear& layer) {
    nn::init::zeros_(layer.weight);
    ++linear;
  });
  expect_equal(linear, 2);
  expect_equal(floats(net.heads[1].target<nn::Linear>()->weight), std::vector<float>{0, 0});
  nn::apply(net, [&](const nn::Conv2d&) { ++convolutions; });
  nn::apply(net, [&](Block& block) {
    block.dropout.p = 0.25;
    ++blocks;
  });
  nn::apply(net, [&](nn::Module&) { ++modules; });
  expect_equal(convolutions, 1);
  expect_equal(blocks, 1);
  expect_equal(modules, 2);
  expect_equal(net.block->dropout.p, 0.25);
}

TEST("everyday: a generic function sees the library's layers and classes of models") {
  Net net;
  std::string seen;
  nn::apply(net, [&seen](auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_same_v<Part, nn::Module>) seen += "module ";
    if constexpr (std::is_same_v<Part, nn::BatchNorm2d>) seen += "norm ";
    if constexpr (std::is_same_v<Part, nn::Linear> || std::is_same_v<Part, nn::Conv2d>) {
      seen += "weight ";
      nn::init::ones_(part.weight);
    }
  });
  expect_equal(seen, "module module weight norm weight weight ");
  nn::Sequential layers{nn::Linear(1, 1), Scale(), nn::Tanh()};
  int scales = 0;
  nn::apply(layers, [&](Scale& scale) {
    nn::init::constant_(scale.factor, 3);
    ++scales;
  });
  expect_equal(scales, 1);
  expect_equal(layers[1].target<Scale>()->factor.item<float>(), 3.f);
}

TEST("everyday: training and evaluation reach layers inside sequences and classes") {
  Net net;
  nn::eval(net);
  expect(!nn::is_training(net));
  expect(!net.block->training);
  expect(!net.block->dropout.training);
  expect(!net.block->layers[1].target<nn::BatchNorm2d>()->training);
  nn::train(net);
  expect(net.block->layers[1].target<nn::BatchNorm2d>()->training);
}

TEST("everyday: a class of a model prints the types of its parts") {
  std::ostringstream out;
  out << Block();
  expect_text(out.str(), R"(
Block(
  (layers): Sequential(
    (0): Convolution(weight=f32[2, 1, 3, 3], bias=f32[2], stride=[1], padding=[0], dilation=[1], groups=1, padding_name="", padding_mode="zeros")
    (1): BatchNorm(weight=f32[2], bias=f32[2], running_mean=f32[2], running_var=f32[2], num_batches_tracked=i64[], eps=1e-05, momentum=0.1)
    (2): ReLU()
  )
  (dropout): Dropout(p=0.5)
)
)");
}

// The statistics are those of torch.optim.swa_utils.update_bn: means over the batches of their means and unbiased
// variances.
TEST("everyday: batch norms' statistics of an averaged model") {
  nn::Sequential model{nn::BatchNorm1d(2, {.momentum = 0.5}), nn::Tanh()};
  model(tensor({{5.f, 5.f}, {7.f, 9.f}}));
  optim::AveragedModel average(model);
  average.update_parameters(model);
  nn::eval(average.module);
  const std::vector<std::tuple<Tensor, int>> batches{{tensor({{1.f, 2.f}, {3.f, 6.f}}), 0},
                                                     {tensor({{0.f, 1.f}, {0.f, 3.f}}), 1}};
  optim::update_bn(batches, average);
  const auto& norm = *average.module[0].target<nn::BatchNorm1d>();
  expect_equal(floats(norm.running_mean), std::vector<float>{1, 3});
  expect_equal(floats(norm.running_var), std::vector<float>{1, 5});
  expect_equal(norm.num_batches_tracked.item<int64_t>(), int64_t{2});
  expect_equal(*norm.momentum, 0.5);
  expect(!nn::is_training(average.module));
  expect_equal(floats(model[0].target<nn::BatchNorm1d>()->running_mean), std::vector<float>{3, 3.5});
}

TEST("everyday: batch norms' statistics of a class, from batches that it accepts") {
  struct Normalized : nn::Module {
    nn::BatchNorm1d norm{1};
    Tensor operator()(const Tensor& x) const { return norm(x); }
    void members(nn::Members& member) override { member("norm", norm); }
  } model;
  const std::vector<Tensor> batches{tensor({{1.f}, {3.f}})};
  optim::update_bn(batches, model);
  expect_equal(floats(model.norm.running_mean), std::vector<float>{2});
  expect_equal(floats(model.norm.running_var), std::vector<float>{2});
  expect_equal(*model.norm.momentum, 0.1);
}

TEST("everyday: a batch norm in two places keeps its momentum") {
  struct Twice : nn::Module {
    std::shared_ptr<nn::BatchNorm1d> first = std::make_shared<nn::BatchNorm1d>(1), second = first;
    Tensor operator()(const Tensor& x) const { return (*second)((*first)(x)); }
    void members(nn::Members& member) override {
      member("first", first);
      member("second", second);
    }
  } model;
  optim::update_bn(std::vector<Tensor>{tensor({{1.f}, {3.f}})}, model);
  expect_equal(*model.first->momentum, 0.1);
}

TEST("everyday: a loader's batches give batch norms' statistics") {
  nn::Sequential model{nn::Linear(3, 2), nn::BatchNorm1d(2)};
  manual_seed(3);
  const Tensor x = randn({8, 3});
  data::DataLoader loader(data::TensorDataset(x, arange(8)), {.batch_size = 4});
  optim::update_bn(loader, model);
  const NoGrad no_grad;
  const Tensor features = model[0](x);
  const Tensor expected = (mean(features(Slice(0, 4)), {0}) + mean(features(Slice(4, 8)), {0})) / 2;
  expect(allclose(model[1].target<nn::BatchNorm1d>()->running_mean, expected));
}

TEST("everyday: weights of few bits reach layers inside sequences and classes") {
  Net net;
  int converted = 0;
  for (const auto& [name, layer] : hub::detail::collect(net).layers) {
    ++converted;
    expect_equal(name, converted == 1 ? "heads.0" : "heads.1");
  }
  expect_equal(converted, 2);
}
