// One capture for many sizes: its symbols, its guards, and recaptures.
#include <fulgurite/fulgurite.h>

#include "compiled_autograd/log_text.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

float summed_gradient(int64_t n) {
  const Tensor x = arange(0, n, 1, {.dtype = Dtype::f32}).requires_grad_();
  sum(x * x).backward();
  return sum(x.grad()).item<float>();
}

// A layer, a reshape, a concatenation, a normalization and a loss, on a batch.
Tensor network(const Tensor& x, const std::vector<Tensor>& weights) {
  const Tensor hidden = nn::gelu(nn::linear(x, weights[0], weights[1]));
  const Tensor both = cat({hidden, tanh(hidden)}, 1);
  const Tensor heads = reshape(both, {x.size(0), 2, -1});
  const Tensor normalized = nn::layer_norm(transpose(heads, 1, 2), {2});
  return mean(nn::softmax(reshape(normalized, {x.size(0), -1}), 1) * arange(0, 12, 1, {.dtype = Dtype::f32}));
}

std::vector<Tensor> network_weights() {
  manual_seed(3);
  const Tensor weight = randn({6, 5}).requires_grad_(), bias = randn({6}).requires_grad_();
  return {weight, bias};
}

// The gradients of a random batch and of the weights, concatenated.
template <class Loss>
std::vector<float> gradients_of(int64_t batch, const std::vector<Tensor>& weights, const Loss& loss) {
  manual_seed(batch);
  const Tensor x = randn({batch, 5}).requires_grad_();
  loss(x).backward();
  std::vector<float> all;
  for (const Tensor& t : {x, weights[0], weights[1]}) {
    for (const float value : values(t.grad())) all.push_back(value);
    t.set_grad({});
  }
  return all;
}

}  // namespace

TEST("one capture serves sizes that change, 1 and 0 among them") {
  compiled_autograd::reset();
  {
    const auto scope = compiled_autograd::enable();
    for (const auto& [n, expected] :
         {std::pair{10, 90.0f}, {100, 9900.0f}, {10, 90.0f}, {1, 0.0f}, {0, 0.0f}, {7, 42.0f}})
      expect_equal(summed_gradient(n), expected);
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.dynamic = false});
  for (const auto& [n, expected] :
       {std::pair{10, 90.0f}, {100, 9900.0f}, {10, 90.0f}, {1, 0.0f}, {0, 0.0f}, {7, 42.0f}})
    expect_equal(summed_gradient(n), expected);
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("forty batch sizes of a network need one capture, and give the engine's gradients") {
  const std::vector<Tensor> weights = network_weights();
  const auto gradients = [&](int64_t batch) {
    return gradients_of(batch, weights, [&](Tensor x) { return network(x, weights); });
  };
  compiled_autograd::reset();
  for (int64_t batch = 3; batch < 43; ++batch) {
    const std::vector<float> expected = gradients(batch);
    const auto scope = compiled_autograd::enable({.executors = {"eager"}});
    expect_equal(gradients(batch), expected);
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("sizes are arguments of the trace, and what is computed of them is in it") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  const Tensor x = randn({3, 4}).requires_grad_();
  mean(x * 2).backward();
  const Trace trace = compiled_autograd::last_traces().front();
  const std::string text = print(trace, {.time = false, .source = false});
  expect_text(text.substr(text.find("void compiled_backward")), R"(
void compiled_backward(Tensor gradient_0, Tensor leaf_0, Int size_0, Int size_1) {
  // gradient_0: "cpu f32[]"
  // leaf_0: "cpu f32[size_0=3, size_1=4]"
  // size_0: "int 3"
  // size_1: "int 4"

  // MeanBackward0 (NodeCall 1)
  auto t0 = reshape(gradient_0, {1, 1});  // t0: "cpu f32[1, 1]"
  auto t1 = expand(t0, {size_0, size_1});  // t1: "cpu f32[size_0=3, size_1=4]"
  auto i2 = 1 * size_0;  // i2: "int 3"
  auto i3 = i2 * size_1;  // i3: "int 12"
  auto t4 = div(t1, i3);  // t4: "cpu f32[size_0=3, size_1=4]"

  // MulBackward0 (NodeCall 2)
  auto t5 = mul(t4, 2);  // t5: "cpu f32[size_0=3, size_1=4]"

  // AccumulateGrad (NodeCall 3)
  compiled_autograd::accumulate_grad_(0, leaf_0, t5);  // engine
  compiled_autograd::_exec_final_callbacks_stub(1);  // engine
  return;
}
)");
}

TEST("sizes that were one and are not any more are captured again, once") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  const auto run = [](int64_t rows, int64_t columns) {
    const Tensor x = ones({rows, columns}).requires_grad_();
    sum(x.sum(0) * 3).backward();
    expect_near(values(x.grad()), std::vector<float>(static_cast<size_t>(rows * columns), 3));
  };
  run(4, 4);
  run(5, 5);
  expect_equal(compiled_autograd::captures(), int64_t{1});
  run(4, 6);
  run(7, 4);
  run(1, 9);
  run(4, 4);
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("a rule that asks about a size guards its answer") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  // For one row the sizes of the sum broadcast, for more they do not.
  const auto run = [](int64_t rows) {
    const Tensor x = ones({rows, 2}).requires_grad_(), y = ones({3, 2}).requires_grad_();
    sum(x + y).backward();
    expect_near(values(x.grad()), std::vector<float>(static_cast<size_t>(rows) * 2, rows == 1 ? 3.0f : 1.0f));
  };
  run(3);
  run(1);
  run(3);
  run(1);
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("custom functions, hooks and views have sizes that are symbols") {
  struct Twice {
    static Tensor forward(autograd::Context&, Tensor x) { return x * 2; }
    static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 2; }
  };
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  for (const int64_t n : {5, 8, 3}) {
    const Tensor x = ones({n, 3}).requires_grad_();
    x.register_hook([](const Tensor& gradient) { return gradient + 1; });
    sum(autograd::apply<Twice>(x.transpose(0, 1)) * 3).backward();
    expect_near(values(x.grad()), std::vector<float>(static_cast<size_t>(n) * 3, 7));
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("forty batch sizes of a jitted function with symbols for sizes need one capture") {
  const std::vector<Tensor> weights = network_weights();
  const auto f = jit([](Tensor x, Tensor weight, Tensor bias) { return tanh(nn::linear(x, weight, bias)) * x.size(0); },
                     {.cache = Cache::symbolic_values});
  const auto gradients = [&](int64_t batch) {
    return gradients_of(batch, weights, [&](Tensor x) {
      const Tensor y = f(x, weights[0], weights[1]);
      return mean(y * y);
    });
  };
  compiled_autograd::reset();
  for (int64_t batch = 7; batch < 47; ++batch) {
    const std::vector<float> expected = gradients(batch);
    const auto scope = compiled_autograd::enable({.executors = {"eager"}});
    expect_near(gradients(batch), expected, 1e-5);
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
  const Trace trace = compiled_autograd::last_traces().front();
  const std::string text = print(trace, {.time = false, .source = false});
  expect_text(test::lines_with(text, "aot0_"), R"(
  auto aot0_t13 = mul(t22, size_0);  // aot0_t13: "cpu f32[size_0=7, size_1=6]"
  auto aot0_t14 = mul(saved_1, saved_1);  // aot0_t14: "cpu f32[size_0=7, size_1=6]"
  auto aot0_t15 = sub(1, aot0_t14);  // aot0_t15: "cpu f32[size_0=7, size_1=6]"
  auto aot0_t16 = mul(aot0_t13, aot0_t15);  // aot0_t16: "cpu f32[size_0=7, size_1=6]"
  auto aot0_t18 = matmul(aot0_t16, saved_2);  // aot0_t18: "cpu f32[size_0=7, size_2=5]"
  compiled_autograd::accumulate_grad_(0, leaf_0, aot0_t18);  // engine
  auto aot0_t20 = reshape(aot0_t16, {-1, size_1});  // aot0_t20: "cpu f32[size_0=7, size_1=6]"
  auto aot0_t21 = permute(aot0_t20, {1, 0});  // aot0_t21: "cpu f32[size_1=6, size_0=7]"
  auto aot0_t29 = reshape(saved_3, {-1, size_2});  // aot0_t29: "cpu f32[size_0=7, size_2=5]"
  auto aot0_t31 = matmul(aot0_t21, aot0_t29);  // aot0_t31: "cpu f32[size_1=6, size_2=5]"
  compiled_autograd::accumulate_grad_(1, leaf_1, aot0_t31);  // engine
  auto aot0_t32 = sum(aot0_t20, {0});  // aot0_t32: "cpu f32[size_1=6]"
  compiled_autograd::accumulate_grad_(2, leaf_2, aot0_t32);  // engine
)");
}
