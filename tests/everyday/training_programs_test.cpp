#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

// Short programs that differentiate, compile and train, each as a user of LibTorch, PyTorch, JAX or MLX
// writes it.

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(kDouble).contiguous().to_vector<double>(); }

/// Steps of an optimizer on (w - 3)^2; the distance at the end.
template <class Optimizer, class Options>
double distance_after(int steps, const Options& options) {
  const Tensor w = tensor({0.0, 6.5}, {.requires_grad = true});
  Optimizer optimizer({w}, options);
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    (w - 3).pow(2).sum().backward();
    optimizer.step();
  }
  return (w - 3).abs().max().template item<double>();
}

}  // namespace

TEST("the gradient of a function") {
  const Tensor x = tensor({1.0, 2.0}, {.requires_grad = true});
  (x * x * x).sum().backward();
  expect_equal(numbers(x.grad()), std::vector<double>{3, 12});
}

TEST("grad and value_and_grad of a function, as in JAX and MLX") {
  const auto f = [](Tensor x) { return sum(x * x); };
  expect_equal(numbers(grad(f)(tensor({1.0, 3.0}))), std::vector<double>{2, 6});
  const auto [value, gradient] = value_and_grad(f)(tensor({2.0}));
  expect_equal(value.item<double>(), 4.0);
  expect_equal(gradient.item<double>(), 4.0);
  const auto second = grad([](Tensor x) { return sum(grad([](Tensor y) { return sum(y * y * y); })(x)); });
  expect_equal(numbers(second(tensor({2.0}))), std::vector<double>{12});
}

TEST("gradients add up until they are cleared") {
  const Tensor x = tensor({1.0}, {.requires_grad = true});
  for (int i = 0; i < 2; ++i) (x * 3).sum().backward();
  expect_equal(x.grad().item<double>(), 6.0);
  x.set_grad({});
  expect(!x.grad().defined());
}

TEST("a value without a gradient, and one that is cut off") {
  const Tensor x = tensor({2.0}, {.requires_grad = true});
  {
    const NoGradGuard no_grad;
    expect(!(x * 2).requires_grad());
  }
  (x.detach() * x).sum().backward();
  expect_equal(x.grad().item<double>(), 2.0);
}

TEST("a gradient is clipped by a hook") {
  const Tensor x = tensor({1.0}, {.requires_grad = true});
  x.register_hook([](Tensor g) { return g.clamp(-0.5, 0.5); });
  (x * 10).sum().backward();
  expect_equal(x.grad().item<double>(), 0.5);
}

TEST("a function with a gradient of one's own") {
  struct Straight {
    static Tensor forward(autograd::Context&, Tensor x) { return round(x); }
    static Tensor backward(autograd::Context&, Tensor g) { return g; }
  };
  const Tensor x = tensor({1.4}, {.requires_grad = true});
  const Tensor y = autograd::apply<Straight>(x);
  y.sum().backward();
  expect_equal(y.item<double>(), 1.0);
  expect_equal(x.grad().item<double>(), 1.0);
}

TEST("a gradient penalty") {
  const Tensor x = tensor({1.0, 2.0}, {.requires_grad = true}), w = tensor({2.0, -1.0}, {.requires_grad = true});
  const Tensor y = (w * x * x).sum();
  const auto g = autograd::grad({y}, {x}, {}, {.create_graph = true});
  (g[0].norm() - 1).pow(2).backward();
  expect(w.grad().defined() && w.grad().abs().sum().item<double>() > 0);
}

TEST("a compiled function gives the eager numbers, for every size") {
  const auto f = [](Tensor x, Tensor y) { return tanh(x) * y + 1; };
  const auto compiled = jit(f);
  for (const int64_t n : {1, 5, 64}) {
    const Tensor x = randn({n, 3}), y = randn({3});
    expect_equal(equal(compiled(x, y), f(x, y)), true);
  }
}

TEST("a compiled model is differentiated") {
  nn::Linear net(3, 2);
  const auto loss_of = jit([&net](Tensor x, Tensor y) { return nn::mse_loss(net(x), y); });
  const Tensor x = randn({4, 3}), y = randn({4, 2});
  loss_of(x, y).backward();
  const auto compiled = numbers(net.weight.grad());
  nn::zero_grad(net);
  nn::mse_loss(net(x), y).backward();
  expect_near(numbers(net.weight.grad()), compiled, 1e-5);
}

TEST("a condition on data breaks the graph and is evaluated at each call") {
  const auto f = jit([](Tensor x) { return x.sum().item<double>() > 0 ? x * 2 : x - 1; });
  expect_equal(numbers(f(tensor({1.0}))), std::vector<double>{2});
  expect_equal(numbers(f(tensor({-1.0}))), std::vector<double>{-2});
}

TEST("a trace is read") {
  const auto f = jit([](Tensor x) { return relu(x) + 1; });
  f(ones({2}));
  expect_different(last_traces(f).front().python().find("relu"), std::string::npos);
}

TEST("optimizers reach the minimum") {
  expect_less(distance_after<optim::SGD>(60, optim::SGDOptions{.lr = 0.1}), 1e-3);
  expect_less(distance_after<optim::SGD>(150, optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .nesterov = true}), 1e-2);
  expect_less(distance_after<optim::Adam>(400, optim::AdamOptions{.lr = 0.1}), 1e-2);
  expect_less(distance_after<optim::AdamW>(400, optim::AdamWOptions{.lr = 0.1, .weight_decay = 0}), 1e-2);
  expect_less(distance_after<optim::RMSprop>(400, optim::RMSpropOptions{.lr = 0.02}), 0.1);
  expect_less(distance_after<optim::Adagrad>(500, optim::AdagradOptions{.lr = 1}), 1e-2);
  expect_less(distance_after<optim::Lion>(400, optim::LionOptions{.lr = 0.02}), 0.5);
}

TEST("LBFGS with a closure") {
  const Tensor w = tensor({-1.0, 2.0}, {.requires_grad = true});
  optim::LBFGS optimizer({w}, {.lr = 1, .max_iter = 50, .line_search_fn = "strong_wolfe"});
  for (int i = 0; i < 5; ++i)
    optimizer.step([&] {
      optimizer.zero_grad();
      Tensor loss = (1 - w(0)).pow(2) + 100 * (w(1) - w(0) * w(0)).pow(2);
      loss.backward();
      return loss;
    });
  expect_near(numbers(w), {1, 1}, 1e-3);
}

TEST("groups of parameters have rates of their own") {
  nn::Linear slow(1, 1, {.bias = false}), fast(1, 1, {.bias = false});
  optim::SGD optimizer({{nn::parameters(slow), {.lr = 0}}, {nn::parameters(fast), {.lr = 1}}});
  const double before = slow.weight.item<double>(), other = fast.weight.item<double>();
  (slow(ones({1, 1})) + fast(ones({1, 1}))).sum().backward();
  optimizer.step();
  expect_equal(slow.weight.item<double>(), before);
  expect_near(fast.weight.item<double>(), other - 1, 1e-6);
}

TEST("gradients are clipped by norm and by value") {
  const Tensor w = tensor({3.0, 4.0}, {.requires_grad = true});
  (w * w).sum().backward();
  expect_near(optim::clip_grad_norm_({w}, 1.0).item<double>(), 10, 1e-5);
  expect_near(numbers(w.grad()), {0.6, 0.8}, 1e-5);
  nn::utils::clip_grad_value_({w}, 0.7);
  expect_near(numbers(w.grad()), {0.6, 0.7}, 1e-5);
}

TEST("a rate warms up and decays by a cosine") {
  nn::Linear net(1, 1);
  optim::AdamW optimizer(nn::parameters(net), {.lr = 1e-3});
  optim::OneCycle schedule(optimizer, {.max_lr = 1e-2, .total_steps = 10});
  double highest = 0;
  for (int i = 0; i < 9; ++i) {
    schedule.step();
    highest = std::max(highest, optimizer.learning_rate());
  }
  expect_near(highest, 1e-2, 1e-6);
  expect_less(optimizer.learning_rate(), 1e-4);
}

TEST("gradients are accumulated over small batches") {
  nn::Linear net(2, 1), other = nn::clone(net);
  const Tensor x = randn({8, 2});
  for (int64_t i = 0; i < 8; i += 2) (net(narrow(x, 0, i, 2)).pow(2).mean() / 4).backward();
  other(x).pow(2).mean().backward();
  expect_near(numbers(net.weight.grad()), numbers(other.weight.grad()), 1e-5);
}

TEST("a whole training step is one compiled program") {
  nn::Linear net(2, 1);
  optim::SGD optimizer(nn::parameters(net), {.lr = 0.1});
  const auto step = jit([&](Tensor x, Tensor y) {
    Tensor loss = nn::mse_loss(net(x), y);
    const auto gradients = autograd::grad({loss}, nn::parameters(net));
    optimizer.step(nn::parameters(net), gradients);
    return loss;
  });
  const Tensor x = randn({32, 2}), y = x.sum(1, true);
  double first = step(x, y).item<double>(), last = first;
  for (int i = 0; i < 100; ++i) last = step(x, y).item<double>();
  expect(last < 0.01 * first, "from " + std::to_string(first) + " to " + std::to_string(last));
}

TEST("half precision with scaled losses") {
  nn::Linear net(4, 1);
  optim::AdamW optimizer(nn::parameters(net), {.lr = 1e-2});
  optim::GradScaler scaler;
  const Tensor x = randn({16, 4}), y = x.sum(1, true);
  double last = 0;
  for (int i = 0; i < 200; ++i) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const auto half = autocast(kBFloat16);
      loss = nn::mse_loss(net(x).to(kFloat), y);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    last = loss.item<double>();
  }
  expect(last < 0.5, "the loss is " + std::to_string(last));
}

TEST("an average of the weights follows the model") {
  nn::Linear net(1, 1, {.bias = false});
  optim::AveragedModel average(net, {.decay = 0.5});
  average.update_parameters(net);
  {
    const NoGrad no_grad;
    net.weight.add_(2);
  }
  average.update_parameters(net);
  const Tensor x = ones({1, 1});
  expect_near((net(x) - average(x)).item<double>(), 1, 1e-5);
}

TEST("activations are computed again instead of kept") {
  const Tensor x = randn({4}, {.requires_grad = true});
  const auto block = [](Tensor a) { return exp(sin(a)); };
  checkpoint(block)(x).sum().backward();
  const auto again = numbers(x.grad());
  x.set_grad({});
  block(x).sum().backward();
  expect_near(numbers(x.grad()), again, 1e-6);
}

TEST("a classifier learns moons") {
  manual_seed(0);
  const auto [x, y] = data::make_moons(200, {.noise = 0.05});
  nn::Sequential net(nn::Linear(2, 16), nn::Tanh(), nn::Linear(16, 2));
  optim::Adam optimizer(nn::parameters(net), {.lr = 0.03});
  for (int i = 0; i < 150; ++i) {
    optimizer.zero_grad();
    nn::cross_entropy(net(x), y).backward();
    optimizer.step();
  }
  const NoGrad no_grad;
  expect_greater(metrics::accuracy(net(x), y), 0.97);
}

TEST("a recurrent net learns to count") {
  manual_seed(0);
  struct Counter {
    nn::GRU gru{1, 16, {.batch_first = true}};
    nn::Linear head{16, 1};
    Tensor operator()(const Tensor& x) const { return head(std::get<0>(gru(x)).select(1, -1)); }
  };
  Counter net;
  optim::Adam optimizer(nn::parameters(net), {.lr = 0.02});
  const Tensor x = bernoulli(full({64, 6, 1}, 0.5)), y = x.sum(1);
  double last = 0;
  for (int i = 0; i < 150; ++i) {
    optimizer.zero_grad();
    const Tensor loss = nn::mse_loss(net(x), y);
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
  }
  expect(last < 0.05, "the loss is " + std::to_string(last));
}

TEST("an autoencoder of a distribution") {
  manual_seed(0);
  nn::Linear encoder(4, 4), decoder(2, 4);
  const auto parts = chunk(encoder(randn({8, 4})), 2, 1);
  const distributions::Normal posterior(parts[0], exp(0.5 * parts[1])), prior(0.0, 1.0);
  const Tensor loss = decoder(posterior.rsample()).pow(2).mean() + kl_divergence(posterior, prior).mean();
  loss.backward();
  expect_greater(encoder.weight.grad().abs().sum().item<double>(), 0);
}

TEST("a checkpoint of a model and its optimizer goes on as if nothing had happened") {
  const TestFolder folder;
  const auto step = [](nn::Linear& net, optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    net(ones({1, 2})).pow(2).sum().backward();
    optimizer.step();
  };
  nn::Linear net(2, 2);
  optim::Adam optimizer(nn::parameters(net), {.lr = 0.1});
  step(net, optimizer);
  save(net, folder.file("n"));
  save(optimizer, folder.file("o"));
  step(net, optimizer);
  nn::Linear other(2, 2);
  optim::Adam restored(nn::parameters(other), {.lr = 0.1});
  load(other, folder.file("n"));
  load(restored, folder.file("o"));
  step(other, restored);
  expect_equal(equal(other.weight, net.weight), true);
}
