#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiled_autograd/backward_graph.h"

namespace fulgurite {

/// What a captured backward was made for. Equal keys are served by one capture: node by node the formula, where its gradients go, which hooks there
/// are, of each tensor dtype and sizes, which tensors are the same, what is asked for, which leaves have gradients, and who runs the trace.
struct BackwardKey {
  std::vector<uint64_t> words;
  std::vector<size_t> ends;  // of each part in words: the start, then one call after the other
  uint64_t hash = 0;
  std::vector<std::shared_ptr<const void>> formulas;  // that the words name, kept alive

  friend bool operator==(const BackwardKey& a, const BackwardKey& b) { return a.hash == b.hash && a.words == b.words; }
  size_t parts() const { return ends.size(); }
  size_t bytes_of(size_t part) const { return (ends[part] - (part == 0 ? 0 : ends[part - 1])) * sizeof(uint64_t); }
  bool same_part(const BackwardKey& other, size_t part) const;
};

/// `inputs` is what gather_inputs() gave.
BackwardKey backward_key(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs, const std::vector<std::string>& executors);

}  // namespace fulgurite
