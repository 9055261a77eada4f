// A LLaMA block, and single operators with their gradients: the shapes of the peers' benchmark files.
#include <fulgurite/fulgurite.h>
#include <fulgurite/models/llama.h>

#include "cli/bench/bench.h"

namespace fulgurite::cli {

namespace {

void llama(const Report& report, double seconds) {
  constexpr int64_t width = 1024, length = 512;
  manual_seed(0);
  const models::LlamaOptions options{
      .layers = 1, .heads = 16, .key_value_heads = 16, .width = width, .hidden = 2816, .block = length};
  const models::LlamaBlock block = models::make_llama_block(options);
  // Not a structured binding: lambdas cannot capture those everywhere.
  const auto tables = models::rotary_tables(length, width / options.heads, options.rotary_base);
  const Tensor cosines = tables.first, sines = tables.second;
  const Dtype dtype = report.is_bf16() ? Dtype::bf16 : Dtype::f32;
  nn::to(block, dtype);
  const Tensor x = randn({1, length, width}).to(dtype).requires_grad_(),
               cotangent = randn({1, length, width}).to(dtype);
  const auto run = [](models::LlamaBlock layer, Tensor input, Tensor cosine, Tensor sine) {
    return layer(input, cosine, sine);
  };
  const auto forward = jit(run);
  const auto both = jit([run](models::LlamaBlock layer, Tensor input, Tensor cosine, Tensor sine, Tensor given) {
    const auto [y, pullback] = vjp(run, layer, input, cosine, sine);
    const auto [weights, inputs, of_cosine, of_sine] = pullback(given);
    return std::tuple{y, weights, inputs};
  });
  const double start = wall_seconds();
  both(block, x, cosines, sines, cotangent);
  report("first_fwdbwd_s", wall_seconds() - start);
  const NoGrad no_grad;
  Meter([&] { forward(block, x, cosines, sines); }, seconds).report(report, "fwd_");
  Meter([&] { both(block, x, cosines, sines, cotangent); }, seconds).report(report, "fwdbwd_");
}

/// The result of an operator and the gradients of its floating inputs, from the result's cotangent.
template <class Operator, class... Inputs>
void forward_and_backward(const Report& report, double seconds, Operator run, const Tensor& cotangent,
                          const Inputs&... inputs) {
  const auto both = jit([run](Tensor given, Inputs... tensors) {
    const auto [y, pullback] = vjp(run, tensors...);
    return std::pair{y, pullback(given)};
  });
  const NoGrad no_grad;
  Meter([&] { both(cotangent, inputs...); }, seconds).report(report);
}

void adamw(const Report& report, double seconds) {
  constexpr int64_t count = 50'000'000;
  Tensor parameter = randn({count}).requires_grad_();
  const Tensor gradient = randn({count});
  optim::AdamW optimizer({parameter}, {.lr = 1e-3, .weight_decay = 0.1});
  const auto step = jit([&](Tensor g) {
    optimizer.step({parameter}, {g});
    return g;
  });
  const NoGrad no_grad;
  Meter([&] { step(gradient); }, seconds).report(report);
}

}  // namespace

bool bench_layers(const Report& report, double seconds) {
  const std::string& name = report.bench_case;
  manual_seed(0);
  if (name == "llama") {
    llama(report, seconds);
  } else if (name == "gelu") {
    const Tensor x = randn({4096, 4096}).requires_grad_(), w = randn({4096}).requires_grad_(),
                 b = randn({4096}).requires_grad_();
    const auto run = [](Tensor input, Tensor scale, Tensor shift) { return nn::gelu(input * scale + shift, "tanh"); };
    forward_and_backward(report, seconds, run, randn({4096, 4096}), x, w, b);
  } else if (name == "layernorm") {
    const Tensor x = randn({8192, 1024}).requires_grad_(), w = randn({1024}).requires_grad_(),
                 b = randn({1024}).requires_grad_();
    const auto run = [](Tensor input, Tensor weight, Tensor bias) {
      return nn::layer_norm(input, {1024}, weight, bias);
    };
    forward_and_backward(report, seconds, run, randn({8192, 1024}), x, w, b);
  } else if (name == "softmax") {
    const Tensor x = randn({8192, 1024}).requires_grad_();
    forward_and_backward(
        report, seconds, [](Tensor input) { return softmax(input, -1); }, randn({8192, 1024}), x);
  } else if (name == "xent") {
    const Tensor x = randn({2048, 50257}).requires_grad_(), classes = randint(0, 50257, {2048});
    const auto run = [](Tensor scores, Tensor targets) { return nn::cross_entropy(scores, targets); };
    forward_and_backward(report, seconds, run, ones({}), x, classes);
  } else if (name == "adamw") {
    adamw(report, seconds);
  } else {
    return false;
  }
  return true;
}

}  // namespace fulgurite::cli
