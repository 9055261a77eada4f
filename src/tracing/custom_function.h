#pragma once
#include <span>
#include <vector>

#include "ir/custom_function.h"

namespace fulgurite {

/// A custom function's forward as a trace of its tensor arguments, which returns all its results.
Trace forward_trace(const BoundSymbol& custom);
/// Its backward as a trace.
struct CustomBackward {
  Trace trace;                  // accepts `saved`, then the cotangents; returns the gradients
  std::vector<Value> saved;     // arguments and results
  std::vector<int> cotangents;  // for each: of which result
  std::vector<Value> targets;   // for each gradient: of which argument
  bool once_differentiable = false;
};
CustomBackward backward_trace(const BoundSymbol& custom);

/// Calls the custom function of a trace's op with other tensors, one for each argument that is one: in eager mode it
/// runs and has a node, inside a recording it becomes an op again. Defined in autograd/.
std::vector<Tensor> call_custom_function(const BoundSymbol& custom, std::span<const Tensor> arguments);

}  // namespace fulgurite
