#pragma once
#include <map>
#include <span>
#include <vector>

#include "autograd/compiled/traced_node.h"
#include "compiled_autograd/backward_graph.h"

namespace fulgurite {

/// Names for the values of jitted functions' backwards. The functions are numbered from 0 in the order of the forward,
/// and so are the uses of one.
class JittedNames {
 public:
  explicit JittedNames(const BackwardGraph&);
  /// Names a node's recorded `ops` after the values of its backward; does nothing unless it is a jitted function's.
  void name(const TracedNode&, std::span<BoundSymbol> ops);

 private:
  std::map<const Trace*, int> numbers_;
  std::map<const TracedNode*, int> uses_;  // before the node's
};

}  // namespace fulgurite
