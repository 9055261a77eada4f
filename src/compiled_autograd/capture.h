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
/// Whether two of them are one: the same memory, and where gradients are differentiated again the same history.
bool is_same_input(const BackwardCall&, const Tensor&, const Tensor&);

/// A whole backward as a trace.
struct CapturedBackward {
  Trace trace;
  std::vector<Effect> effects;
  /// Where an argument of the trace comes from.
  struct Argument {
    bool is_leaf = false;
    size_t position = 0;      // of a leaf, its call; else among the gathered inputs
    Tensor captured = {};  // by a hook that was recorded; it is none of these
  };
  std::vector<Argument> arguments;
  /// What a result of the trace is: the gradient of one of BackwardCall::inputs.
  struct Result {
    size_t input;
    Sources sources;
  };
  std::vector<Result> asked;
  /// The gradients that nodes give, as they are handed on: of which input of the call's node, and the value's id in the trace.
  struct NodeGradient {
    int call;
    size_t input;
    int id;
  };
  std::vector<NodeGradient> gradients;
  /// Hooks that were to be recorded and could not be, and why.
  std::vector<std::string> called_hooks;
  /// Of gradients that go to the same place: the values' ids, and which results of custom functions they come from.
  struct Sum {
    int id, first, second;
    Sources first_sources, second_sources;
  };
  std::vector<Sum> sums;  // by id
  std::vector<Sources> sources;  // for each call, those of the gradients that it is given: it runs when one has come
  /// For each call, the least id of what it records; those of later calls are greater.
  std::vector<int> first_ids;
};

/// Records the backward of a graph: what each node's backward computes, its hooks, and how gradients add up. `inputs` is what gather_inputs()
/// gave, `sizes` theirs and the nodes'. Symbols are arguments of the trace, by NumberProxy::input those of the pattern.
///
/// Values that come from the backward of a jitted function are named after those of that one: `aot0_t3` is t3 of the first such function in the
/// forward, `aot0_1_t3` the same at its second use.
///
/// A traceable hook that cannot be recorded is called; with fullgraph it is an error.
CapturedBackward capture(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs, const BackwardSizes& sizes,
                         const SizePattern&, bool fullgraph);

/// Why a graph cannot be captured: the node, and what of it; empty where it can.
std::string why_not_captured(const BackwardGraph&);

}  // namespace fulgurite
