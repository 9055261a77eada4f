#include <algorithm>
#include <chrono>

#include <fulgurite/error.h>
#include <fulgurite/repro.h>
#include <fulgurite/symbol.h>

#include "examine/find_fusion.h"
#include "ir/print_common.h"
#include "pipeline/slice.h"
#include "support/text.h"

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

std::string kernel_source(const Jitted& f, std::string_view fusion) {
  return std::string(kernel_text(*find_fusion(f, fusion, "kernel_source").bound->implementation));
}

FusionReport fusion_report(const Jitted& f, std::string_view fusion) {
  const FoundFusion found = find_fusion(f, fusion, "fusion_report");
  FusionTensors tensors = tensors_of(found);
  FusionReport report;
  report.name = found.bound->name();
  for (const FusionInput& input : tensors.inputs)
    if (input.shares_with.empty()) report.bytes_read += distinct_elements(input) * size_of(input.dtype);
  for (const FusionInput& output : tensors.outputs) report.bytes_written += distinct_elements(output) * size_of(output.dtype);
  report.operations = operation_count(*found.bound);

  const Program program(executable_slice(slice_of_line(found.program->trace(), *found.bound), {}));
  const std::vector<Tensor> inputs = make_tensors(tensors.inputs);
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
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  report.microseconds = times[times.size() / 2];
  report.inputs = std::move(tensors.inputs);
  report.outputs = std::move(tensors.outputs);
  return report;
}

}  // namespace fulgurite::examine
