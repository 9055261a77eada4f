#include <fulgurite/detail/walk.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

struct Attention {
  Tensor qkv;
  std::optional<Tensor> bias;
};
struct Block {
  Attention attention;
  std::array<Tensor, 2> norms;
  int heads = 2;
};
struct Network {
  Tensor embedding;
  std::vector<Block> blocks;
  std::map<std::string, Tensor> extra;
  bool training = true;
};

Network small_network() {
  Network network;
  network.embedding = ones({2});
  network.blocks.resize(2);
  for (Block& block : network.blocks) {
    block.attention.qkv = ones({2});
    block.norms = {ones({2}), ones({2})};
  }
  network.blocks[1].attention.bias = ones({2});
  network.extra["head"] = ones({2});
  return network;
}

struct Pair {
  Tensor first, second;
  double scale = 1;
};

struct Model {
  Tensor weight, bias;
  double scale = 1;
  Tensor operator()(Tensor x) const { return (x * weight + bias) * scale; }
};

class Layer {
 public:
  Layer() = default;
  explicit Layer(Tensor w) : weight(std::move(w)) {}
  Tensor operator()(const Tensor& x) const { return x * weight; }
  Tensor weight;
  int calls() const { return calls_; }

 private:
  int calls_ = 0;
};

}  // namespace

}  // namespace fulgurite

template <>
struct fulgurite::Fields<fulgurite::Layer> {
  static void visit(auto& object, auto&& member) { member("weight", object.weight); }
};

namespace fulgurite {

TEST("members are named by their path") {
  const Network network = small_network();
  std::vector<std::string> names;
  detail::for_each_named_tensor(network, [&](const std::string& name, const Tensor&) { names.push_back(name); });
  expect_equal(names, std::vector<std::string>{"embedding", "blocks.0.attention.qkv", "blocks.0.norms.0",
                                               "blocks.0.norms.1", "blocks.1.attention.qkv", "blocks.1.attention.bias",
                                               "blocks.1.norms.0", "blocks.1.norms.1", "extra.head"});
}

TEST("structures are arguments and results") {
  const auto f = jit([](Pair p, std::vector<Tensor> list) {
    return Pair{p.first + list[0], p.second * list[1], p.scale * 2};
  });
  const Pair result = f({.first = ones({2}), .second = ones({2}), .scale = 3}, {ones({2}), full({2}, 4.0)});
  expect_near(result.first.to_vector<float>(), {2, 2});
  expect_near(result.second.to_vector<float>(), {4, 4});
  expect_near(result.scale, 6);
}

TEST("maps, optionals, tuples and vectors are results of the shape they had") {
  const auto f = jit([](std::map<std::string, Tensor> given, std::optional<Tensor> maybe) {
    given["sum"] = given.at("a") + given.at("b");
    return std::tuple(given, maybe, std::vector<Tensor>{given.at("a"), Tensor()}, std::string("done"));
  });
  const auto [map, maybe, list, text] = f({{"a", ones({1})}, {"b", ones({1})}}, std::nullopt);
  expect_near(map.at("sum").to_vector<float>(), {2});
  expect(!maybe.has_value());
  expect(!list[1].defined());
  expect_equal(text, std::string("done"));
  f({{"a", ones({1})}, {"b", ones({1})}}, ones({1}));
  expect_equal(cache_misses(f), 2);
}

TEST("a vector of another length compiles again") {
  const auto f = jit([](std::vector<Tensor> list) {
    Tensor total = list[0];
    for (size_t i = 1; i < list.size(); ++i) total = total + list[i];
    return total;
  });
  expect_near(f({ones({1}), ones({1})}).to_vector<float>(), {2});
  expect_near(f({ones({1}), ones({1}), ones({1})}).to_vector<float>(), {3});
  expect_equal(cache_misses(f), 2);
}

TEST("a model passes its members as arguments, so replacing one is seen") {
  Model model{full({2}, 2.0), ones({2})};
  const auto f = jit(std::ref(model));
  expect_near(f(ones({2})).to_vector<float>(), {3, 3});
  model.weight = full({2}, 5.0);
  expect_near(f(ones({2})).to_vector<float>(), {6, 6});
  expect_equal(cache_misses(f), 1);
  model.scale = 2;
  expect_near(f(ones({2})).to_vector<float>(), {12, 12});
  expect_equal(cache_misses(f), 2);
  expect_text(last_traces(f).front().python({.time = false, .source = false}), R"(
import torch

@torch.no_grad()
def computation(t_0, t_weight, t_bias):
  # t_0: "cpu f32[2]"
  # t_weight: "cpu f32[2]"
  # t_bias: "cpu f32[2]"
  t0 = torch.mul(t_0, t_weight)  # t0: "cpu f32[2]"
  t1 = torch.add(t0, t_bias)  # t1: "cpu f32[2]"
  t2 = torch.mul(t1, 2.0)  # t2: "cpu f32[2]"
  return t2
)");
}

TEST("gradients reach a model's members") {
  Model model{full({2}, 2.0).requires_grad_(), ones({2}).requires_grad_()};
  const auto f = jit(std::ref(model));
  sum(f(full({2}, 3.0))).backward();
  expect_near(model.weight.grad().to_vector<float>(), {3, 3});
  expect_near(model.bias.grad().to_vector<float>(), {1, 1});
}

TEST("classes with Fields are structures") {
  Layer layer(full({2}, 2.0));
  const auto f = jit(std::ref(layer));
  f(ones({2}));
  layer.weight = full({2}, 4.0);
  expect_near(f(ones({2})).to_vector<float>(), {4, 4});
  expect_equal(cache_misses(f), 1);
}

TEST("names come from the arguments' positions, from argument_names and from set_name") {
  const auto names = [](const Trace& trace) {
    std::vector<std::string> out;
    for (const Value& arg : trace.args) out.push_back(arg.tensor().name);
    return out;
  };
  const auto function = [](Tensor a, std::vector<Tensor> list, Pair pair) {
    return a + list[0] + list[1] + pair.first * pair.second;
  };
  const Tensor one = ones({1});
  const Pair pair{ones({1}), ones({1})};
  const auto f = jit(function);
  f(ones({1}), {ones({1}), ones({1})}, pair);
  expect_equal(names(last_traces(f).front()), std::vector<std::string>{"t_0", "t_1_0", "t_1_1", "t_first", "t_second"});
  const auto g = jit(function, {.argument_names = {"x", "weights"}});
  g(ones({1}).set_name("input"), {ones({1}), ones({1})}, pair);
  expect_equal(names(last_traces(g).front()),
               std::vector<std::string>{"input", "weights_0", "weights_1", "t_first", "t_second"});
}

}  // namespace fulgurite
