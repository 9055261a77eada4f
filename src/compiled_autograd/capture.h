#pragma once
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "compiled_autograd/backward_graph.h"
#include "compiled_autograd/backward_key.h"
#include "compiled_autograd/effects.h"
#include "compiled_autograd/size_pattern.h"

namespace fulgurite {

/// The tensors that a captured backward runs on: the gradients that it starts from, then what each node saved, in the order of the calls. Undefined
/// where a node saved none. Says of each call how many are its own. An error where one was freed, or written since.
std::vector<Tensor> gather_inputs(const BackwardCall&, BackwardGraph&);

/// A whole backward as a trace.
struct CapturedBackward {
  Trace trace;
  std::vector<Effect> effects;
  /// Where an argument of the trace comes from.
  struct Argument {
    bool is_leaf = false;
    size_t place = 0;  // of a leaf, its call; else among the gathered inputs
  };
  std::vector<Argument> arguments;
  /// What a result of the trace is: the gradient of one of BackwardCall::inputs.
  struct Result {
    size_t input;
    Sources sources;
  };
  std::vector<Result> asked;
};

/// Records the backward of a graph: what each node's backward computes, its hooks, and how gradients add up. `inputs` is what gather_inputs()
/// gave, `sizes` theirs and the nodes'. Symbols are arguments of the trace, by NumberProxy::input those of the pattern.
///
/// Values that come from the backward of a jitted function are named after those of that one: `aot0_t3` is t3 of the first such function in the
/// forward, `aot0_1_t3` the same at its second use.
CapturedBackward capture(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs, const BackwardSizes& sizes,
                         const SizePattern&);

/// Why a graph cannot be captured: the node, and what of it; empty where it can.
std::string why_not_captured(const BackwardCall&, const BackwardGraph&);

}  // namespace fulgurite
