#pragma once
#include <vector>

#include "autograd/engine/engine.h"
#include "compiled_autograd/captures.h"

namespace fulgurite {

/// The trace that run_lines() runs: as recorded, specialized for sizes, in the engine's order.
Trace lines_of(const Capture&, const std::vector<uint64_t>& sizes);

/// Runs a captured backward op by op with eager operators. With create_graph these are recorded like any others: the
/// results can be differentiated again, and that backward captured in turn. With anomaly detection, a node that
/// computes NaN is an error that names the node, its line in the trace and in the user's program, and the gradient's
/// parameter.
std::vector<Tensor> run_lines(const Trace& ops, const CapturedBackward&, const BackwardCall&, const BackwardGraph&,
                              const std::vector<Tensor>& arguments, CompiledRun&);

}  // namespace fulgurite
