#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/trace.h>

#include "support/containers/small_vector.h"

namespace fulgurite {

/// What tells backwards apart, as words; those of a backward of some ten nodes lie in it.
using KeyWords = SmallVector<uint64_t, 224>;

/// A node whose backward is a trace, which can be recorded into another one.
class TracedNode : public Node {
 public:
  /// Appends what it saved: the tensors that its backward reads beside the gradients, in order; undefined for none. With create_graph they have
  /// the history that they had in the call. An error where they were freed, or written since.
  virtual void append_saved(std::vector<Tensor>& saved, bool create_graph) = 0;
  /// Records the backward in the innermost tracer, with create_graph as one that may be differentiated again. `saved` stand for what
  /// append_saved() gave. `sizes` are what append_structure() gave, of which some may be symbols; none: as they are.
  virtual std::vector<Tensor> record(std::span<const Tensor> saved, std::vector<Tensor> gradients, const NodeRun&, std::span<const Int> sizes) = 0;
  /// Nodes of one formula and one key record the same.
  virtual const void* formula() const { return nullptr; }
  virtual std::shared_ptr<const void> share_formula() const { return nullptr; }
  virtual void append_key(KeyWords&) const {}
  /// Nodes of one structure record the same for the same sizes. False where its sizes are constants, in the structure.
  virtual bool append_structure(KeyWords& words, std::vector<int64_t>&) const {
    words.push_back(reinterpret_cast<uintptr_t>(formula()));
    append_key(words);
    return false;
  }
  /// The trace of the backward, of a jitted function's.
  virtual const Trace* jitted_backward() const { return nullptr; }
};

}  // namespace fulgurite
