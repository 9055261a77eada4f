#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/rules.h"
#include "ops/linalg/contraction_order.h"

namespace fulgurite {

/// An equation of einsum for operands of known rank: the label of each dimension. "A" to "Z" are 0 to 25, "a" to "z" 26
/// to 51; the dimensions of an ellipsis follow, aligned at the last one in all operands.
struct EinsumEquation {
  /// Throws RuleError if an equation is malformed or does not match the operands.
  EinsumEquation(std::string_view text, std::span<const Tensor> operands);

  std::vector<std::vector<int>> operands;
  std::vector<int> output;
};
/// The spelling of a label: "'i'", or "\"...\"" for dimensions of an ellipsis.
std::string label_text(int label);

}  // namespace fulgurite
