#include "ops/nn/window_rules.h"

namespace fulgurite {

Shape for_dimensions(std::span<const Int> given, size_t count, std::string_view name) {
  require(given.size() == 1 || given.size() == count, name, " must have 1 or ", count, " numbers, got ",
          Shape(given.data(), given.size()));
  Shape out;
  for (size_t d = 0; d < count; ++d) out.push_back(given[given.size() == 1 ? 0 : d]);
  return out;
}

void require_at_least(const Shape& numbers, int64_t least, std::string_view name) {
  for (const Int number : numbers)
    require(number >= least, name, " must be ", least == 0 ? "0 or more" : "positive", ", got ", numbers);
}

Shape window_counts(const Shape& sizes, const Windows& w, bool ceil_mode) {
  Shape counts;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Int reach = w.dilation[d] * (w.kernel[d] - 1) + 1, left = sizes[d] + 2 * w.padding[d] - reach;
    require(left >= 0 || (ceil_mode && left + w.stride[d] - 1 >= 0), "a window of ", w.kernel, " with dilation ",
            w.dilation, " does not fit into ", sizes, " padded by ", w.padding);
    Int count = (ceil_mode ? left + w.stride[d] - 1 : left) / w.stride[d] + 1;
    if (ceil_mode && (count - 1) * w.stride[d] >= sizes[d] + w.padding[d]) count = count - 1;
    counts.push_back(count);
  }
  return counts;
}

Shape last_sizes(const Shape& shape, size_t count) { return Shape(shape.data() + (shape.size() - count), count); }

Shape leading_sizes(const Shape& shape, size_t count) { return Shape(shape.data(), shape.size() - count); }

Shape joined_sizes(Shape first, const Shape& second) {
  for (const Int size : second) first.push_back(size);
  return first;
}

}  // namespace fulgurite
