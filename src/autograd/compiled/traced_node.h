#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/trace.h>

#include "support/containers/small_vector.h"

namespace fulgurite {

/// Words that identify a backward; stored inline for backwards of about ten nodes.
using KeyWords = SmallVector<uint64_t, 224>;

/// A node whose backward is a trace, which can be recorded into another one.
class TracedNode : public Node {
 public:
  TracedNode* as_traced() override { return this; }
  /// Appends the saved tensors that the backward reads besides the gradients, in order; undefined ones for none. With
  /// create_graph they have their history from the call. Throws if they were freed or written since.
  virtual void append_saved(std::vector<Tensor>& saved, bool create_graph) = 0;
  /// Records the backward in the innermost tracer; with create_graph it may be differentiated again. `saved` stands for
  /// the tensors of append_saved(). `sizes` stands for those of append_structure(), some as symbols; empty: the
  /// concrete sizes.
  virtual std::vector<Tensor> record(std::span<const Tensor> saved, std::vector<Tensor> gradients, const NodeRun&,
                                     std::span<const Int> sizes) = 0;
  /// Nodes with the same formula and key record the same ops.
  virtual const void* formula() const { return nullptr; }
  virtual std::shared_ptr<const void> share_formula() const { return nullptr; }
  virtual void append_key(KeyWords&) const {}
  /// Nodes of one structure record the same ops for the same sizes. Returns false if its sizes are constants of the
  /// structure.
  virtual bool append_structure(KeyWords& words, std::vector<int64_t>&) const {
    words.push_back(reinterpret_cast<uintptr_t>(formula()));
    append_key(words);
    return false;
  }
  /// The trace of a jitted function's backward; null for other nodes.
  virtual const Trace* jitted_backward() const { return nullptr; }
};

}  // namespace fulgurite
