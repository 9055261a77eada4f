#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

struct Model {
  nn::Sequential body{nn::Linear(4, 8), nn::ReLU(), nn::Dropout(0.5), nn::Linear(8, 2)};
  nn::ModuleList heads{nn::Linear(2, 1), nn::Sequential(nn::Tanh(), nn::Linear(2, 1))};
  Tensor operator()(const Tensor& x) const {
    Tensor y = body(x);
    Tensor out = heads[0](y);
    for (size_t i = 1; i < heads.size(); ++i) out = out + heads[i](y);
    return out;
  }
};

/// A layer of the program's own.
struct Scale {
  Tensor factor = full({}, 2.0).requires_grad_();
  Tensor operator()(const Tensor& x) const { return x * factor; }
};

std::vector<std::string> names_of(const std::vector<std::pair<std::string, Tensor>>& named) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : named) out.push_back(name);
  return out;
}
std::vector<float> values(const Tensor& x) { return x.detach().contiguous().to_vector<float>(); }

}  // namespace

TEST("layers of different types stand behind one another") {
  const nn::Sequential net(nn::Linear(3, 4), nn::GELU(), Scale(), [](const Tensor& x) { return x + 1; });
  const Tensor x = ones({2, 3});
  const nn::Linear& first = *net[0].target<nn::Linear>();
  expect_near(values(net(x)), values(gelu(first(x)) * 2 + 1));
  expect_equal(net.size(), 4u);
  expect_equal(net[1].target<nn::Linear>(), nullptr);
  expect(nn::Sequential()(x).is_same(x));
  expect_error([&] { net[4]; }, "there is no layer 4; it has 4");
  expect_error([&] { nn::AnyLayer()(x); }, "an AnyLayer without a layer is called");
}

TEST("parameters of a Sequential have PyTorch's names") {
  expect_equal(names_of(nn::named_parameters(Model())),
               std::vector<std::string>{"body.0.weight", "body.0.bias", "body.3.weight", "body.3.bias",
                                        "heads.0.weight", "heads.0.bias", "heads.1.1.weight", "heads.1.1.bias"});
  nn::Sequential named;
  named.push_back("conv", nn::Conv2d(1, 2, 3));
  named.push_back(nn::Flatten());
  expect_equal(names_of(nn::named_parameters(named)), std::vector<std::string>{"conv.weight", "conv.bias"});
}

TEST("states, copies and modes reach the layers of a Sequential") {
  Model a, b;
  expect(nn::load_state_dict(b, nn::state_dict(a)).missing.empty());
  nn::eval(a);
  nn::eval(b);
  const Tensor x = ones({2, 4});
  expect_equal(values(a(x)), values(b(x)));
  expect(!a.body[2].target<nn::Dropout>()->training);
  Model copy = nn::clone(a);
  sum(a(x)).backward();
  optim::SGD optimizer(nn::parameters(a), {.lr = 0.1});
  optimizer.step();
  expect_equal(values(copy(x)), values(b(x)));
  expect_different(values(a(x)), values(b(x)));
  const Model shared = a;  // tensors are handles
  expect_equal(values(shared(x)), values(a(x)));
  nn::to(a, Dtype::f64);
  expect_equal(a.body[0].target<nn::Linear>()->weight.dtype(), Dtype::f64);
}

TEST("a jitted Sequential is trained as an eager one") {
  Model model;
  nn::eval(model);
  Model eager = nn::clone(model);
  const auto f = jit(std::ref(model), {.fullgraph = true});
  optim::SGD one(nn::parameters(model), {.lr = 0.1}), two(nn::parameters(eager), {.lr = 0.1});
  manual_seed(1);
  const Tensor x = randn({5, 4});
  for (int i = 0; i < 3; ++i) {
    one.zero_grad();
    two.zero_grad();
    const Tensor loss = sum(f(x)), expected = sum(eager(x));
    expect_near(loss.item<double>(), expected.item<double>(), 1e-5);
    loss.backward();
    expected.backward();
    one.step();
    two.step();
  }
  expect_equal(cache_misses(f), 1);
  model.body[1] = nn::Sigmoid();  // another layer is another program
  expect_near(values(f(x)), values(model(x)), 1e-6);
  expect_equal(cache_misses(f), 2);
}

TEST("a state may be loaded in part") {
  const Model model;
  auto state = nn::state_dict(model);
  state.erase("body.0.bias");
  state["head.weight"] = ones({1});
  state["body.3.bias"] = tensor({5.0, 6.0});
  const auto [missing, unexpected] = nn::load_state_dict(model, state, {.strict = false});
  expect_equal(missing, std::vector<std::string>{"body.0.bias"});
  expect_equal(unexpected, std::vector<std::string>{"head.weight"});
  expect_equal(values(nn::state_dict(model).at("body.3.bias")), std::vector<float>{5, 6});
  expect_error([&] { nn::load_state_dict(model, state); },
               "body.0.bias is missing; head.weight is not part of the model");
  state["body.3.bias"] = ones({3});
  expect_error([&] { nn::load_state_dict(model, state, {.strict = false}); },
               "body.3.bias is cpu f32[3], the model has cpu f32[2]");
}
