#include "pipeline/pipeline.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "executors/gradient_rules.h"
#include "ir/analysis/trace_values.h"
#include "ir/custom_function.h"
#include "ir/symbolic/specialize_symbols.h"
#include "pipeline/lower_to_execution.h"
#include "pipeline/pass_list.h"
#include "transforms/cleanup/keep_results.h"
#include "transforms/grad/associate_forward.h"
#include "transforms/pass_runner.h"
#include "transforms/rematerialization/rematerialization.h"

namespace fulgurite {

namespace {

// The executable trace, with its source trace if custom functions have been replaced by their forwards on the way.
Executable executable(const Trace& last, const Trace& first, const PipelineOptions& options) {
  std::shared_ptr<const ProgramRunner> runner;
  if (options.watch) runner = options.watch->runner(last);
  if (options.watch && !runner) runner = std::make_shared<OpInterpreter>(last, options.watch);
  return {last, has_custom_functions(first) ? std::optional(first) : std::nullopt, std::move(runner)};
}

// Symbolic traces are not compiled here. Claims shown for them use the recorded sizes.
void make_programs(CompiledFunction& out, const PipelineOptions& options) {
  if (out.is_symbolic) return;
  out.forward = std::make_shared<Program>(executable(out.forward_traces.back(), out.symbolic_forward, options));
  if (!out.backward_traces.empty())
    out.backward = std::make_shared<Program>(executable(out.backward_traces.back(), out.symbolic_backward, options));
}

/// The passes of one function, up to its programs.
class Compilation {
 public:
  Compilation(const Trace& recorded, bool differentiate, const PipelineOptions& options)
      : recorded_(recorded),
        differentiate_(differentiate),
        options_(options),
        executors_(resolve_executors(options.executors)),
        forward_(out_.forward_traces, options.check_traces),
        backward_(out_.backward_traces, options.check_traces) {
    if (!options.fuses) std::erase_if(executors_, [](const Executor* e) { return e->fusing != nullptr; });
    out_.fusion_names = options.fusion_names ? options.fusion_names : std::make_shared<FusionNames>();
  }

  CompiledFunction run() {
    const std::shared_ptr<const detail::PassList> list = passes_of(options_);
    for (const detail::NamedPass& pass : list->passes) {
      if (pass.name == "choose_executors") break;
      run(pass);
    }
    choose_executors();
    lower_to_execution(out_.forward_traces, out_.forward_executors, *out_.fusion_names, options_, out_.is_symbolic);
    if (differentiate_)
      lower_to_execution(out_.backward_traces, out_.backward_executors, *out_.fusion_names, options_, out_.is_symbolic);
    make_programs(out_, options_);
    if (differentiate_ && options_.associate_forward) associate();
    return std::move(out_);
  }

 private:
  void run(const detail::NamedPass& pass) {
    if (!pass.transform) return (this->*library_pass(pass.name))();
    if (!is_split_) forward_.run(pass.name, pass.transform);
    else if (differentiate_) backward_.run(pass.name, pass.transform);
  }

  static void (Compilation::*library_pass(std::string_view name))() {
    static constexpr std::pair<std::string_view, void (Compilation::*)()> table[] = {
        {"canonical_order", &Compilation::order},
        {"keep_results", &Compilation::keep_shared_results},
        {"dce", &Compilation::eliminate_unused},
        {"cse", &Compilation::eliminate_repeated},
        {"grad", &Compilation::add_gradients},
        {"transforms", &Compilation::run_transforms},
        {"recomputation", &Compilation::choose_recomputed},
        {"split", &Compilation::split},
        {"backward_cse", &Compilation::eliminate_repeated_in_backward},
    };
    return std::ranges::find(table, name, [](const auto& entry) { return entry.first; })->second;
  }
  bool skips(const char* name) const { return options_.skip_transforms && options_.skip_transforms->contains(name); }

  void order() {
    out_.forward_traces.push_back(canonical_order(recorded_));
    out_.forward_traces.back().associate_forward = options_.associate_forward;
  }
  void keep_shared_results() {
    if (options_.kept_results)
      forward_.run("Results in Shared Memory", [&](const Trace& t) { return keep_results(t, *options_.kept_results); });
  }
  void eliminate_unused() {
    if (!skips("dce")) forward_.run("Dead Code Elimination", eliminate_dead_code);
  }
  void eliminate_repeated() {
    if (!skips("cse")) forward_.run("Common Subexpression Elimination", eliminate_common_subexpressions);
  }
  void add_gradients() {
    if (!differentiate_) return;
    const ExecutorRules rules(executors_);
    before_gradients_ = out_.forward_traces.back();
    forward_.run("Grad transform pass", [&](const Trace& t) { return grad_transform_on_trace(t, rules); });
  }
  void run_transforms() {
    for (const Transform& transform : options_.transforms) forward_.run("User transform", transform);
  }
  void choose_recomputed() {
    if (differentiate_ && !skips("recomputation"))
      forward_.run("Recomputation",
                   [&](const Trace& t) { return choose_recomputation(t, options_.recomputation, before_gradients_); });
  }
  void split() {
    is_split_ = true;
    if (!differentiate_) return;
    ForwardBackwardTraces halves = split_into_forward_and_backward(out_.forward_traces.back());
    const BoundSymbol& returned = halves.forward.bound_symbols.back();
    out_.saved_tensors = static_cast<int>(keyword(returned, "saved_tensors").list().size());
    out_.saved_numbers = static_cast<int>(keyword(returned, "saved_other").list().size());
    forward_.run("Augmented forward", [&](const Trace&) { return std::move(halves.forward); });
    backward_.run("Backward", [&](const Trace&) { return std::move(halves.backward); });
  }
  void eliminate_repeated_in_backward() {
    if (differentiate_ && !skips("cse"))
      backward_.run("Common Subexpression Elimination", eliminate_common_subexpressions);
  }

  void choose_executors() {
    out_.symbolic_forward = out_.forward_traces.back();
    out_.is_symbolic = has_numbers(out_.symbolic_forward);
    out_.forward_executors = profitable_executors(executors_, out_.symbolic_forward, options_);
    if (!differentiate_) return;
    out_.symbolic_backward = out_.backward_traces.back();
    out_.backward_executors = profitable_executors(executors_, out_.symbolic_backward, options_);
  }
  void associate() {
    const Trace last = out_.forward_traces.back();
    name_forward_ops(out_.forward_traces, last);
    name_forward_ops(out_.backward_traces, last);
  }

  const Trace& recorded_;
  const bool differentiate_;
  const PipelineOptions& options_;
  std::vector<const Executor*> executors_;
  CompiledFunction out_;
  PassRunner forward_, backward_;
  Trace before_gradients_;
  bool is_split_ = false;
};

}  // namespace

CompiledFunction compile(const Trace& recorded, bool differentiate, const PipelineOptions& options) {
  return Compilation(recorded, differentiate, options).run();
}

Trace prepare_for_execution(const Trace& trace, const PipelineOptions& options) {
  std::vector<Trace> stages{trace};
  FusionNames names;
  lower_to_execution(stages, profitable_executors(resolve_executors(options.executors), trace, options),
                     options.fusion_names ? *options.fusion_names : names, options, false);
  return stages.back();
}

Programs specialise(const std::shared_ptr<const CompiledFunction>& function, std::span<const uint64_t> values,
                    const PipelineOptions& options) {
  const auto last_trace = [function, given = std::vector(values.begin(), values.end()), options](
                              const Trace& symbolic, const std::vector<const Executor*>& executors,
                              const std::vector<char>& left_out) {
    SymbolValues numbers(given);
    std::vector<Trace> stages{specialize_symbols(symbolic, numbers, left_out)};
    check_trace(stages.back());
    const Trace first = stages.back();
    lower_to_execution(stages, executors, *function->fusion_names, options, true);
    return executable(stages.back(), first, options);
  };
  Programs programs;
  programs.forward = std::make_shared<Program>(last_trace(function->symbolic_forward, function->forward_executors, {}));
  if (function->symbolic_backward.bound_symbols.empty()) return programs;
  programs.backward = std::make_shared<Program>([function, last_trace] {
    std::vector<char> is_number;  // which have no gradient
    for (const Value& input : input_values(function->symbolic_forward))
      is_number.push_back(input.is_proxy() && !input.is_tensor());
    return last_trace(function->symbolic_backward, function->backward_executors, is_number);
  });
  return programs;
}

}  // namespace fulgurite
