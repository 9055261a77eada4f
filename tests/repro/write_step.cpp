// Writes a repro program for every fusion and every GEMM of a GPT's training step, and the time of each in the step,
// for run_step.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "examine/fusions/find_fusion.h"
#include "examine/profile/quantile.h"
#include "fuzz/training_step.h"
#include "runtime/plan/execution_plan.h"
#include "runtime/step_clock.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Options {
  StepOptions step;
  int64_t runs = 20;
  std::filesystem::path folder;
};

int usage() {
  std::fprintf(stderr, "usage: write_step FOLDER [--bf16] [--divided] [--small] [--runs N]\n");
  return 2;
}

bool parse(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const auto is = [&](const char* name) { return std::strcmp(arguments[i], name) == 0; };
    if (is("--bf16")) options.step.is_bf16 = true;
    else if (is("--divided")) options.step.is_divided = true;
    else if (is("--small")) {
      // Large enough for the bf16 GEMM kernels.
      options.step.sizes = {
          .vocabulary = 65, .layers = 1, .heads = 4, .width = 256, .block = 64, .bias = true, .tanh_gelu = true};
      options.step.batch = 16;
      options.step.executors = default_executors();
    } else if (is("--runs") && i + 1 < count) options.runs = std::atoll(arguments[++i]);
    else if (arguments[i][0] != '-' && options.folder.empty()) options.folder = arguments[i];
    else return false;
  }
  return !options.folder.empty();
}

bool is_gemm(const BoundSymbol& bound) {
  static const char* const names[] = {"matmul", "linear", "scaled_dot_product_attention",
                                      "scaled_dot_product_attention_backward"};
  return std::ranges::any_of(names, [&](const char* name) { return bound.name() == name; });
}

/// The lower quartile of the times of the ops that a function's last call ran, in its programs, over some steps.
class LineTimes {
 public:
  explicit LineTimes(const Jitted& f) : programs_(examine::programs_of_last_call(f, "write_step")) {
    for (size_t p = 0; p < programs_.size(); ++p) clocks_.push_back(std::make_shared<StepClock>());
  }
  void measure(const std::function<void()>& step) {
    for (size_t p = 0; p < programs_.size(); ++p) programs_[p]->time_steps(clocks_[p]);
    step();
    for (size_t p = 0; p < programs_.size(); ++p) {
      programs_[p]->time_steps(nullptr);
      for (const StepClock::Run& run : clocks_[p]->take()) take(programs_[p]->plan(), run);
    }
  }
  /// Microseconds.
  double of(const Trace& trace, const BoundSymbol& bound) const {
    return examine::quantile(times_.at(key_of(trace, bound)), 0.25);
  }

 private:
  void take(const ExecutionPlan& plan, const StepClock::Run& run) {
    int64_t before = run.began;
    for (size_t i = 0; i < run.done.size(); ++i) {
      const BoundSymbol* const bound = plan.steps[i].bound;
      if (bound && !bound->outputs.empty() && bound->outputs.read()[0].is_tensor())
        times_[key_of(plan.trace, *bound)].push_back(1e-3 * static_cast<double>(run.done[i] - before));
      before = run.done[i];
    }
  }

  std::vector<std::shared_ptr<const Program>> programs_;
  std::vector<std::shared_ptr<StepClock>> clocks_;
  // A value that the backward recomputes has the name that it has in the forward.
  using Key = std::pair<std::string, std::string>;
  static Key key_of(const Trace& trace, const BoundSymbol& bound) {
    return {trace.name, bound.outputs.read()[0].tensor().name};
  }
  std::map<Key, std::vector<double>> times_;  // microseconds, by the trace and the value that a line makes first
};

class Writer {
 public:
  Writer(const Options& options, const Jitted& f, const LineTimes& times) : options_(options), f_(f), times_(times) {}

  void write(const Trace& trace, examine::Stage stage) {
    const std::filesystem::path folder = options_.folder / (stage == examine::Stage::forward ? "forward" : "backward");
    std::filesystem::create_directories(folder);
    const std::span<const BoundSymbol> lines = trace.bound_symbols.read();
    for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
      const BoundSymbol& bound = lines[static_cast<size_t>(i)];
      if (!bound.is_fusion() && !is_gemm(bound)) continue;
      const std::string name =
          bound.is_fusion() ? bound.name() : "lines_" + std::to_string(i) + "_" + std::to_string(i + 1);
      const std::filesystem::path file = folder / (name + ".cpp");
      std::ofstream(file) << (bound.is_fusion() ? examine::repro(f_, bound.name(), {.runs = 24})
                                                : examine::repro(f_, i, i + 1, stage, {.runs = 24}));
      std::printf("%s\t%s\t%.1f\n", file.c_str(), bound.is_fusion() ? "fusion" : bound.name().c_str(),
                  times_.of(trace, bound));
    }
  }

 private:
  const Options& options_;
  const Jitted& f_;
  const LineTimes& times_;
};

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) return usage();
  manual_seed(0);
  TrainingStep step(options.step);
  step.run();
  LineTimes times(step.function());
  for (int64_t i = 0; i < options.runs; ++i) times.measure([&] { step.run(); });
  Writer writer(options, step.function(), times);
  writer.write(last_traces(step.function()).back(), examine::Stage::forward);
  if (options.step.is_divided) writer.write(last_backward_traces(step.function()).back(), examine::Stage::backward);
  return 0;
}
