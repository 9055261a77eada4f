#pragma once
#include <optional>
#include <set>

#include <fulgurite/trace.h>

#include "ir/number_values.h"
#include "runtime/program.h"

namespace fulgurite {

/// A trace on its way to a program: every stage is kept.
struct PipelineOptions {
  std::vector<std::string> executors;                     // names in priority order; empty: the default list
  std::optional<std::set<std::string>> skip_transforms;   // "dce", "cse", "recomputation"
  std::vector<Transform> transforms;                      // after the grad transform, before executors
  bool associate_forward = false;
  bool check_traces = false;
  RecomputationOptions recomputation;
};

struct CompiledFunction {
  std::vector<Trace> forward_traces;   // first as recorded, last as run
  std::vector<Trace> backward_traces;  // empty without a gradient
  std::shared_ptr<Program> forward, backward;
  int saved_tensors = 0, saved_numbers = 0;  // C0 and C1: the last results of the forward, the first inputs of the backward
  /// Of a trace with number symbols: no program yet, but what specialise() makes one of for each set of their values.
  Trace symbolic_forward, symbolic_backward;
  bool is_symbolic = false;
};
struct Programs {
  std::shared_ptr<Program> forward, backward;
};

/// Recorded trace → program. With `differentiate`, forward and backward: the forward's results are (outputs…, C0…, C1…).
CompiledFunction compile(const Trace& recorded, bool differentiate, const PipelineOptions& = {});

/// The programs of a function with number symbols for one set of their values. Throws where these give no valid trace: then the function
/// has to be recorded again.
Programs specialise(const CompiledFunction&, NumberValues&, const PipelineOptions&);

}  // namespace fulgurite
