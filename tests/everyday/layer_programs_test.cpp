#include <cmath>
#include <memory>
#include <variant>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short programs with layers and models, each as a user of LibTorch, PyTorch or MLX writes it.

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(kDouble).contiguous().to_vector<double>(); }

struct Residual {
  nn::Linear first, second;
  explicit Residual(int64_t width) : first(width, width), second(width, width) {}
  Residual() = default;
  Tensor operator()(const Tensor& x) const { return x + second(relu(first(x))); }
};

}  // namespace

template <>
struct fulgurite::Fields<Residual> {
  static void visit(auto& object, auto&& member) {
    member("first", object.first);
    member("second", object.second);
  }
};

TEST("a perceptron of layers in a row") {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Dropout(0.5), nn::Linear(8, 3), nn::LogSoftmax(1));
  nn::eval(net);
  const Tensor y = net(ones({2, 4}));
  expect_near(numbers(y.exp().sum(1)), {1, 1}, 1e-5);
  expect_equal(nn::parameter_count(net), 4 * 8 + 8 + 8 * 3 + 3);
}

TEST("a model with a list of layers") {
  struct Deep {
    std::vector<nn::Linear> layers;
    Tensor operator()(Tensor x) const {
      for (const auto& layer : layers) x = tanh(layer(x));
      return x;
    }
  };
  Deep net;
  for (int i = 0; i < 3; ++i) net.layers.emplace_back(2, 2);
  expect_equal(nn::named_parameters(net)[4].first, std::string("layers.2.weight"));
  expect_equal(net(ones({1, 2})).shape(), Shape({1, 2}));
}

TEST("a model with a constructor lists its members") {
  Residual block(4);
  expect_equal(nn::named_parameters(block)[2].first, std::string("second.weight"));
  block(ones({1, 4})).sum().backward();
  expect(block.first.weight.grad().defined());
}

TEST("a class with private layers and virtual functions") {
  class Base : public nn::Module {
   public:
    virtual Tensor forward(const Tensor& x) const = 0;
  };
  class Net : public Base {
   public:
    Tensor forward(const Tensor& x) const override { return fc_(x); }
    void members(nn::Members& member) override { member("fc", fc_); }

   private:
    nn::Linear fc_{3, 1};
  };
  const std::shared_ptr<Base> net = std::make_shared<Net>();
  expect_equal(nn::parameters(net).size(), size_t{2});
  optim::SGD optimizer(nn::parameters(net), {.lr = 0.1});
  net->forward(ones({1, 3})).sum().backward();
  optimizer.step();
}

TEST("a variant of layers, an optional one and a map of them") {
  struct Net {
    std::variant<nn::ReLU, nn::PReLU> activation = nn::PReLU();
    std::optional<nn::Linear> head;
    std::map<std::string, nn::Linear> towers;
  };
  Net net;
  net.towers.emplace("a", nn::Linear(1, 1));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : nn::named_parameters(net)) names.push_back(name);
  expect_equal(names, std::vector<std::string>{"activation.weight", "towers.a.weight", "towers.a.bias"});
}

TEST("a convolutional net for digits") {
  struct Net {
    nn::Conv2d conv1{1, 4, 5}, conv2{4, 8, 5};
    nn::Linear fc1{128, 16}, fc2{16, 10};
    Tensor operator()(Tensor x) const {
      x = relu(nn::max_pool2d(conv1(x), 2));
      x = relu(nn::max_pool2d(conv2(x), 2));
      return nn::log_softmax(fc2(relu(fc1(x.flatten(1)))), 1);
    }
  };
  expect_equal(Net()(rand({2, 1, 28, 28})).shape(), Shape({2, 10}));
}

TEST("layers with LibTorch's arguments have its shapes") {
  const Tensor image = rand({2, 3, 8, 8});
  expect_equal(nn::Conv2d(3, 6, 3, {.stride = 2, .padding = 1, .groups = 3, .bias = false})(image).shape(),
               Shape({2, 6, 4, 4}));
  expect_equal(nn::ConvTranspose2d(3, 2, 4, {.stride = 2, .padding = 1})(image).shape(), Shape({2, 2, 16, 16}));
  expect_equal(nn::MaxPool2d(3, {.stride = 2, .padding = 1})(image).shape(), Shape({2, 3, 4, 4}));
  expect_equal(nn::AdaptiveAvgPool2d({1, 1})(image).flatten(1).shape(), Shape({2, 3}));
  expect_equal(nn::PixelShuffle(2)(rand({1, 4, 2, 2})).shape(), Shape({1, 1, 4, 4}));
  expect_equal(nn::ReflectionPad2d(1)(image).shape(), Shape({2, 3, 10, 10}));
  expect_equal(nn::GroupNorm(3, 3)(image).shape(), image.shape());
  expect_equal(nn::Bilinear(2, 3, 4)(ones({5, 2}), ones({5, 3})).shape(), Shape({5, 4}));
  expect_equal(nn::EmbeddingBag(10, 3, {.mode = "sum"})(tensor({1, 2, 4}), tensor({0, 2})).shape(), Shape({2, 3}));
}

TEST("batch norm uses batches while training and running statistics after") {
  nn::BatchNorm1d norm(2, {.momentum = 1.0});
  const Tensor x = tensor({{1.0, 10.0}, {3.0, 30.0}});
  expect_near(numbers(norm(x).mean(0)), {0, 0}, 1e-5);
  expect_near(numbers(norm.running_mean), {2, 20}, 1e-5);
  nn::eval(norm);
  expect_near(numbers(norm(tensor({{2.0, 20.0}}))), {0, 0}, 1e-4);
}

TEST("dropout keeps the mean while training and nothing changes after") {
  manual_seed(1);
  nn::Dropout dropout(0.25);
  const Tensor y = dropout(ones({10000}));
  expect_near(y.mean().item<double>(), 1, 0.05);
  expect_near((y == 0).to(kFloat).mean().item<double>(), 0.25, 0.03);
  nn::eval(dropout);
  expect_equal(dropout(ones({3})).sum().item<double>(), 3.0);
}

TEST("an embedding's padding stays zero and has no gradient") {
  nn::Embedding words(5, 2, {.padding_idx = 0});
  const Tensor y = words(tensor({0, 3}));
  expect_equal(numbers(y(0)), std::vector<double>{0, 0});
  y.sum().backward();
  expect_equal(numbers(words.weight.grad()(0)), std::vector<double>{0, 0});
  expect_equal(numbers(words.weight.grad()(3)), std::vector<double>{1, 1});
}

TEST("recurrent layers return all results and the last state") {
  nn::LSTM lstm(3, 5, {.num_layers = 2, .batch_first = true, .bidirectional = true});
  const auto [y, state] = lstm(rand({4, 7, 3}));
  const auto [h, c] = state;
  expect_equal(y.shape(), Shape({4, 7, 10}));
  expect_equal(h.shape(), Shape({4, 4, 5}));
  expect_equal(c.shape(), h.shape());
  nn::GRU gru(3, 5);
  const auto [z, last] = gru(rand({7, 4, 3}));
  expect_near(numbers(z(-1)), numbers(last(0)), 1e-6);
}

TEST("a recurrent cell in a loop is the layer") {
  nn::GRU layer(2, 3);
  nn::GRUCell cell(2, 3);
  auto state = nn::state_dict(layer);
  nn::load_state_dict(cell, {{"weight_ih", state["weight_ih_l0"]},
                             {"weight_hh", state["weight_hh_l0"]},
                             {"bias_ih", state["bias_ih_l0"]},
                             {"bias_hh", state["bias_hh_l0"]}});
  const Tensor x = rand({4, 1, 2});
  Tensor h = zeros({1, 3});
  for (const Tensor& step : x) h = cell(step, h);
  expect_near(numbers(h), numbers(std::get<0>(layer(x))(-1)), 1e-5);
}

TEST("attention heads over a padded batch") {
  nn::MultiheadAttention attention(8, 2, {.batch_first = true});
  const Tensor x = rand({2, 3, 8}), is_padding = tensor({{false, false, true}, {false, false, false}});
  const auto [y, weights] = attention(x, x, x, {.key_padding_mask = is_padding});
  expect_equal(y.shape(), Shape({2, 3, 8}));
  expect_near(numbers(weights(0, Slice(), 2)), {0, 0, 0}, 1e-6);
  expect_near(numbers(weights.sum(-1)), {1, 1, 1, 1, 1, 1}, 1e-5);
}

TEST("a causal Transformer does not look ahead") {
  manual_seed(0);
  nn::TransformerEncoder encoder(nn::TransformerEncoderLayer(8, 2, {.dim_feedforward = 16, .batch_first = true}), 2);
  nn::eval(encoder);
  const Tensor x = rand({1, 4, 8});
  Tensor other = x.clone();
  other(0, 3) = 5;
  const Tensor mask = nn::causal_mask(4);
  expect_near(numbers(encoder(x, mask)(0, Slice(0, 3))), numbers(encoder(other, mask)(0, Slice(0, 3))), 1e-5);
}

TEST("scaled dot-product attention is softmax of scores times values") {
  const Tensor q = rand({1, 2, 3, 4}), k = rand({1, 2, 3, 4}), v = rand({1, 2, 3, 4});
  const Tensor expected = matmul(softmax(matmul(q, k.transpose(-2, -1)) / 2, -1), v);
  expect_near(numbers(nn::scaled_dot_product_attention(q, k, v)), numbers(expected), 1e-5);
}

TEST("losses of a batch") {
  const Tensor logits = tensor({{2.0, 0.0}, {0.0, 2.0}}), classes = tensor({0, 0});
  const double a = std::log(1 + std::exp(-2.0)), b = 2 + a;
  expect_near(nn::cross_entropy(logits, classes).item<double>(), (a + b) / 2, 1e-5);
  expect_near(nn::CrossEntropyLoss({.reduction = "sum"})(logits, classes).item<double>(), a + b, 1e-5);
  expect_near(nn::cross_entropy(logits, classes, {.ignore_index = 0}).item<double>(), NAN);
  expect_near(nn::MSELoss()(tensor({1.0, 3.0}), tensor({0.0, 1.0})).item<double>(), 2.5);
  expect_near(nn::L1Loss()(tensor({1.0, 3.0}), tensor({0.0, 1.0})).item<double>(), 1.5);
  expect_near(nn::BCEWithLogitsLoss()(tensor({0.0}), tensor({1.0})).item<double>(), std::log(2.0), 1e-6);
  expect_near(nn::HuberLoss()(tensor({3.0}), tensor({0.0})).item<double>(), 2.5);
  expect_near(nn::CosineEmbeddingLoss()(tensor({{1.0, 0.0}}), tensor({{0.0, 1.0}}), tensor({1.0})).item<double>(), 1,
              1e-6);
  expect_near(nn::TripletMarginLoss()(zeros({1, 2}), zeros({1, 2}), ones({1, 2})).item<double>(), 0, 1e-4);
}

TEST("weights are initialized by rule") {
  manual_seed(0);
  nn::Linear layer(100, 50);
  nn::init::xavier_uniform_(layer.weight);
  expect_at_most(layer.weight.abs().max().item<double>(), std::sqrt(6.0 / 150));
  nn::init::constant_(layer.bias, 0.5);
  expect_equal(layer.bias.sum().item<double>(), 25.0);
  nn::init::orthogonal_(layer.weight);
  expect_near(numbers(matmul(layer.weight, layer.weight.t()).diag()), std::vector<double>(50, 1.0), 1e-4);
  nn::apply(layer, [](nn::Linear& part) { nn::init::zeros_(part.weight); });
  expect_equal(layer.weight.sum().item<double>(), 0.0);
}

TEST("a part of a model is frozen") {
  struct Net {
    nn::Linear encoder{2, 2}, head{2, 1};
  };
  Net net;
  nn::freeze(net, "encoder.");
  expect_equal(nn::parameters(net).size(), size_t{2});
  net.head(net.encoder(ones({1, 2}))).sum().backward();
  expect(!net.encoder.weight.grad().defined() && net.head.weight.grad().defined());
}

TEST("two layers share a weight") {
  struct Net {
    nn::Embedding words{10, 4};
    nn::Linear head{4, 10, {.bias = false}};
    Net() { head.weight = words.weight; }
    Tensor operator()(const Tensor& x) const { return head(words(x)); }
  };
  const Net net;
  expect(net.head.weight.is_same(net.words.weight));
}

TEST("the best model is a clone") {
  nn::Linear model(1, 1);
  const nn::Linear best = nn::clone(model);
  const double before = best.weight.item<double>();
  {
    const NoGrad no_grad;
    model.weight.add_(1);
  }
  expect_equal(best.weight.item<double>(), before);
}

TEST("a hook sees what goes through a layer") {
  nn::Hooked<nn::Linear> layer{2, 3};
  Shape seen;
  auto hook = layer.register_forward_hook([&](const Tensor&, const Tensor& y) { seen = y.shape(); });
  layer(ones({4, 2}));
  expect_equal(seen, Shape({4, 3}));
  hook.remove();
}

TEST("a weight's norm and direction are parameters of their own") {
  nn::WeightNorm<nn::Linear> layer(nn::Linear(2, 3));
  expect_equal(layer(ones({1, 2})).shape(), Shape({1, 3}));
  expect_equal(nn::parameters(layer).size(), size_t{3});
}

TEST("a model in half precision and in f64") {
  nn::Linear layer(2, 2);
  nn::to(layer, kBFloat16);
  expect_equal(layer(ones({1, 2}, kBFloat16)).dtype(), kBFloat16);
  nn::to(layer, kDouble);
  expect_equal(layer(ones({1, 2}, kDouble)).dtype(), kDouble);
}

TEST("state that does not fit says what is missing and what is too much") {
  nn::Linear layer(2, 2);
  const auto result = nn::load_state_dict(layer, {{"weight", ones({2, 2})}, {"scale", ones({1})}}, {.strict = false});
  expect_equal(result.missing, std::vector<std::string>{"bias"});
  expect_equal(result.unexpected, std::vector<std::string>{"scale"});
  expect_error([&] { nn::load_state_dict(layer, {{"weight", ones({2, 3})}, {"bias", ones({2})}}); }, "weight");
}
