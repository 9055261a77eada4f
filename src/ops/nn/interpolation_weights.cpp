#include "ops/nn/interpolation_weights.h"

namespace fulgurite {

Tensor rsub_one(const Tensor& x, SourceLocation at) { return sub(1.0, x, 1, at); }

Tensor cubic_near(const Tensor& distance, double a, SourceLocation at) {
  const Tensor scaled = mul(distance, a + 2, at);
  const Tensor slope = sub(scaled, a + 3, 1, at);
  const Tensor square = mul(distance, distance, at);
  const Tensor product = mul(slope, square, at);
  return add(product, 1, 1, at);
}

Tensor cubic_far(const Tensor& distance, double a, SourceLocation at) {
  const Tensor scaled = mul(distance, a, at);
  const Tensor cubic = sub(scaled, 5 * a, 1, at);
  const Tensor squared = mul(cubic, distance, at);
  const Tensor square = add(squared, 8 * a, 1, at);
  const Tensor product = mul(square, distance, at);
  return sub(product, 4 * a, 1, at);
}

Tensor cubic_weight(const Tensor& share, int tap, SourceLocation at) {
  constexpr double slope = -0.75;
  switch (tap) {
    case 0: return cubic_far(add(share, 1, 1, at), slope, at);
    case 1: return cubic_near(share, slope, at);
    case 2: return cubic_near(rsub_one(share, at), slope, at);
    default: return cubic_far(sub(2.0, share, 1, at), slope, at);
  }
}

}  // namespace fulgurite
