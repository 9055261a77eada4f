// Random pairs of cut points of a GPT's training step: the piece between them runs alone, as it was claimed and on eager, and must give what
// the whole run had there.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "ir/trace_values.h"
#include "pipeline/compare_tensors.h"

using namespace fulgurite;

namespace {

struct Options {
  int64_t pairs = 200, batch = 8, seed = 0;
  bool small = false;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const auto number = [&] { return i + 1 < count ? std::atoll(arguments[++i]) : 0; };
    if (std::strcmp(arguments[i], "--pairs") == 0) options.pairs = number();
    else if (std::strcmp(arguments[i], "--batch") == 0) options.batch = number();
    else if (std::strcmp(arguments[i], "--seed") == 0) options.seed = number();
    else if (std::strcmp(arguments[i], "--small") == 0) options.small = true;
    else std::exit((std::fprintf(stderr, "usage: random_slices [--pairs N] [--batch N] [--seed N] [--small]\n"), 2));
  }
  return options;
}

// The step as it ran: forward, backward and the optimizer in one trace.
Trace step_of(const Options& options) {
  const models::GptOptions sizes = options.small ? models::GptOptions{.vocabulary = 65, .layers = 2, .heads = 2, .width = 32, .block = 16, .bias = true}
                                                 : models::GptOptions{.vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true};
  models::Gpt model = models::make_gpt(sizes);
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.1});
  auto step = jit(
      [&](Tensor tokens, Tensor targets) {
        const auto loss_of = [](models::Gpt m, Tensor x, Tensor y) { return m.loss(x, y); };
        const auto [loss, gradients] = value_and_grad<0>(loss_of)(model, tokens, targets);
        std::vector<Tensor> flat;
        for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
          if (gradient.defined()) flat.push_back(gradient);
        optimizer.step(nn::parameters(model), flat);
        return loss;
      },
      {.executors = {"onednn", "fuser"}});
  const NoGrad no_grad;
  const Tensor tokens = randint(0, 65, {options.batch, sizes.block}), targets = randint(0, 65, {options.batch, sizes.block});
  step(tokens, targets);
  return last_traces(step).back();
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.clone());
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  manual_seed(static_cast<uint64_t>(options.seed));
  const Trace step = step_of(options);
  // Small and not negative, because some are second moments.
  std::vector<Tensor> inputs = examine::make_inputs(step, {}, static_cast<uint64_t>(options.seed));
  for (Tensor& input : inputs)
    if (input.dtype() == Dtype::f32) input = input * input * 0.02;
  const std::map<std::string, Tensor> values = examine::run_lines(step, inputs);
  const int lines = static_cast<int>(step.bound_symbols.size());
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 1);
  int failures = 0;
  int64_t results = 0;
  for (int64_t pair = 0; pair < options.pairs; ++pair) {
    const int a = static_cast<int>(random() % static_cast<uint32_t>(lines)), b = static_cast<int>(random() % static_cast<uint32_t>(lines));
    const int first = std::min(a, b), last = std::max(a, b) + 1;
    const Trace piece = examine::slice(step, first, last);
    std::vector<Tensor> given;
    for (const Value& arg : piece.args) given.push_back(values.at(arg.tensor().name));
    const std::vector<Value> made = returned_values(piece);
    for (const bool on_eager : {false, true}) {
      const std::vector<std::string> executors = on_eager ? std::vector<std::string>{"eager"} : std::vector<std::string>{};
      const std::vector<Tensor> got = examine::run_slice(step, first, last, copies(given), executors);
      for (size_t k = 0; k < got.size(); ++k, ++results) {
        const Tensor& wanted = values.at(made[k].tensor().name);
        const AllowedDifference allowed = on_eager && is_floating(wanted.dtype()) ? AllowedDifference{1e-3, 1e-3} : AllowedDifference{};
        const auto found = find_difference(got[k], wanted, allowed);
        if (!found) continue;
        ++failures;
        std::printf("lines [%d, %d) %s: %s: element %zu is %.9g, and %.9g in the whole run\n", first, last, on_eager ? "on eager" : "as claimed",
                    made[k].tensor().name.c_str(), found->index, found->actual, found->expected);
      }
    }
  }
  std::printf("%lld pairs of cut points of %d lines, %lld results compared, %d differ\n", static_cast<long long>(options.pairs), lines,
              static_cast<long long>(results), failures);
  return failures == 0 ? 0 : 1;
}
