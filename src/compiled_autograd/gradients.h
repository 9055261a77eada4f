#pragma once
#include <algorithm>
#include <iterator>
#include <vector>

#include "compiled_autograd/run/effects.h"

namespace fulgurite {

/// A gradient in flight; undefined if there is none.
struct RecordedGradient {
  Tensor value;
  Sources sources;
  bool defined() const { return value.defined(); }
};
using RecordedGradients = std::vector<RecordedGradient>;

/// The sources of a gradient that is defined if either is.
inline Sources either(const Sources& a, const Sources& b) {
  if (a.empty() || b.empty()) return {};
  Sources both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

inline Sources any_of(const RecordedGradients& gradients) {
  Sources all;
  bool is_first = true;
  for (const RecordedGradient& gradient : gradients) {
    if (!gradient.defined()) continue;
    all = is_first ? gradient.sources : either(all, gradient.sources);
    is_first = false;
  }
  return all;
}

inline std::vector<BackwardEffect::GradientRef> places_of(const RecordedGradients& gradients) {
  std::vector<BackwardEffect::GradientRef> out;
  for (const RecordedGradient& gradient : gradients) out.push_back({gradient.defined(), gradient.sources});
  return out;
}

}  // namespace fulgurite
