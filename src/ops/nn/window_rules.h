#pragma once
#include "ops/core/rules.h"

namespace fulgurite {

/// One number for each of `count` dimensions; a single number applies to all.
Shape for_dimensions(std::span<const Int> given, size_t count, std::string_view name);
/// Requires each number to be at least `least`.
void require_at_least(const Shape& numbers, int64_t least, std::string_view name);

/// The layout of sliding windows: one number per dimension.
struct Windows {
  Shape kernel, stride, padding, dilation;
};

/// The number of windows over inputs of these sizes; with ceil_mode the last one may reach past the padded end, but
/// must begin before it.
Shape window_counts(const Shape& sizes, const Windows& windows, bool ceil_mode);

/// The last `count` sizes of a shape, and those before them.
Shape last_sizes(const Shape& shape, size_t count);
Shape leading_sizes(const Shape& shape, size_t count);
Shape joined_sizes(Shape first, const Shape& second);

}  // namespace fulgurite
