#pragma once
#include <vector>

#include "autograd/engine/engine.h"
#include "compiled_autograd/captures.h"

namespace fulgurite {

/// The trace that run_lines() runs: as it was recorded, with sizes for symbols, in the engine's order.
Trace lines_of(const Capture&, const std::vector<uint64_t>& sizes);

/// Runs a captured backward op by op, as operators of eager mode. With create_graph these are recorded like any others: what comes of them
/// can be differentiated again, and that backward captured in its turn. Where anomalies are to be detected, a node that gives NaN is an error
/// which says the node, its line in the trace and in the user's program, and which parameter the gradient is of.
std::vector<Tensor> run_lines(const Trace& ops, const CapturedBackward&, const BackwardCall&, const BackwardGraph&,
                              const std::vector<Tensor>& arguments, CompiledRun&);

}  // namespace fulgurite
