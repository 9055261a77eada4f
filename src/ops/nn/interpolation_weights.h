#pragma once
#include <fulgurite/operators.h>

namespace fulgurite {

/// 1 - x.
Tensor rsub_one(const Tensor& x, SourceLocation at);
/// The cubic kernel of slope `a` at distances below 1, and from 1 to 2.
Tensor cubic_near(const Tensor& distance, double a, SourceLocation at);
Tensor cubic_far(const Tensor& distance, double a, SourceLocation at);
/// The weight of a tap for a coordinate `share` past an element: the element before it (tap 0), itself (1), and the two
/// after it; cubic, slope -0.75.
Tensor cubic_weight(const Tensor& share, int tap, SourceLocation at);

}  // namespace fulgurite
