#pragma once
#include <optional>
#include <set>

#include <fulgurite/trace.h>

#include "executors/registry.h"
#include "ir/symbolic/symbol_values.h"
#include "pipeline/op_interpreter.h"
#include "pipeline/pass_list.h"
#include "runtime/program.h"

namespace fulgurite {

/// A trace on its way to a program: every stage is retained.
struct PipelineOptions {
  std::vector<std::string> executors;                    // names in priority order; empty: the default list
  std::optional<std::set<std::string>> skip_transforms;  // "dce", "cse", "recomputation"
  std::vector<Transform> transforms;                     // after the grad transform, before executors
  const std::vector<int>* kept_results = nullptr;        // null: all; else the results that the program returns
  bool associate_forward = false;
  bool check_traces = false;
  RecomputationOptions recomputation;
  std::shared_ptr<FusionNames> fusion_names = {};       // shared by all that is compiled for one function
  bool fuses = true;                                    // false: without executors that fuse
  bool fuses_all = true;                                // false: only what is worth a run of the compiler
  bool allow_excess_precision = false;                  // 16-bit values used only inside a fusion need not be rounded
  std::shared_ptr<const ExecutionObserver> watch = {};  // programs run op by op and notify it of each
  std::shared_ptr<const detail::PassList> passes = {};  // null: those of the library
};

struct CompiledFunction {
  std::vector<Trace> forward_traces;   // first as recorded, last as run
  std::vector<Trace> backward_traces;  // empty without a gradient
  std::shared_ptr<Program> forward, backward;
  int saved_tensors = 0, saved_numbers = 0;  // C0 and C1: last results of the forward, first inputs of the backward
  /// For a trace with symbolic scalars: the traces that specialise() compiles for each set of their values.
  Trace symbolic_forward, symbolic_backward;
  std::vector<const Executor*> forward_executors, backward_executors;  // the executors, for every specialization
  bool is_symbolic = false;
  std::shared_ptr<FusionNames> fusion_names;
};
struct Programs {
  std::shared_ptr<Program> forward, backward;
};

/// Compiles a recorded trace. With `differentiate`, forward and backward: the forward's results are (outputs…, C0…,
/// C1…).
CompiledFunction compile(const Trace& recorded, bool differentiate, const PipelineOptions& = {});

/// Lowers a trace, of which some ops may be claimed already, to one that runs: the rest is claimed and fused. Without
/// symbolic scalars.
Trace prepare_for_execution(const Trace&, const PipelineOptions&);

/// The programs of a function with symbolic scalars for one set of their values. Throws if these give no valid trace:
/// the function has to be retraced then. The backward program is compiled when it is first needed.
Programs specialise(const std::shared_ptr<const CompiledFunction>&, std::span<const uint64_t> values,
                    const PipelineOptions&);

}  // namespace fulgurite
