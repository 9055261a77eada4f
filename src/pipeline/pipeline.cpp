#include "pipeline/pipeline.h"

#include "executors/gradient_rules.h"
#include "ir/trace_values.h"
#include "ir/without_numbers.h"
#include "pipeline/transform_for_execution.h"
#include "transforms/associate_forward.h"
#include "transforms/pass_runner.h"

namespace fulgurite {

namespace {

// The road from a differentiated or plain trace to a program. With number symbols it ends before the program: what is claimed for the
// sizes of the recorded call is there to be read.
std::shared_ptr<Program> prepare(std::vector<Trace>& stages, const std::vector<const Executor*>& executors, bool check,
                                 bool is_symbolic = false) {
  PassRunner runner(stages, check);
  runner.run("Transform for execution", [&](const Trace& t) { return transform_for_execution(t, executors); });
  runner.run("Dead Code Elimination", eliminate_dead_code);
  const Trace& last = runner.run("Delete Last Used", delete_last_used);
  return is_symbolic ? nullptr : std::make_shared<Program>(last);
}

}  // namespace

CompiledFunction compile(const Trace& recorded, bool differentiate, const PipelineOptions& options) {
  const std::vector<const Executor*> executors = resolve_executors(options.executors);
  const auto skipped = [&](const char* name) { return options.skip_transforms && options.skip_transforms->contains(name); };

  CompiledFunction out;
  out.forward_traces.push_back(canonical_order(recorded));
  out.forward_traces.back().associate_forward = options.associate_forward;
  PassRunner runner(out.forward_traces, options.check_traces);
  if (!skipped("dce")) runner.run("Dead Code Elimination", eliminate_dead_code);
  if (!skipped("cse")) runner.run("Common Subexpression Elimination", eliminate_common_subexpressions);

  if (differentiate) {
    const ExecutorRules rules(executors);
    runner.run("Grad transform pass", [&](const Trace& t) { return grad_transform_on_trace(t, rules); });
    for (const Transform& transform : options.transforms) runner.run("User transform", transform);
    if (!skipped("recomputation"))
      runner.run("Recomputation", [&](const Trace& t) { return choose_recomputation(t, options.recomputation); });
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
    out.forward = prepare(out.forward_traces, executors, options.check_traces, out.is_symbolic);
    out.backward = prepare(out.backward_traces, executors, options.check_traces, out.is_symbolic);
    if (options.associate_forward) {
      const Trace last = out.forward_traces.back();
      name_forward_lines(out.forward_traces, last);
      name_forward_lines(out.backward_traces, last);
    }
    return out;
  }
  for (const Transform& transform : options.transforms) runner.run("User transform", transform);
  out.symbolic_forward = out.forward_traces.back();
  out.is_symbolic = has_numbers(out.symbolic_forward);
  out.forward = prepare(out.forward_traces, executors, options.check_traces, out.is_symbolic);
  return out;
}

Programs specialise(const CompiledFunction& function, NumberValues& values, const PipelineOptions& options) {
  const std::vector<const Executor*> executors = resolve_executors(options.executors);
  const auto program = [&](const Trace& symbolic, const std::vector<char>& left_out) {
    std::vector<Trace> stages{without_numbers(symbolic, values, left_out)};
    check_trace(stages.back());
    return prepare(stages, executors, options.check_traces);
  };
  std::vector<char> is_number;  // which have no gradient
  for (const Value& input : input_values(function.symbolic_forward)) is_number.push_back(input.is_proxy() && !input.is_tensor());
  Programs programs;
  programs.forward = program(function.symbolic_forward, {});
  if (!function.symbolic_backward.bound_symbols.empty()) programs.backward = program(function.symbolic_backward, is_number);
  return programs;
}

}  // namespace fulgurite
