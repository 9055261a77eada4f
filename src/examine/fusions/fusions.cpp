#include <algorithm>
#include <chrono>

#include <fulgurite/error.h>
#include <fulgurite/repro.h>
#include <fulgurite/symbol.h>

#include "examine/fusions/find_fusion.h"
#include "examine/profile/profile_lines.h"
#include "examine/profile/quantile.h"
#include "ir/analysis/operation_count.h"
#include "ir/printing/print_common.h"
#include "pipeline/debug/slice.h"
#include "runtime/plan/execution_plan.h"
#include "support/text/text.h"

namespace fulgurite::examine {

std::vector<BoundSymbol> get_fusion_symbols(const Trace& trace) {
  std::vector<BoundSymbol> out;
  for (const BoundSymbol& bound : trace.bound_symbols.read())
    if (bound.is_fusion()) out.push_back(bound);
  return out;
}

std::vector<std::string> fusion_names(const Jitted& f) {
  std::vector<std::string> out;
  for (const auto& program : programs_of_last_call(f, "fusion_names"))
    for (const BoundSymbol& bound : get_fusion_symbols(program->trace()))
      if (std::ranges::find(out, bound.name()) == out.end()) out.push_back(bound.name());
  return out;
}

std::vector<FusionInput> fusion_inputs(const Jitted& f, std::string_view fusion) {
  return tensors_of(find_fusion(f, fusion, "fusion_inputs")).inputs;
}

std::string kernel_source(const Jitted& f, std::string_view fusion, KernelForm form) {
  const FoundFusion found = find_fusion(f, fusion, "kernel_source");
  const Implementation& implementation = *found.bound->implementation;
  if (form == KernelForm::compiled) return std::string(kernel_text(implementation));
  const FusedKernel* const kernel = implementation.fusion;
  std::string text = kernel == nullptr        ? std::string()
                     : form == KernelForm::ir ? kernel->ir_text()
                                              : kernel->scalar_text(fusion);
  if (text.empty())
    throw UserError(text::cat("kernel_source: ", fusion, " is a kernel of the executor ", implementation.executor,
                              "; only those of the fuser and of gemm have a scalar form and an IR"));
  return text;
}

namespace {

// The median of fresh runs, in microseconds.
double measured_microseconds(const FoundFusion& found, const std::vector<FusionInput>& described) {
  const Program program(executable_slice(slice_of_op(found.program->trace(), *found.bound), {}));
  const std::vector<Tensor> inputs = make_tensors(described);
  std::vector<Tensor> results;
  std::vector<double> times;
  const auto start = std::chrono::steady_clock::now();
  const auto microseconds = [](auto duration) { return std::chrono::duration<double, std::micro>(duration).count(); };
  constexpr double patience = 0.2e6;
  while (times.size() < 3 || (times.size() < 50 && microseconds(std::chrono::steady_clock::now() - start) < patience)) {
    const auto before = std::chrono::steady_clock::now();
    program.run(inputs, results);
    times.push_back(microseconds(std::chrono::steady_clock::now() - before));
  }
  return median(std::move(times));
}

// As the program's runs noted them.
std::vector<double> last_runs(const FoundFusion& found) {
  const ExecutionPlan& plan = found.program->plan();
  const auto step = std::ranges::find(plan.steps, found.bound, &Step::bound);
  return plan.fusion_times->last(static_cast<size_t>(std::count_if(plan.steps.begin(), step, is_fusion)));
}

}  // namespace

FusionReport fusion_report(const Jitted& f, std::string_view fusion) {
  const FoundFusion found = find_fusion(f, fusion, "fusion_report");
  FusionTensors tensors = tensors_of(found);
  FusionReport report;
  report.name = found.bound->name();
  for (const FusionInput& input : tensors.inputs)
    if (input.shares_with.empty()) report.bytes_read += distinct_elements(input) * size_of(input.dtype);
  for (const FusionInput& output : tensors.outputs)
    report.bytes_written += distinct_elements(output) * size_of(output.dtype);
  report.operations = operation_count(*found.bound);
  report.last_runs = last_runs(found);
  report.microseconds =
      report.last_runs.empty() ? measured_microseconds(found, tensors.inputs) : median(report.last_runs);
  if (report.microseconds > 0)
    report.share_of_limit = min_microseconds(report.bytes_read + report.bytes_written, report.operations,
                                             machine_limits(), computes_in_bf16(*found.bound)) /
                            report.microseconds;
  report.inputs = std::move(tensors.inputs);
  report.outputs = std::move(tensors.outputs);
  return report;
}

}  // namespace fulgurite::examine
