#include <cstdio>
#include <functional>

#include <fulgurite/models/convnet.h>
#include <fulgurite/models/llama.h>

#include "cli/associated_trace.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/gpt_run.h"

namespace fulgurite::cli {

namespace {

struct Stages {
  std::vector<Trace> forward, backward, prologue;
};

// Calls a jitted function once and keeps what it compiled.
template <class F, class... A>
Stages stages_of(F callable, bool associate, const A&... arguments) {
  auto f = jit(std::move(callable), {.debug = {.associate_forward = associate}});
  f(arguments...);
  return {last_traces(f), last_backward_traces(f), last_prologue_traces(f)};
}

struct LinearModel {
  nn::Linear linear{100, 10, false};
  Tensor operator()(Tensor x) const { return linear(x); }
};

struct MlpModel {
  nn::Linear first{64, 256}, second{256, 64};
  Tensor operator()(Tensor x) const { return second(gelu(first(x))); }
};

Stages run_example(const std::string& name, bool associate) {
  manual_seed(1337);
  if (name == "linear") return stages_of(LinearModel{}, associate, randn({10, 100}));
  if (name == "mlp") return stages_of(MlpModel{}, associate, randn({16, 64}));
  if (name == "gpt") {
    const models::Gpt model = models::make_gpt({.vocabulary = 65, .layers = 2, .heads = 4, .width = 64, .block = 32});
    const auto loss = [](models::Gpt gpt, Tensor tokens, Tensor targets) { return gpt.loss(tokens, targets); };
    const Tensor tokens = randint(0, 65, {2, 32}), targets = randint(0, 65, {2, 32});
    return stages_of(loss, associate, model, tokens, targets);
  }
  if (name == "llama") {
    const models::Llama model = models::make_llama({.vocabulary = 65, .layers = 2, .heads = 4, .key_value_heads = 2, .width = 64,
                                                    .hidden = 172, .block = 32});
    const auto loss = [](models::Llama llama, Tensor tokens, Tensor targets) { return llama.loss(tokens, targets); };
    const Tensor tokens = randint(0, 65, {2, 32}), targets = randint(0, 65, {2, 32});
    return stages_of(loss, associate, model, tokens, targets);
  }
  if (name == "convnet") {
    const models::Convnet model = models::make_convnet({.width = 8});
    const auto loss = [](models::Convnet convnet, Tensor images, Tensor classes) { return convnet.loss(images, classes); };
    return stages_of(loss, associate, model, randn({4, 1, 16, 16}), randint(0, 10, {4}));
  }
  throw UserError("there is no example model " + name + "; there are linear, mlp, gpt, llama and convnet");
}

}  // namespace

int trace(const std::vector<std::string>& arguments) {
  std::string model, stage, line;
  bool backward = false, python = false, cpp = false, associate = false;
  Flags flags("fulgurite trace MODEL [--stage NAME] [--backward] [--python | --cpp] [--associate] [--forward NAME]");
  flags.positional("MODEL", model, "linear, mlp, gpt, llama or convnet");
  flags.text("stage", stage, "the stage to print: a name or number that --stage list shows; the last one otherwise");
  flags.toggle("backward", backward, "the backward too");
  flags.toggle("python", python, "the Python form");
  flags.toggle("cpp", cpp, "the C++ form (unless --python)");
  flags.toggle("associate", associate,
               "each line of the forward with the lines of the backward that serve it; with --stage or --backward: name "
               "each backward line's forward operator");
  flags.text("forward", line, "the backward lines of one forward operator: a result, t7, or an operator, torch.matmul");
  if (!flags.parse(arguments)) return 0;
  if (model.empty()) throw WrongUse("a model is missing; see --help");
  if (python && cpp) throw WrongUse("give one of --python and --cpp");
  if (!line.empty() && (backward || !stage.empty())) throw WrongUse("--forward goes with neither --stage nor --backward");
  associate = associate || !line.empty();
  const Stages stages = run_example(model, associate);
  std::vector<std::pair<std::string, const Trace*>> all;
  const auto list = [&](const char* kind, const std::vector<Trace>& traces) {
    for (size_t i = 0; i < traces.size(); ++i)
      all.emplace_back(std::string(kind) + "." + std::to_string(i) + " " +
                           (traces[i].provenance.empty() ? "as recorded" : traces[i].provenance),
                       &traces[i]);
  };
  list("prologue", stages.prologue);
  list("forward", stages.forward);
  list("backward", stages.backward);
  if (stage == "list") {
    for (const auto& [name, trace] : all) std::printf("%s\n", name.c_str());
    return 0;
  }
  const PrintOptions options{.depth = 1};
  const auto print = [&](const Trace& t) { std::printf("%s\n", (python ? t.python(options) : t.cpp(options)).c_str()); };
  if (!stage.empty()) {
    for (const auto& [name, trace] : all)
      if (name == stage || name.substr(0, name.find(' ')) == stage || name.substr(name.find(' ') + 1) == stage) {
        print(*trace);
        return 0;
      }
    throw UserError("there is no stage " + stage + "; --stage list names them");
  }
  if (associate && !backward) {
    const std::string lines = side_by_side(stages.forward.back(), stages.backward.back(), line, python);
    if (lines.empty()) throw UserError("the forward of " + model + " has no line " + line);
    std::printf("%s", lines.c_str());
    return 0;
  }
  print(stages.forward.back());
  if (backward) print(stages.backward.back());
  return 0;
}

}  // namespace fulgurite::cli
