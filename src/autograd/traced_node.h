#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fulgurite/autograd.h>

namespace fulgurite {

/// A node whose backward is a trace, which can be recorded into another one.
class TracedNode : public Node {
 public:
  /// Appends what it saved: the tensors that its backward reads beside the gradients, in order; undefined for none. An error where they were
  /// freed, or written since.
  virtual void append_saved(std::vector<Tensor>& saved) const = 0;
  /// Records the backward in the innermost tracer. `saved` stand for what append_saved() gave; `needed` as in NodeRun.
  virtual std::vector<Tensor> record(std::span<const Tensor> saved, std::vector<Tensor> gradients, uint64_t needed) = 0;
  /// Nodes of one formula and one key record the same.
  virtual std::shared_ptr<const void> formula() const { return nullptr; }
  virtual void append_key(std::vector<uint64_t>&) const {}
};

}  // namespace fulgurite
