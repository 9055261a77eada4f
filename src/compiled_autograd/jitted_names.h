#pragma once
#include <map>
#include <span>
#include <vector>

#include "autograd/compiled/traced_node.h"
#include "compiled_autograd/backward_graph.h"

namespace fulgurite {

/// Names for the values that come from backwards of jitted functions. The functions are numbered in the order of the forward, from 0, and so
/// are the uses of one.
class JittedNames {
 public:
  explicit JittedNames(const BackwardGraph&);
  /// Names what a node has recorded, `lines`, after the values of the backward that it is of; nothing where that is not a jitted function's.
  void name(const TracedNode&, std::span<BoundSymbol> ops);

 private:
  std::map<const Trace*, int> numbers_;
  std::map<const TracedNode*, int> uses_;  // before the node's
};

}  // namespace fulgurite
