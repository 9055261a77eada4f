#include "pipeline/pipeline.h"

#include <algorithm>
#include <optional>

#include "executors/gradient_rules.h"
#include "ir/analysis/trace_values.h"
#include "ir/custom_function.h"
#include "ir/symbolic/specialize_symbols.h"
#include "support/text/text.h"
#include "transforms/cleanup/keep_results.h"
#include "transforms/execution/fold_scatter_add.h"
#include "transforms/execution/join_products.h"
#include "transforms/execution/multiply_codes.h"
#include "transforms/execution/schedule_updates_early.h"
#include "transforms/execution/transform_for_execution.h"
#include "transforms/grad/associate_forward.h"
#include "transforms/pass_runner.h"
#include "transforms/rematerialization/rematerialization.h"

namespace fulgurite {

namespace {

/// The executors to use for `trace`, without fusing executors that cannot be profitable for it.
std::vector<const Executor*> profitable_executors(std::vector<const Executor*> executors, const Trace& trace,
                                                  const PipelineOptions& options) {
  if (!options.fuses_all)
    std::erase_if(executors, [&](const Executor* e) {
      return e->fusing && e->fusing->may_be_profitable && !e->fusing->may_be_profitable(trace);
    });
  return executors;
}

constexpr int64_t min_sum_bytes = 64 << 10;  // smaller sums are not rewritten

// Lowers a differentiated or plain trace to an executable trace.
void prepare(std::vector<Trace>& stages, std::vector<const Executor*> executors, FusionNames& names,
             const PipelineOptions& options, bool is_symbolic) {
  // Fusions must not depend on sizes that symbols stand for: new specializations would have to wait for the compiler.
  const bool everything = options.fuses_all || is_symbolic;
  PassRunner runner(stages, options.check_traces);
  if (has_codes(stages.back())) runner.run("Multiply Codes", multiply_codes);
  // As fusions do, the passes over sums change the order of additions.
  const bool fuses = std::ranges::any_of(executors, [](const Executor* e) { return e->fusing != nullptr; });
  const int64_t least = everything ? 0 : min_sum_bytes;
  if (fuses && has_sums_of_products(stages.back(), least))
    runner.run("Join Products", [&](const Trace& t) { return join_products(t, least); });
  runner.run("Transform for execution", [&](const Trace& t) { return transform_for_execution(t, executors); });
  if (fuses && has_scattered_sums(stages.back(), least))
    runner.run("Fold Scatter Add", [&](const Trace& t) { return fold_scatter_add(t, least); });
  while (true) {
    const auto fusing = std::ranges::find_if(executors, [](const Executor* e) { return e->fusing != nullptr; });
    if (fusing == executors.end()) break;
    const Executor* executor = *fusing;
    runner.run(text::cat("Fusion (", executor->name, ")"), [&](const Trace& t) {
      return executor->fusing->fuse(t, names, {everything, options.allow_excess_precision});
    });
    executors.erase(fusing);
    // Ops that were not fused are claimed by the other executors.
    runner.run("Transform for execution", [&](const Trace& t) { return transform_for_execution(t, executors); });
  }
  runner.run("Dead Code Elimination", eliminate_dead_code);
  if (has_updates(stages.back())) runner.run("Schedule Updates Early", schedule_updates_early);
  runner.run("Delete Last Used", delete_last_used);
}

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

}  // namespace

CompiledFunction compile(const Trace& recorded, bool differentiate, const PipelineOptions& options) {
  std::vector<const Executor*> executors = resolve_executors(options.executors);
  if (!options.fuses) std::erase_if(executors, [](const Executor* e) { return e->fusing != nullptr; });
  const auto skipped = [&](const char* name) {
    return options.skip_transforms && options.skip_transforms->contains(name);
  };

  CompiledFunction out;
  out.fusion_names = options.fusion_names ? options.fusion_names : std::make_shared<FusionNames>();
  out.forward_traces.push_back(canonical_order(recorded));
  out.forward_traces.back().associate_forward = options.associate_forward;
  PassRunner runner(out.forward_traces, options.check_traces);
  if (options.kept_results)
    runner.run("Results in Shared Memory", [&](const Trace& t) { return keep_results(t, *options.kept_results); });
  if (!skipped("dce")) runner.run("Dead Code Elimination", eliminate_dead_code);
  if (!skipped("cse")) runner.run("Common Subexpression Elimination", eliminate_common_subexpressions);

  if (differentiate) {
    const ExecutorRules rules(executors);
    const Trace before_gradients = out.forward_traces.back();
    runner.run("Grad transform pass", [&](const Trace& t) { return grad_transform_on_trace(t, rules); });
    for (const Transform& transform : options.transforms) runner.run("User transform", transform);
    if (!skipped("recomputation"))
      runner.run("Recomputation",
                 [&](const Trace& t) { return choose_recomputation(t, options.recomputation, before_gradients); });
    ForwardBackwardTraces split = split_into_forward_and_backward(out.forward_traces.back());
    out.saved_tensors = static_cast<int>(keyword(split.forward.bound_symbols.back(), "saved_tensors").list().size());
    out.saved_numbers = static_cast<int>(keyword(split.forward.bound_symbols.back(), "saved_other").list().size());
    runner.run("Augmented forward", [&](const Trace&) { return std::move(split.forward); });
    PassRunner backward_runner(out.backward_traces, options.check_traces);
    backward_runner.run("Backward", [&](const Trace&) { return std::move(split.backward); });
    if (!skipped("cse")) backward_runner.run("Common Subexpression Elimination", eliminate_common_subexpressions);
    out.symbolic_forward = out.forward_traces.back();
    out.symbolic_backward = out.backward_traces.back();
    out.is_symbolic = has_numbers(out.symbolic_forward);
    out.forward_executors = profitable_executors(executors, out.symbolic_forward, options);
    out.backward_executors = profitable_executors(executors, out.symbolic_backward, options);
    prepare(out.forward_traces, out.forward_executors, *out.fusion_names, options, out.is_symbolic);
    prepare(out.backward_traces, out.backward_executors, *out.fusion_names, options, out.is_symbolic);
    make_programs(out, options);
    if (options.associate_forward) {
      const Trace last = out.forward_traces.back();
      name_forward_ops(out.forward_traces, last);
      name_forward_ops(out.backward_traces, last);
    }
    return out;
  }
  for (const Transform& transform : options.transforms) runner.run("User transform", transform);
  out.symbolic_forward = out.forward_traces.back();
  out.is_symbolic = has_numbers(out.symbolic_forward);
  out.forward_executors = profitable_executors(executors, out.symbolic_forward, options);
  prepare(out.forward_traces, out.forward_executors, *out.fusion_names, options, out.is_symbolic);
  make_programs(out, options);
  return out;
}

Trace prepare_for_execution(const Trace& trace, const PipelineOptions& options) {
  std::vector<Trace> stages{trace};
  FusionNames names;
  prepare(stages, profitable_executors(resolve_executors(options.executors), trace, options),
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
    prepare(stages, executors, *function->fusion_names, options, true);
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
