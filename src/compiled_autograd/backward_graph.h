#pragma once
#include "autograd/compiled/traced_node.h"
#include "autograd/engine/engine.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

/// A node's turn in a backward.
struct NodeCall {
  /// Where the gradient of an input goes.
  struct Target {
    int call = -1;  // its place in the order; -1: nobody wants it
    int output = 0;
  };
  /// A gradient that is asked for.
  struct Asked {
    int output;
    size_t input;  // of BackwardCall::inputs
  };
  Node* node = nullptr;
  const Tensor* leaf = nullptr;  // into whose gradient it adds; null for any other node
  TracedNode* traced = nullptr;  // the node, if its backward is a trace
  SmallVector<Target, 3> targets;  // one for each edge
  SmallVector<Asked, 1> asked;
  bool is_needed = true;   // leads to an input, or none is asked for
  uint64_t needed = ~uint64_t{0};  // as NodeRun::needed
  size_t saved = 0;                // how many of the gathered inputs are what it saved
};

/// The nodes that a backward reaches, in the order in which the eager engine runs them.
struct BackwardGraph {
  explicit BackwardGraph(const BackwardCall&);
  SmallVector<NodeCall, 12> calls;
  SmallVector<NodeCall::Target, 1> roots;
};

}  // namespace fulgurite
