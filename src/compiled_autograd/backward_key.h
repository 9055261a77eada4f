#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/compiled_autograd.h>

#include "compiled_autograd/backward_graph.h"

namespace fulgurite {

/// What a captured backward was made for. Equal keys are served by one program: node by node the formula, where its gradients go, which hooks
/// there are, of each tensor dtype and sizes, which tensors are the same, what is asked for, which leaves have gradients, and who runs it.
struct BackwardKey {
  KeyWords words;
  uint64_t hash = 0;
  std::vector<std::shared_ptr<const void>> formulas;  // that the words name, kept alive; of a key that is only looked up none

  friend bool operator==(const BackwardKey& a, const BackwardKey& b) { return a.hash == b.hash && a.words == b.words; }
};

/// What a word of a key is about.
enum class KeyField : uint8_t {
  options, call_count, asked_count, root, tensor, type, is_needed, needed, target, asked, hooks, recorded_hook, node_hooks, leaf, operation,
  argument, function
};

/// The sizes that a backward depends on, node by node: those of the tensors of the node's call, and of what it saved.
struct BackwardSizes {
  std::vector<int64_t> values;
  std::vector<int> calls;                   // whose each is; -1: of the gradients that it starts from
  std::vector<size_t> of_inputs;            // where those of a gathered tensor begin
  std::vector<size_t> of_calls, own_ends;   // where those of a node's own begin and end
  bool has_constants = false;               // some node's backward was compiled for sizes, which are in the key
};

/// The key without the sizes, and these.
struct BackwardStructure {
  BackwardKey key;
  std::vector<KeyField> fields;  // of each word
  std::vector<size_t> ends;      // of each part in the words: the start, then one node after the other
  BackwardSizes sizes;

  size_t parts() const { return ends.size(); }
  size_t begin(size_t part) const { return part == 0 ? 0 : ends[part - 1]; }
  size_t bytes_of(size_t part) const { return (ends[part] - begin(part)) * sizeof(uint64_t); }
  bool same_part(const BackwardStructure& other, size_t part) const;
};

/// `inputs` is what gather_inputs() gave.
BackwardKey backward_key(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs, const compiled_autograd::Options&);
/// Makes a key of this graph one that may be kept.
void keep_formulas(const BackwardGraph&, BackwardKey&);
BackwardStructure backward_structure(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs,
                                     const compiled_autograd::Options&);

}  // namespace fulgurite
