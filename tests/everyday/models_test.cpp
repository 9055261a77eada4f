#include <memory>
#include <variant>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short programs of every day: models with constructors, private members, base classes, pointers and variants, and
// what is done with models.

namespace {

std::vector<float> floats(const Tensor& x) { return x.detach().to(Dtype::f32).contiguous().to_vector<float>(); }
template <class Model>
std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : nn::named_parameters(model)) out.push_back(name);
  return out;
}
using Names = std::vector<std::string>;

/// A constructor and private members.
class Classifier : public nn::Module {
 public:
  Classifier(int64_t inputs, int64_t classes) : first_(inputs, 4), second_(4, classes) {}
  Tensor operator()(const Tensor& x) const { return second_(dropout_(relu(first_(x)))); }
  void members(nn::Members& member) override {
    member("first", first_);
    member("dropout", dropout_);
    member("second", second_);
  }
  const nn::Dropout& dropout() const { return dropout_; }

 private:
  nn::Linear first_;
  nn::Dropout dropout_{0.5};
  nn::Linear second_;
};

/// Layers behind a base class of the program's own.
struct Block : nn::Module {
  virtual Tensor forward(const Tensor& x) const = 0;
  virtual std::shared_ptr<Block> clone() const = 0;
};
struct Affine final : Block {
  nn::Linear linear{2, 2};
  Tensor forward(const Tensor& x) const override { return linear(x); }
  void members(nn::Members& member) override { member("linear", linear); }
  std::shared_ptr<Block> clone() const override { return std::make_shared<Affine>(*this); }
};
struct Scaled final : Block {
  Tensor factor = ones({}).requires_grad_();
  Tensor forward(const Tensor& x) const override { return x * factor; }
  void members(nn::Members& member) override { member("factor", factor); }
  std::shared_ptr<Block> clone() const override { return std::make_shared<Scaled>(*this); }
};
struct Stack {
  std::vector<std::shared_ptr<Block>> blocks{std::make_shared<Affine>(), std::make_shared<Scaled>()};
  Tensor operator()(Tensor x) const {
    for (const auto& block : blocks) x = block->forward(x);
    return x;
  }
};

struct Pointers {
  std::shared_ptr<nn::Linear> shared = std::make_shared<nn::Linear>(2, 3);
  std::unique_ptr<nn::LayerNorm> own = std::make_unique<nn::LayerNorm>(3);
  std::shared_ptr<nn::Linear> none;
  Tensor operator()(const Tensor& x) const { return (*own)((*shared)(x)); }
};
struct Choice {
  std::variant<nn::ReLU, nn::GELU, nn::PReLU> activation;
  std::variant<std::monostate, nn::Linear> projection = nn::Linear(2, 2);
  std::optional<nn::Linear> extra;
  Tensor operator()(const Tensor& x) const {
    return std::visit([&x](const auto& f) { return f(x); }, activation);
  }
};

struct Net {
  nn::Linear fc1{3, 4};
  nn::BatchNorm1d norm{4};
  nn::Dropout dropout{0.25};
  nn::Linear fc2{4, 2};
  Tensor operator()(const Tensor& x) const { return fc2(dropout(relu(norm(fc1(x))))); }
};

}  // namespace

TEST("everyday: a model with a constructor and private members") {
  Classifier model(3, 2);
  expect_equal(names_of(model), Names{"first.weight", "first.bias", "second.weight", "second.bias"});
  nn::eval(model);
  expect(!model.training);
  expect(!model.dropout().training);
  nn::train(model);
  expect(model.dropout().training);
  const Tensor x = ones({2, 3});
  nn::eval(model);
  const auto f = jit([&model](const Tensor& input) { return model(input); });
  expect_near(floats(f(x)), floats(model(x)));
  Classifier copy = nn::clone(model);
  for (const Tensor& p : nn::parameters(model)) p.detach().zero_();
  expect_different(floats(copy(x)), floats(model(x)));
  optim::SGD optimizer(nn::parameters(copy), {.lr = 0.1});
  sum(copy(x)).backward();
  optimizer.step();
}

TEST("everyday: a jitted model with private members passes its members") {
  Classifier model(3, 2);
  nn::eval(model);
  const auto f = jit(std::ref(model));
  const Tensor x = ones({2, 3});
  expect_near(floats(f(x)), floats(model(x)));
  nn::parameters(model)[3].detach().add_(1);
  expect_near(floats(f(x)), floats(model(x)));
  expect_equal(cache_misses(f), 1);
}

TEST("everyday: polymorphic layers behind pointers") {
  Stack model;
  expect_equal(names_of(model), Names{"blocks.0.linear.weight", "blocks.0.linear.bias", "blocks.1.factor"});
  const Tensor x = ones({1, 2});
  const auto before = floats(model(x));
  Stack copy = nn::clone(model);
  for (const Tensor& p : nn::parameters(copy)) p.detach().zero_();
  expect_equal(floats(model(x)), before);
  expect_equal(floats(copy(x)), std::vector<float>{0, 0});
  nn::load_state_dict(copy, nn::state_dict(model));
  expect_equal(floats(copy(x)), before);
}

TEST("everyday: pointers to layers") {
  Pointers model;
  expect_equal(names_of(model), Names{"shared.weight", "shared.bias", "own.weight", "own.bias"});
  expect_equal(model(ones({2, 2})).shape(), Shape{2, 3});
  struct Shared {
    std::shared_ptr<nn::Linear> layer = std::make_shared<nn::Linear>(1, 1);
  };
  Shared a;
  Shared b = nn::clone(a);
  expect_different(a.layer, b.layer);
  expect(!a.layer->weight.is_same(b.layer->weight));
  const std::shared_ptr<Net> net = std::make_shared<Net>();
  expect_equal(nn::parameters(*net).size(), 6u);
  expect_equal(nn::parameters(net).size(), 6u);
}

TEST("everyday: variants and optional layers") {
  Choice model;
  expect_equal(names_of(model), Names{"projection.weight", "projection.bias"});
  model.activation = nn::PReLU();
  model.extra = nn::Linear(1, 1, {.bias = false});
  expect_equal(names_of(model), Names{"activation.weight", "projection.weight", "projection.bias", "extra.weight"});
  expect_equal(floats(model(tensor({-4.0}))), std::vector<float>{-1});
  model.projection = std::monostate();
  expect_equal(names_of(model), Names{"activation.weight", "extra.weight"});
}

TEST("everyday: states of a model, all and in part") {
  Net a, b;
  const auto state = nn::state_dict(a);
  expect(state.contains("norm.running_mean"));
  nn::load_state_dict(b, state);
  expect_equal(floats(b.fc1.weight), floats(a.fc1.weight));
  std::map<std::string, Tensor> part;
  for (const auto& [name, value] : state)
    if (name.starts_with("fc1.")) part.emplace(name.substr(4), value);
  nn::Linear alone(3, 4);
  nn::load_state_dict(alone, part);
  expect_equal(floats(alone.bias), floats(a.fc1.bias));
  const auto [missing, unexpected] = nn::load_state_dict(b, part, {.strict = false});
  expect(!missing.empty());
  expect_equal(unexpected, Names{"bias", "weight"});
  expect_error([&] { nn::load_state_dict(b, part); }, "missing");
}

TEST("everyday: parameters are counted, listed, frozen and initialized") {
  Net net;
  expect_equal(nn::parameter_count(net), 3 * 4 + 4 + 4 + 4 + 4 * 2 + 2);
  nn::freeze(net, "fc1.");
  expect_equal(nn::parameter_count(net), 18);
  expect(!net.fc1.weight.requires_grad());
  nn::unfreeze(net);
  expect(!net.norm.running_mean.requires_grad());
  expect_equal(nn::parameter_count(net), 34);
  nn::apply(net, [](nn::Linear& layer) {
    nn::init::ones_(layer.weight);
    nn::init::zeros_(layer.bias);
  });
  expect_equal(sum(net.fc1.weight).item<float>(), 12.f);
  int parts = 0;
  nn::apply(net, [&parts](auto&) { ++parts; });
  expect_equal(parts, 5);
  nn::to(net, Dtype::f64);
  expect_equal(net.fc2.bias.dtype(), Dtype::f64);
}

TEST("everyday: a summary of a model") {
  struct Small {
    nn::Linear fc{2, 3};
    Tensor scale = ones({});
  };
  expect_text(nn::summary(Small()), R"(
tensor     shape   dtype  elements
fc.weight  [3, 2]  f32           6
fc.bias    [3]     f32           3
scale      []      f32           1
9 elements of parameters, 1 of tensors without gradients
)");
}

TEST("everyday: hooks before and after a layer") {
  struct Hooks {
    nn::Hooked<nn::Linear> fc{2, 2};
    Tensor operator()(const Tensor& x) const { return fc(x) * 2; }
  };
  Hooks model;
  expect_equal(names_of(model), Names{"fc.weight", "fc.bias"});
  nn::init::ones_(model.fc.layer.weight);
  nn::init::zeros_(model.fc.layer.bias);
  std::vector<Tensor> seen;
  const HookHandle before = model.fc.register_forward_pre_hook([](const Tensor& x) { return x + 1; });
  const HookHandle after =
      model.fc.register_forward_hook([&seen](const Tensor&, const Tensor& y) { seen.push_back(y.detach()); });
  expect_equal(floats(model(ones({1, 2}))), std::vector<float>{8, 8});
  expect_equal(floats(seen.at(0)), std::vector<float>{4, 4});
  before.remove();
  expect_equal(floats(model(ones({1, 2}))), std::vector<float>{4, 4});
  after.remove();
  after.remove();
  model(ones({1, 2}));
  expect_equal(seen.size(), 2u);
  const HookHandle replaced = model.fc.register_forward_hook([](const Tensor&, const Tensor& y) { return y * 10; });
  expect_equal(floats(model(ones({1, 2}))), std::vector<float>{40, 40});
}

TEST("everyday: hooks on the gradients of a layer") {
  nn::Hooked<nn::Linear> fc(nn::Linear(2, 1, {.bias = false}));
  nn::init::constant_(fc.layer.weight, 3);
  Tensor of_argument, of_result;
  fc.register_full_backward_hook([&](const Tensor& x, const Tensor& y) {
    of_argument = x;
    of_result = y;
  });
  const Tensor x = ones({1, 2}).requires_grad_();
  sum(fc(x) * 5 + sum(x)).backward();  // the hook sees the gradient through the layer alone
  expect_equal(floats(of_argument), std::vector<float>{15, 15});
  expect_equal(floats(of_result), std::vector<float>{5});
  expect_equal(floats(x.grad()), std::vector<float>{16, 16});
  sum(fc(ones({1, 2}))).backward();
  expect(!of_argument.defined());
  expect_equal(floats(of_result), std::vector<float>{1});
  fc.register_full_backward_hook([](const Tensor& gradient, const Tensor&) { return gradient * 2; });
  const Tensor y = ones({1, 2}).requires_grad_();
  sum(fc(y)).backward();
  expect_equal(floats(y.grad()), std::vector<float>{6, 6});
}

TEST("everyday: hooks of a layer in Sequential") {
  nn::Sequential net(nn::Hooked(nn::Linear(2, 2)), nn::ReLU());
  int calls = 0;
  net[0].target<nn::Hooked<nn::Linear>>()->register_forward_hook([&calls](const Tensor&, const Tensor&) { ++calls; });
  net(ones({1, 2}));
  expect_equal(calls, 1);
  expect_equal(names_of(net), Names{"0.weight", "0.bias"});
}

TEST("everyday: weight norm divides and multiplies by magnitudes") {
  nn::Linear plain(2, 2);
  plain.weight.detach().copy_(tensor({{3.0, 4.0}, {0.0, 2.0}}));
  nn::init::zeros_(plain.bias);
  nn::WeightNorm layer(plain);
  expect_equal(names_of(layer),
               Names{"bias", "parametrizations.weight.original0", "parametrizations.weight.original1"});
  expect_equal(layer.magnitude.shape(), Shape{2, 1});
  expect_equal(floats(layer.magnitude), std::vector<float>{5, 2});
  const Tensor x = tensor({{1.0, 1.0}});
  expect_near(floats(layer(x)), {7, 2});
  layer.magnitude.detach().mul_(2);
  expect_near(floats(layer(x)), {14, 4});
  sum(layer(x)).backward();
  expect_near(floats(layer.magnitude.grad()), {1.4, 1});
  expect_near(floats(layer.direction.grad()), {0.32, -0.24, 2, 0}, 1e-5);
  nn::WeightNorm whole(plain, {.dim = -1});
  expect_equal(whole.magnitude.shape(), Shape{});
  nn::WeightNorm convolution(nn::Conv2d(1, 3, 2));
  expect_equal(convolution.magnitude.shape(), Shape{3, 1, 1, 1});
  expect_equal(convolution(ones({1, 1, 4, 4})).shape(), Shape{1, 3, 3, 3});
  expect_error([&] { nn::WeightNorm(plain, {.dim = 2}); }, "dim 2 for a weight of 2 dimensions");
}

TEST("everyday: spectral norm divides by the largest singular value") {
  manual_seed(0);
  nn::Linear plain(2, 2, {.bias = false});
  plain.weight.detach().copy_(tensor({{3.0, 0.0}, {0.0, 1.0}}));
  nn::SpectralNorm layer(plain);
  expect_near(floats(layer.weight()), {1, 0, 0, 1.0 / 3}, 1e-4);
  nn::eval(layer);
  const auto u = floats(layer.u);
  layer(ones({1, 2}));
  expect_equal(floats(layer.u), u);
  nn::train(layer);
  sum(layer(ones({1, 2}))).backward();
  expect_near(floats(layer.original.grad()), {-1.0 / 9, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-3);
  expect(nn::state_dict(layer).contains("parametrizations.weight.0._u"));
}

TEST("everyday: averages of a model over its training") {
  nn::Linear model(1, 1, {.bias = false});
  const auto set = [&model](double value) { model.weight.detach().fill_(value); };
  set(1);
  optim::AveragedModel mean_of(model), moving(model, {.decay = 0.9});
  for (const double value : {2.0, 4.0, 9.0}) {
    set(value);
    mean_of.update_parameters(model);
    moving.update_parameters(model);
  }
  expect_near(mean_of.module.weight.item<double>(), 5);
  expect_near(moving.module.weight.item<double>(), 2.88);
  expect_near(floats(moving(ones({1, 1}))), {2.88});
  optim::AveragedModel resumed(model, {.decay = 0.9});
  resumed.load_state_dict(moving.state_dict());
  set(0);
  resumed.update_parameters(model);
  moving.update_parameters(model);
  expect_equal(resumed.module.weight.item<float>(), moving.module.weight.item<float>());
  expect_equal(resumed.updates(), 4);
  expect_error([&] { optim::AveragedModel(model, {.decay = 2}); }, "invalid decay");
}

TEST("everyday: a model is saved with its optimizer and read back") {
  Net net;
  optim::Adam optimizer(nn::parameters(net), {.lr = 1e-2});
  nn::cross_entropy(net(rand({4, 3})), tensor({0, 1, 0, 1})).backward();
  optimizer.step();
  TensorMap all;
  for (const auto& [name, value] : nn::state_dict(net)) all.emplace("model." + name, value);
  for (const auto& [name, value] : optimizer.state_dict()) all.emplace("optimizer." + name, value);
  const std::string path = "everyday_checkpoint.safetensors";
  save_safetensors(path, all);
  Net other;
  std::map<std::string, Tensor> model_state;
  for (const auto& [name, value] : load_safetensors(path))
    if (name.starts_with("model.")) model_state.emplace(name.substr(6), value);
  nn::load_state_dict(other, model_state);
  expect_equal(floats(other.fc2.weight), floats(net.fc2.weight));
  std::remove(path.c_str());
}
