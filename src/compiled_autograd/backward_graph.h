#pragma once
#include "autograd/compiled/traced_node.h"
#include "autograd/engine/engine.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

/// A node's turn in a backward.
struct NodeCall {
  /// The destination of an input's gradient.
  struct Target {
    int call = -1;  // its position in the order; -1: not needed
    int output = 0;
  };
  /// A requested gradient.
  struct Asked {
    int output;
    size_t input;  // index into BackwardCall::inputs
  };
  Node* node = nullptr;
  const Tensor* leaf = nullptr;    // the leaf into whose gradient it accumulates; null for any other node
  TracedNode* traced = nullptr;    // the node, if its backward is a trace
  SmallVector<Target, 3> targets;  // one for each edge
  SmallVector<Asked, 1> asked;
  bool is_needed = true;           // leads to a requested input, or none is requested
  uint64_t needed = ~uint64_t{0};  // as NodeRun::needed
  size_t saved = 0;                // the number of gathered inputs that it saved
};

/// The nodes that a backward reaches, in the order in which the eager engine runs them.
struct BackwardGraph {
  explicit BackwardGraph(const BackwardCall&);
  SmallVector<NodeCall, 12> calls;
  SmallVector<NodeCall::Target, 1> roots;
};

}  // namespace fulgurite
