#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/compiled_autograd.h>

#include "compiled_autograd/backward_graph.h"

namespace fulgurite {

/// Cache key of a captured backward. Equal keys share one program. By node: the formula, the destinations of its
/// gradients, the hooks, dtype and sizes of each tensor, and which tensors are the same; also the requested gradients,
/// the leaves that have gradients, and the executors.
struct BackwardKey {
  KeyWords words;
  uint64_t hash = 0;
  /// Named by the words and kept alive; empty in a key that is only looked up.
  std::vector<std::shared_ptr<const void>> formulas;

  friend bool operator==(const BackwardKey& a, const BackwardKey& b) { return a.hash == b.hash && a.words == b.words; }
};

/// The subject of a key's word.
enum class KeyField : uint8_t {
  options,
  call_count,
  asked_count,
  root,
  tensor,
  type,
  is_needed,
  needed,
  target,
  asked,
  hooks,
  recorded_hook,
  node_hooks,
  leaf,
  operation,
  argument,
  function
};

/// The sizes that a backward depends on, node by node: those of the tensors of the node's call, and of its saved
/// tensors.
struct BackwardSizes {
  std::vector<int64_t> values;
  std::vector<int> calls;                  // the call of each size; -1: of the initial gradients
  std::vector<size_t> of_inputs;           // the first size of each gathered tensor
  std::vector<size_t> of_calls, own_ends;  // the first and the end of each node's own sizes
  bool has_constants = false;              // some node's backward was compiled for fixed sizes, which are in the key
};

/// The key without the sizes, and the sizes.
struct BackwardStructure {
  BackwardKey key;
  std::vector<KeyField> fields;  // of each word
  std::vector<size_t> ends;      // of each section of the words: the start, then one node after the other
  BackwardSizes sizes;

  size_t parts() const { return ends.size(); }
  size_t begin(size_t part) const { return part == 0 ? 0 : ends[part - 1]; }
  size_t bytes_of(size_t part) const { return (ends[part] - begin(part)) * sizeof(uint64_t); }
  bool same_part(const BackwardStructure& other, size_t part) const;
};

/// `inputs` is the result of gather_inputs().
BackwardKey backward_key(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs,
                         const compiled_autograd::Options&);
/// Keeps the formulas alive, so that the key may be stored.
void keep_formulas(const BackwardGraph&, BackwardKey&);
BackwardStructure backward_structure(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs,
                                     const compiled_autograd::Options&);

}  // namespace fulgurite
