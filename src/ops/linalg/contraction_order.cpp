#include "ops/linalg/contraction_order.h"

#include <cstdint>

namespace fulgurite {
namespace {

/// The number of index tuples of these labels.
double product_of(const LabelSet& labels, std::span<const double> sizes) {
  double product = 1;
  for (size_t label = 0; label < sizes.size(); ++label)
    if (labels[label]) product *= sizes[label];
  return product;
}

/// The cheapest order for each subset of the operands, smaller subsets first. A subset is a bit mask of operands.
class AllOrders {
 public:
  AllOrders(std::span<const LabelSet> operands, const LabelSet& output, std::span<const double> sizes)
      : operands_(operands), best_(size_t{1} << operands.size()) {
    const uint32_t whole = static_cast<uint32_t>(best_.size() - 1);
    std::vector<LabelSet> all(best_.size());
    for (uint32_t set = 1; set <= whole; ++set)
      for (size_t i = 0; i < operands.size(); ++i)
        if (set >> i & 1) all[set] |= operands[i];
    for (uint32_t set = 1; set <= whole; ++set) best_[set].labels = all[set] & (all[whole & ~set] | output);
    for (uint32_t set = 1; set <= whole; ++set) {
      if ((set & (set - 1)) == 0) continue;
      best_[set].cost = -1;
      for (uint32_t part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        const uint32_t rest = set & ~part;
        if (part < rest) continue;  // the same split, mirrored
        const double cost =
            best_[part].cost + best_[rest].cost + product_of(best_[part].labels | best_[rest].labels, sizes);
        if (best_[set].cost >= 0 && best_[set].cost <= cost) continue;
        best_[set].cost = cost;
        best_[set].part = rest;
      }
    }
  }

  /// Appends the contractions of a subset; returns the number of their result.
  size_t collect(uint32_t set, size_t& next, std::vector<Contraction>& out) const {
    if ((set & (set - 1)) == 0) {
      size_t number = 0;
      while (!(set >> number & 1)) ++number;
      return number;
    }
    const size_t left = collect(best_[set].part, next, out);
    const size_t right = collect(set & ~best_[set].part, next, out);
    out.push_back({left, right});
    return next++;
  }

  std::vector<Contraction> contractions() const {
    std::vector<Contraction> out;
    size_t next = operands_.size();
    collect(static_cast<uint32_t>(best_.size() - 1), next, out);
    return out;
  }

 private:
  struct Best {
    LabelSet labels;  // of the result
    double cost = 0;
    uint32_t part = 0;  // one of the two operands of the last contraction
  };
  std::span<const LabelSet> operands_;
  std::vector<Best> best_;
};

std::vector<Contraction> greedy_order(std::span<const LabelSet> given, const LabelSet& output,
                                      std::span<const double> sizes) {
  std::vector<LabelSet> operands(given.begin(), given.end());
  std::vector<size_t> left_over(operands.size());
  for (size_t i = 0; i < left_over.size(); ++i) left_over[i] = i;
  std::vector<Contraction> out;
  while (left_over.size() > 1) {
    double best = -1;
    size_t first = 0, second = 1;
    for (size_t i = 0; i < left_over.size(); ++i)
      for (size_t j = i + 1; j < left_over.size(); ++j) {
        const double cost = product_of(operands[left_over[i]] | operands[left_over[j]], sizes);
        if (best >= 0 && best <= cost) continue;
        best = cost;
        first = i;
        second = j;
      }
    out.push_back({left_over[first], left_over[second]});
    LabelSet needed = output;
    for (size_t i = 0; i < left_over.size(); ++i)
      if (i != first && i != second) needed |= operands[left_over[i]];
    const LabelSet joined = operands[left_over[first]] | operands[left_over[second]];
    left_over.erase(left_over.begin() + static_cast<std::ptrdiff_t>(second));
    left_over.erase(left_over.begin() + static_cast<std::ptrdiff_t>(first));
    left_over.push_back(operands.size());
    operands.push_back(joined & needed);
  }
  return out;
}

}  // namespace

std::vector<Contraction> contraction_order(std::span<const LabelSet> operands, const LabelSet& output,
                                           std::span<const double> sizes) {
  constexpr size_t few = 8;
  if (operands.size() < 2) return {};
  if (operands.size() == 2) return {{0, 1}};
  if (operands.size() <= few) return AllOrders(operands, output, sizes).contractions();
  return greedy_order(operands, output, sizes);
}

}  // namespace fulgurite
