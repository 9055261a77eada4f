#pragma once
#include <bitset>
#include <cstddef>
#include <span>
#include <vector>

namespace fulgurite {

/// The labels of an operand in a sum of products.
using LabelSet = std::bitset<128>;

/// Contracts two operands into one, which is appended to the list; numbers count all operands so far.
struct Contraction {
  size_t left, right;
};

/// Returns the contraction order with the fewest multiplications for a product of operands, summed over the labels that
/// `output` lacks: optimal for up to eight operands, greedy beyond. `sizes` are those of the labels.
std::vector<Contraction> contraction_order(std::span<const LabelSet> operands, const LabelSet& output,
                                           std::span<const double> sizes);

}  // namespace fulgurite
