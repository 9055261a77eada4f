#pragma once
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "autograd/engine/tensor_autograd.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

/// The effects of a node's turn that has already happened. An absent value equals the one that is computed again.
struct FinishedTurn {
  /// The gradient of an output after the last hook that was called on it, and the traceable hooks behind that one.
  struct Hooked {
    Tensor gradient;
    std::vector<Hook> traceable;
  };
  std::unordered_map<size_t, Hooked> outputs;
  std::optional<std::vector<Tensor>> before;   // the gradients of the outputs after the pre-hooks
  std::optional<std::vector<Tensor>> results;  // of a custom function's backward
  std::optional<std::vector<Tensor>> after;    // the gradients of the inputs after the post-hooks
};

/// The turns that happened in a captured run that stopped early. The engine computes their gradients again, but neither
/// calls their hooks nor adds to leaves.
struct FinishedTurns {
  std::unordered_map<const Node*, FinishedTurn> of;
  std::vector<std::function<void()>> callbacks;  // queued for the end of the backward

  const FinishedTurn* find(const Node& node) const {
    const auto found = of.find(&node);
    return found == of.end() ? nullptr : &found->second;
  }
};

/// Puts the gradients that the hooks gave in place of `gradients`.
void repeat_tensor_hooks(const Node&, const FinishedTurn&, SmallVector<Tensor, 1>& gradients);

}  // namespace fulgurite
