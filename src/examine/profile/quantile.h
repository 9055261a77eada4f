#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace fulgurite::examine {

/// The value below which a share of the values is: 0.5 for the median, 0 for the minimum; 0 if there are none.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<size_t>(place)];
}
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace fulgurite::examine
