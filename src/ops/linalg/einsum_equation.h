#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/rules.h"
#include "ops/linalg/contraction_order.h"

namespace fulgurite {

/// An equation of einsum for operands of known rank: the label of each dimension. "A" to "Z" are 0 to 25, "a" to "z" 26
/// to 51; what an ellipsis stands for follows, so that the last of its dimensions have the same labels in all operands.
struct EinsumEquation {
  /// Fails with a RuleError on an equation that is misspelled or does not fit the operands.
  EinsumEquation(std::string_view text, std::span<const Tensor> operands);

  std::vector<std::vector<int>> operands;
  std::vector<int> output;
};
/// How a label is spelled: "'i'", or "\"...\"" for what an ellipsis stands for.
std::string label_text(int label);

}  // namespace fulgurite
