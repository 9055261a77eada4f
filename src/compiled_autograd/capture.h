#pragma once
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "compiled_autograd/backward_graph.h"
#include "compiled_autograd/backward_key.h"
#include "compiled_autograd/run/effects.h"
#include "compiled_autograd/size_pattern.h"

namespace fulgurite {

/// Gathers the tensors that a captured backward runs on: the initial gradients, then each node's saved tensors in the
/// order of the calls, undefined if a node saved none. Sets NodeCall::saved. Throws if a tensor was freed or written
/// since.
std::vector<Tensor> gather_inputs(const BackwardCall&, BackwardGraph&);
/// Returns true if two inputs are the same: the same memory and, with create_graph, the same history.
bool is_same_input(const BackwardCall&, const Tensor&, const Tensor&);

/// A whole backward as a trace.
struct CapturedBackward {
  Trace trace;
  std::vector<BackwardEffect> effects;
  /// The source of a trace argument.
  struct Argument {
    bool is_leaf = false;
    size_t position = 0;   // for a leaf, its call; else a position among the gathered inputs
    Tensor captured = {};  // by a recorded hook; it is none of the above
  };
  std::vector<Argument> arguments;
  /// A result of the trace: the gradient of one of BackwardCall::inputs.
  struct Result {
    size_t input;
    Sources sources;
  };
  std::vector<Result> asked;
  /// A gradient that a node propagates: the input of the call's node, and the value's id in the trace.
  struct NodeGradient {
    int call;
    size_t input;
    int id;
  };
  std::vector<NodeGradient> gradients;
  /// Traceable hooks that could not be recorded, and the reasons.
  std::vector<std::string> called_hooks;
  /// Gradients with the same destination: the values' ids, and the custom functions' results that they come from.
  struct Sum {
    int id, first, second;
    Sources first_sources, second_sources;
  };
  std::vector<Sum> sums;         // by id
  std::vector<Sources> sources;  // by call, those of its gradients: it runs if one is defined
  /// By call, the smallest id that it records; those of later calls are greater.
  std::vector<int> first_ids;
};

/// Records the backward of a graph: each node's backward, its hooks, and the accumulation of gradients. `inputs` is the
/// result of gather_inputs(), `sizes` are theirs and the nodes'. Symbols are arguments of the trace, by
/// NumberProxy::input those of the pattern.
///
/// Values of a jitted function's backward keep the names that they have there: `aot0_t3` is t3 of the first such
/// function in the forward, `aot0_1_t3` the same at its second use.
///
/// A traceable hook that cannot be recorded is called instead; with fullgraph that is an error.
CapturedBackward capture(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs,
                         const BackwardSizes& sizes, const SizePattern&, bool fullgraph);

/// The reason that a graph cannot be captured, with the node; empty if it can.
std::string why_not_captured(const BackwardGraph&);

}  // namespace fulgurite
