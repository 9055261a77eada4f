// The overhead of a captured backward beside its kernels, one thread: finding it, finding it and running it, beside the
// eager engine on the same graph, and capturing it. One JSON line for each case; the minimum of several rounds, in
// microseconds. Before all that, the first captured backward of the process, in milliseconds: the number of its
// fusions, whose kernels the host compiles, and the time that the GEMM library took before to generate its own kernels,
// once per process.
// usage: bench_compiled_backward [gpt6l]
//   gpt6l   instead: the backward of a GPT with an eager forward, 6 layers, 6 heads, width 384, 8 sequences of 256
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "autograd/engine/tensor_autograd.h"
#include "compiled_autograd/captures.h"

namespace fulgurite {

namespace {

using Clock = std::chrono::steady_clock;
double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double min_backward(const std::function<Tensor()>& forward, const std::vector<Tensor>& leaves, int rounds,
                    bool forgets) {
  double least = 1e30;
  for (int round = 0; round < rounds; ++round) {
    if (forgets) compiled_autograd::reset();
    const Tensor loss = forward();
    const auto start = Clock::now();
    loss.backward();
    least = std::min(least, microseconds_since(start));
    for (const Tensor& leaf : leaves) leaf.set_grad({});
  }
  return least;
}

// All that is done for a backward that has been captured, but running it.
double min_lookup(const std::function<Tensor()>& forward, const std::vector<Tensor>& leaves, int rounds) {
  const Tensor loss = forward();
  loss.backward({}, {.retain_graph = true});
  for (const Tensor& leaf : leaves) leaf.set_grad({});
  BackwardCall call;
  call.roots = {gradient_edge(loss)};
  call.gradients = {ones_like(loss)};
  double least = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    BackwardGraph graph(call);
    const std::vector<Tensor> inputs = gather_inputs(call, graph);
    const auto found = Captures::all().find(backward_key(call, graph, inputs, {}));
    least = std::min(least, microseconds_since(start));
    if (!found) std::fprintf(stderr, "the capture was not found\n");
  }
  return least;
}

void measure(const char* name, int nodes, const std::function<Tensor()>& forward, const std::vector<Tensor>& leaves,
             int rounds) {
  const double eager = min_backward(forward, leaves, rounds, false);
  const auto scope = compiled_autograd::enable();
  const double capture = min_backward(forward, leaves, 10, true);
  const double compiled = min_backward(forward, leaves, rounds, false);
  const double lookup = min_lookup(forward, leaves, rounds);
  std::printf(
      "{\"case\": \"%s\", \"nodes\": %d, \"eager_us\": %.4g, \"compiled_us\": %.4g, \"lookup_us_per_node\": %.3g, "
      "\"capture_us_per_node\": %.4g}\n",
      name, nodes, eager, compiled, lookup / nodes, capture / nodes);
  std::fflush(stdout);
}

std::vector<Tensor> layers(int count, int64_t width) {
  std::vector<Tensor> weights;
  for (int i = 0; i < count; ++i) {
    weights.push_back((randn({width, width}) * 0.1).requires_grad_());
    weights.push_back(zeros({width}).requires_grad_());
  }
  return weights;
}

void measure_first(const std::function<Tensor()>& forward, const std::vector<Tensor>& leaves) {
  const Tensor loss = forward();
  const Tensor rows = ones({8, 16}), columns = ones({8, 4});
  const auto before = Clock::now();
  matmul(columns.transpose(0, 1), rows);
  matmul(columns, ones({4, 16}));
  matmul(rows.transpose(0, 1), rows);
  const double library = microseconds_since(before) / 1e3;
  const auto scope = compiled_autograd::enable();
  const auto start = Clock::now();
  loss.backward();
  const double milliseconds = microseconds_since(start) / 1e3;
  const Trace trace = compiled_autograd::last_traces().back();
  const auto is_fusion = [](const BoundSymbol& line) { return line.is_fusion(); };
  const auto fusions = std::count_if(trace.bound_symbols.begin(), trace.bound_symbols.end(), is_fusion);
  std::printf(
      "{\"case\": \"mlp 16-16-4, batch 8, first call\", \"first_ms\": %.4g, \"fusions\": %lld, "
      "\"library_kernels_ms\": %.4g}\n",
      milliseconds, static_cast<long long>(fusions), library);
  for (const Tensor& leaf : leaves) leaf.set_grad({});
}

void measure_all() {
  const Tensor w1 = randn({16, 16}).requires_grad_(), b1 = zeros({16}).requires_grad_();
  const Tensor w2 = randn({4, 16}).requires_grad_(), b2 = zeros({4}).requires_grad_(), small = randn({8, 16});
  const auto mlp = [&] { return sum(nn::linear(relu(nn::linear(small, w1, b1)), w2, b2)); };
  measure_first(mlp, {w1, b1, w2, b2});
  measure("mlp 16-16-4, batch 8", 8, mlp, {w1, b1, w2, b2}, 2000);

  const std::vector<Tensor> weights = layers(10, 64);
  const Tensor x = randn({32, 64});
  for (const Tensor& weight : weights) weight.register_post_accumulate_grad_hook([](Tensor) {});
  const auto deep = [&] {
    Tensor y = x;
    for (size_t i = 0; i < weights.size(); i += 2) y = relu(nn::linear(y, weights[i], weights[i + 1]));
    return sum(y);
  };
  measure("ten layers of 64, batch 32, 20 hooks", 41, deep, weights, 300);

  for (const int length : {10, 100, 400}) {
    const Tensor t = (ones({4}) * 0.5).requires_grad_();
    const auto chain = [&] {
      Tensor y = t;
      for (int i = 0; i < length; ++i) y = sin(y);
      return sum(y);
    };
    measure(("chain of " + std::to_string(length) + " sines").c_str(), length + 2, chain, {t}, 300);
  }
}

void measure_gpt() {
  manual_seed(0);
  models::Gpt model =
      models::make_gpt({.vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true});
  const std::vector<Tensor> leaves = nn::parameters(model);
  const Tensor tokens = randint(0, 65, {8, 256}), targets = randint(0, 65, {8, 256});
  const auto forward = [&] { return model.loss(tokens, targets); };
  double eager = 1e30, compiled = 1e30;
  for (int round = 0; round < 6; ++round) {
    eager = std::min(eager, min_backward(forward, leaves, 1, false));
    const auto scope = compiled_autograd::enable();
    compiled = std::min(compiled, min_backward(forward, leaves, 1, false));
  }
  std::printf("{\"case\": \"gpt6l\", \"eager_ms\": %.4g, \"compiled_ms\": %.4g, \"captures\": %lld}\n", eager / 1e3,
              compiled / 1e3, static_cast<long long>(compiled_autograd::captures()));
}

}  // namespace

}  // namespace fulgurite

int main(int count, char** arguments) {
  fulgurite::set_num_threads(1);
  if (count > 1 && std::string(arguments[1]) == "gpt6l") fulgurite::measure_gpt();
  else fulgurite::measure_all();
}
