#pragma once
#include <bitset>
#include <cstddef>
#include <span>
#include <vector>

namespace fulgurite {

/// The labels that an operand of a sum of products has.
using LabelSet = std::bitset<128>;

/// Two operands become one, which joins the list behind the others; numbers count all operands there have been.
struct Contraction {
  size_t left, right;
};

/// The order in which a product of operands, summed over the labels that `output` lacks, takes the fewest
/// multiplications: of all orders for up to eight operands, else the one that makes the cheapest contraction first.
/// `sizes` are those of the labels.
std::vector<Contraction> contraction_order(std::span<const LabelSet> operands, const LabelSet& output,
                                           std::span<const double> sizes);

}  // namespace fulgurite
