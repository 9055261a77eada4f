#include "cli/example_models.h"

#include <dlfcn.h>

#include <filesystem>

#include <fulgurite/exported_function.h>
#include <fulgurite/fulgurite.h>
#include <fulgurite/models/convnet.h>
#include <fulgurite/models/llama.h>

#include "cli/called_example.h"
#include "cli/flags.h"
#include "cli/folder_examples.h"
#include "cli/train/gpt_run.h"
#include "support/text/similar_names.h"

namespace fulgurite::cli {

namespace {

struct LinearModel {
  nn::Linear linear{100, 10, false};
  Tensor operator()(Tensor x) const { return linear(x); }
};

struct MlpModel {
  nn::Linear first{64, 256}, second{256, 64};
  Tensor operator()(Tensor x) const { return second(gelu(first(x))); }
};

// The library stays open: its functions are called as long as the process lives.
Example exported(const Subject& subject, const JitOptions& options, bool runs_backward) {
  // A name without a folder is searched on the loader's path.
  const std::string path =
      std::filesystem::exists(subject.library) ? std::filesystem::absolute(subject.library).string() : subject.library;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw UserError(std::string("the library cannot be opened: ") + dlerror());
  const auto fill = reinterpret_cast<void (*)(ExportedFunction&)>(dlsym(library, subject.name.c_str()));
  if (!fill)
    throw UserError(subject.library + " exports no function " + subject.name + "; see fulgurite/exported_function.h");
  manual_seed(1337);
  ExportedFunction made(options, runs_backward);
  fill(made);
  if (!made.function()) throw UserError("the function " + subject.name + " of " + subject.library + " set nothing");
  return {*made.function(), made.call()};
}

}  // namespace

Example make_example(const Subject& subject, const JitOptions& options, bool runs_backward) {
  if (!subject.library.empty()) return exported(subject, options, runs_backward);
  const std::string& name = subject.name;
  const auto called = [&](auto callable, const auto&... arguments) {
    return called_example(std::move(callable), options, runs_backward, arguments...);
  };
  const auto gpt = [&](const models::GptOptions& sizes, int64_t batch) {
    const auto loss = [](models::Gpt model, Tensor tokens, Tensor targets) { return model.loss(tokens, targets); };
    const models::Gpt model = models::make_gpt(sizes);
    const Tensor tokens = randint(0, sizes.vocabulary, {batch, sizes.block}),
                 targets = randint(0, sizes.vocabulary, {batch, sizes.block});
    return called(loss, model, tokens, targets);
  };
  manual_seed(1337);
  if (name == "linear") return called(LinearModel{}, randn({10, 100}));
  if (name == "mlp") return called(MlpModel{}, randn({16, 64}));
  if (name == "gpt") return gpt({.vocabulary = 65, .layers = 2, .heads = 4, .width = 64, .block = 32}, 2);
  if (name == "gpt6l")
    return gpt({.vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true, .tanh_gelu = true},
               8);
  if (name == "gpt12l")
    return gpt(
        {.vocabulary = 65, .layers = 12, .heads = 6, .width = 192, .block = 128, .bias = true, .tanh_gelu = true}, 4);
  if (name == "llama") {
    const models::Llama model = models::make_llama(
        {.vocabulary = 65, .layers = 2, .heads = 4, .key_value_heads = 2, .width = 64, .hidden = 172, .block = 32});
    const auto loss = [](models::Llama llama, Tensor tokens, Tensor targets) { return llama.loss(tokens, targets); };
    const Tensor tokens = randint(0, 65, {2, 32}), targets = randint(0, 65, {2, 32});
    return called(loss, model, tokens, targets);
  }
  if (name == "convnet") {
    const models::Convnet model = models::make_convnet({.width = 8});
    const auto loss = [](models::Convnet convnet, Tensor images, Tensor classes) {
      return convnet.loss(images, classes);
    };
    return called(loss, model, randn({4, 1, 16, 16}), randint(0, 10, {4}));
  }
  if (is_model_folder(name)) return make_folder_example(name, options, runs_backward);
  const std::string hint = suggestion(similar_names(name, {{"linear", "linear"},
                                                           {"mlp", "mlp"},
                                                           {"gpt", "gpt"},
                                                           {"gpt6l", "gpt6l"},
                                                           {"gpt12l", "gpt12l"},
                                                           {"llama", "llama"},
                                                           {"convnet", "convnet"}}));
  throw WrongUse("there is no example model " + name +
                 (hint.empty()
                      ? "; there are linear, mlp, gpt, gpt6l, gpt12l, llama, convnet, and folders with a config.json"
                      : hint));
}

Jitted run_example(const Subject& subject, const JitOptions& options, bool runs_backward) {
  const Example example = make_example(subject, options, runs_backward);
  example.step();
  return example.function;
}

}  // namespace fulgurite::cli
