// The time of recording, transforming and planning, without running a kernel: one JSON line for each case and metric,
// in CPU milliseconds, the minimum of several fresh compiles.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "pipeline/pipeline.h"

namespace fulgurite {

namespace {

double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

void report(const std::string& bench_case, const char* metric, double value) {
  std::printf("{\"case\": \"%s\", \"metric\": \"%s\", \"value\": %.4g}\n", bench_case.c_str(), metric, value);
  std::fflush(stdout);
}

/// Milliseconds of a compile: in total, and of its recording.
struct Compile {
  double total = 0, tracing = 0;
  size_t symbols = 0;  // in the programs
};

// Compiles as jit does without named executors: kernels are planned only where they may be profitable.
Compile compile_once(const std::function<Trace()>& record, bool differentiate, bool fuses_all = false) {
  Compile out;
  PipelineOptions options;
  options.fuses_all = fuses_all;
  const double start = cpu_milliseconds();
  const Trace recorded = record();
  out.tracing = cpu_milliseconds() - start;
  const CompiledFunction compiled = compile(recorded, differentiate, options);
  out.total = cpu_milliseconds() - start;
  out.symbols = compiled.forward->trace().bound_symbols.size();
  if (compiled.backward) out.symbols += compiled.backward->trace().bound_symbols.size();
  return out;
}

double measure(const std::string& bench_case, int repetitions, bool differentiate,
               const std::function<Trace()>& record) {
  Compile best = compile_once(record, differentiate);
  for (int i = 1; i < repetitions; ++i) {
    const Compile next = compile_once(record, differentiate);
    if (next.total < best.total) best = next;
  }
  report(bench_case, "symbols", static_cast<double>(best.symbols));
  report(bench_case, "tracing_ms", best.tracing);
  report(bench_case, "total_ms", best.total);
  return best.total;
}

Tensor three_operators(Tensor x, Tensor y) { return exp(x + y) * y; }

Compile compile_chain(int operators, bool fuses_all = false) {
  const Tensor x = rand({4, 4}, {.requires_grad = true});
  const Tensor weight = rand({4}, {.requires_grad = true});
  const auto chain = [operators](Tensor x, Tensor weight) {
    for (int i = 0; i < operators / 3; ++i) {
      x = x * weight;
      x = sin(x);
      x = x + weight;
    }
    return x;
  };
  return compile_once([&] { return trace(chain, x, weight); }, true, fuses_all);
}

/// A chain and one four times as long, alternately, so that a slow moment of the machine affects both: the minimum of
/// several compiles.
void measure_chains(const char* metric, int repetitions, double (*milliseconds)(int operators)) {
  const int operators[] = {1200, 4800};
  double best[2] = {};
  for (int i = 0; i < repetitions; ++i) {
    for (int which = 0; which < 2; ++which) {
      const double next = milliseconds(operators[which]);
      best[which] = i == 0 ? next : std::min(best[which], next);
    }
  }
  for (int which = 0; which < 2; ++which)
    report("chain_" + std::to_string(operators[which]), (std::string(metric) + "_ms").c_str(), best[which]);
  report("chain_4800", (std::string(metric) + "_times_chain_1200").c_str(), best[1] / best[0]);
}

/// The first compile of a process, whose memory is all new to it. To be called before this one has done anything.
double first_compile_of_process(int operators) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const double total = compile_chain(operators).total;
    _exit(write(ends[1], &total, sizeof total) == sizeof total ? 0 : 1);
  }
  double total = 0;
  if (child < 0 || read(ends[0], &total, sizeof total) != sizeof total) std::exit(1);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return total;
}

Tensor tokens_of(int64_t batch, int64_t length, int64_t vocabulary) { return randint(0, vocabulary, {batch, length}); }

void measure_gpt(int64_t layers) {
  const models::Gpt model =
      models::make_gpt({.vocabulary = 65, .layers = layers, .heads = 4, .width = 64, .block = 32, .bias = true});
  const Tensor tokens = tokens_of(2, 32, 65), targets = tokens_of(2, 32, 65);
  const auto loss = [](models::Gpt model, Tensor x, Tensor y) { return model.loss(x, y); };
  measure("gpt_" + std::to_string(layers) + "_layers", 10, true, [&] { return trace(loss, model, tokens, targets); });
}

// The full step of `fulgurite train`: gradients, clipping and the optimizer's writes in one trace.
void measure_training_step(int64_t layers) {
  const models::Gpt model =
      models::make_gpt({.vocabulary = 65, .layers = layers, .heads = 4, .width = 64, .block = 32, .bias = false});
  const Tensor tokens = tokens_of(2, 32, 65), targets = tokens_of(2, 32, 65);
  optim::AdamW optimizer(optim::decay_matrices_only(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.1}));
  const auto step = [&](Tensor x, Tensor y) {
    const auto loss_of = [](models::Gpt model, Tensor x, Tensor y) { return model.loss(x, y); };
    const auto [loss, gradients] = value_and_grad<0>(loss_of)(model, x, y);
    std::vector<Tensor> flat;
    for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
      if (gradient.defined()) flat.push_back(gradient);
    flat = optim::clip_grad_norm(flat, 1.0).first;
    optimizer.step(nn::parameters(model), flat);
    return loss;
  };
  const NoGrad no_grad;  // gradients are part of the step
  const std::string name = "training_step_" + std::to_string(layers) + "_layers";
  measure(name, 10, false, [&] { return trace(step, tokens, targets); });
  double jitted = 0;
  for (int i = 0; i < 5; ++i) {
    const auto compiled = jit(step);
    compiled(tokens, targets);
    const double total = compile_stats(compiled).total;
    jitted = i == 0 ? total : std::min(jitted, total);
  }
  report(name, "jit_wall_ms", jitted);  // with guards and prologue
}

void measure_all() {
  measure_chains("first", 20, first_compile_of_process);
  const Tensor x = rand({4, 4}), y = rand({4, 4});
  measure("three_operators", 200, false, [&] { return trace(three_operators, x, y); });
  const Tensor x_grad = rand({4, 4}, {.requires_grad = true});
  measure("three_operators_gradient", 200, true, [&] { return trace(three_operators, x_grad, y); });
  measure_chains("total", 20, [](int operators) { return compile_chain(operators).total; });
  measure_chains("fused", 5, [](int operators) { return compile_chain(operators, true).total; });
  measure_gpt(4);
  measure_gpt(12);
  measure_training_step(4);
  measure_training_step(12);
}

}  // namespace

}  // namespace fulgurite

int main() { fulgurite::measure_all(); }
