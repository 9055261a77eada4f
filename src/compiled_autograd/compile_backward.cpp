#include "compiled_autograd/compile_backward.h"

#include <fulgurite/error.h>

#include "compiled_autograd/explain_miss.h"
#include "compiled_autograd/order_reads_before_hooks.h"
#include "compiled_autograd/run/run_lines.h"
#include "ir/symbolic/specialize_symbols.h"
#include "support/context.h"
#include "support/log.h"
#include "support/text/text.h"
#include "transforms/pass_runner.h"

namespace fulgurite {

namespace {

PipelineOptions pipeline_options(const compiled_autograd::Options& options) {
  PipelineOptions out;
  out.executors = options.executors;
  out.fuses_all = !options.executors.empty();
  out.allow_excess_precision = options.allow_excess_precision;
  return out;
}

// The effects specialized for its sizes, and the zeros that replace missing gradients.
std::vector<BackwardEffect> with_values(std::vector<BackwardEffect> effects, SymbolValues& numbers) {
  for (BackwardEffect& effect : effects)
    for (BackwardEffect::Result& result : effect.results)
      for (Int& size : result.type.shape) size = numbers.value(size);
  return effects;
}

std::shared_ptr<BackwardProgram> make_program(const std::shared_ptr<const Capture>& capture,
                                              const std::vector<uint64_t>& given, const BackwardRequest& request) {
  SymbolValues numbers(given);
  auto compiled = std::make_shared<BackwardProgram>();
  compiled->capture = capture;
  compiled->sizes = given;
  compiled->effects = with_values(capture->captured.effects, numbers);
  if (request.call.create_graph) {
    compiled->ops = lines_of(*capture, given);
    check_trace(compiled->ops);
    return compiled;
  }
  Trace trace = capture->stages.back();
  if (has_numbers(trace)) {
    trace = specialize_symbols(trace, numbers);
    check_trace(trace);
  }
  PipelineOptions road = pipeline_options(request.options);
  road.fusion_names = capture->fusion_names;
  compiled->program = std::make_shared<Program>(Executable(prepare_for_execution(trace, road)));
  return compiled;
}

std::shared_ptr<const Capture> record(const BackwardRequest& request, const BackwardSizes& sizes, SizePattern pattern) {
  auto capture = std::make_shared<Capture>(Capture{std::move(pattern), {}, {}, {}, std::make_shared<FusionNames>()});
  capture->captured = fulgurite::capture(request.call, request.graph, request.inputs, sizes, capture->pattern,
                                         request.options.fullgraph);
  Trace ordered = capture->captured.trace;
  bring_into_canonical_order(ordered, order_reads_before_hooks(capture->captured));
  capture->stages.push_back(std::move(ordered));
  if (!request.call.create_graph) {
    PassRunner runner(capture->stages, false);
    runner.run("Dead Code Elimination", eliminate_dead_code);
    runner.run("Common Subexpression Elimination", eliminate_common_subexpressions);
  }
  capture->guards = find_guards(capture->stages.front());
  return capture;
}

// A backward that cannot be recorded with symbols is recorded with constants.
std::shared_ptr<BackwardProgram> record_and_compile(const BackwardRequest& request, const BackwardSizes& sizes,
                                                    SizePattern pattern) {
  if (pattern.has_symbols()) {
    try {
      const auto capture = record(request, sizes, pattern);
      return make_program(capture, *pattern.values(sizes.values), request);
    } catch (const std::exception&) {
      pattern = pattern.without_symbols();
    }
  }
  return make_program(record(request, sizes, pattern), {}, request);
}

void log_capture(const Capture& capture) {
  const bool is_verbose = logs(LogChannel::compiled_autograd_verbose);
  if (!is_verbose && !logs(LogChannel::compiled_autograd)) return;
  const std::string text = print(capture.captured.trace, {.time = false, .source = true, .strides = is_verbose});
  log(is_verbose ? LogChannel::compiled_autograd_verbose : LogChannel::compiled_autograd,
      text::cat("TRACED GRAPH\n===== Compiled autograd graph =====\n", text));
}

std::shared_ptr<BackwardProgram> find_for_sizes(const StructureOfBackward& structure, const BackwardSizes& sizes,
                                                const BackwardRequest& request) {
  for (size_t i = structure.captures.size(); i-- > 0;) {
    const auto given = structure.captures[i]->pattern.values(sizes.values);
    if (!given) continue;
    SymbolValues numbers(*given);
    if (failed_guard(structure.captures[i]->guards, numbers)) continue;
    try {
      return make_program(structure.captures[i], *given, request);
    } catch (const std::exception&) {
      // Shapes that the shape rules reject for these sizes are captured again.
    }
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const BackwardProgram> compile_backward(const BackwardRequest& request, StructureOfBackward& structure,
                                                        const BackwardSizes& sizes, BackwardKey key) {
  std::shared_ptr<BackwardProgram> compiled = find_for_sizes(structure, sizes, request);
  if (!compiled) {
    const bool is_first = structure.captures.empty();
    if (logs(LogChannel::compiled_autograd_verbose))
      log(LogChannel::compiled_autograd_verbose, is_first
                                                     ? Captures::all().explain_new(structure)
                                                     : explain_new_sizes(structure, *structure.captures.back(), sizes));
    compiled = record_and_compile(request, sizes,
                                  is_first ? SizePattern(sizes.values, request.options.dynamic && !sizes.has_constants)
                                           : structure.captures.back()->pattern.widened(sizes.values));
    structure.captures.push_back(compiled->capture);
    for (const std::string& why : compiled->capture->captured.called_hooks) warn(why);
    log_capture(*compiled->capture);
    context().unique_graphs.fetch_add(1, std::memory_order_relaxed);
    Captures::all().count_capture();
  }
  keep_formulas(request.graph, key);
  compiled->key = std::move(key);
  Captures::all().add(compiled);
  return compiled;
}

}  // namespace fulgurite
