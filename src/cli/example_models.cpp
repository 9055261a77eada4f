#include "cli/example_models.h"

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/convnet.h>
#include <fulgurite/models/llama.h>

#include "cli/gpt_run.h"

namespace fulgurite::cli {

namespace {

template <class F, class... A>
Jitted call_once(F callable, const JitOptions& options, bool runs_backward, const A&... arguments) {
  const auto f = jit(std::move(callable), options);
  const Tensor result = f(arguments...);
  if (runs_backward) sum(result).backward();
  return f;
}

struct LinearModel {
  nn::Linear linear{100, 10, false};
  Tensor operator()(Tensor x) const { return linear(x); }
};

struct MlpModel {
  nn::Linear first{64, 256}, second{256, 64};
  Tensor operator()(Tensor x) const { return second(gelu(first(x))); }
};

}  // namespace

Jitted run_example(const std::string& name, const JitOptions& options, bool runs_backward) {
  const auto called = [&](auto callable, const auto&... arguments) { return call_once(std::move(callable), options, runs_backward, arguments...); };
  manual_seed(1337);
  if (name == "linear") return called(LinearModel{}, randn({10, 100}));
  if (name == "mlp") return called(MlpModel{}, randn({16, 64}));
  if (name == "gpt") {
    const models::Gpt model = models::make_gpt({.vocabulary = 65, .layers = 2, .heads = 4, .width = 64, .block = 32});
    const auto loss = [](models::Gpt gpt, Tensor tokens, Tensor targets) { return gpt.loss(tokens, targets); };
    const Tensor tokens = randint(0, 65, {2, 32}), targets = randint(0, 65, {2, 32});
    return called(loss, model, tokens, targets);
  }
  if (name == "llama") {
    const models::Llama model = models::make_llama({.vocabulary = 65, .layers = 2, .heads = 4, .key_value_heads = 2, .width = 64,
                                                    .hidden = 172, .block = 32});
    const auto loss = [](models::Llama llama, Tensor tokens, Tensor targets) { return llama.loss(tokens, targets); };
    const Tensor tokens = randint(0, 65, {2, 32}), targets = randint(0, 65, {2, 32});
    return called(loss, model, tokens, targets);
  }
  if (name == "convnet") {
    const models::Convnet model = models::make_convnet({.width = 8});
    const auto loss = [](models::Convnet convnet, Tensor images, Tensor classes) { return convnet.loss(images, classes); };
    return called(loss, model, randn({4, 1, 16, 16}), randint(0, 10, {4}));
  }
  throw UserError("there is no example model " + name + "; there are linear, mlp, gpt, llama and convnet");
}

}  // namespace fulgurite::cli
