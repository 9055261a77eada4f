// Activation functions with a form of their own, on vector.h's lanes. Shared by eager and generated kernels, so that
// both give the same bits.
#pragma once
#include "codegen/device_lib/math.h"

namespace fulgurite::FULGURITE_KERNELS {

inline constexpr double inverse_sqrt_2_pi = 0.39894228040143267794;
inline constexpr double sqrt_2_over_pi = 0.79788456080286535588;
inline constexpr double tanh_cubic = 0.044715;

/// x times the normal distribution's cumulative probability at x, from the tail on either side, so that nothing
/// cancels.
FULGURITE_INLINE Floats gelu(const Floats& x) {
  const Floats size = tail_argument(x), lost = times_tail(size, normal_tail(size));
  const Floats below = select(x == Floats(-__builtin_inff()), Floats(__builtin_nanf("")), -lost);
  return select(x < Floats(0.f), below, x - lost);
}
FULGURITE_INLINE Floats gelu_backward(const Floats& g, const Floats& x) {
  const NormalTail normal = normal_tail(tail_argument(x));
  const Floats tail = times_tail(Floats(1.f), normal);
  const Floats cumulative = select(x < Floats(0.f), tail, Floats(1.f) - tail);
  return g * multiply_add(x, bell_of(normal) * Floats(inverse_sqrt_2_pi), cumulative);
}

/// 0.5 x (1 + tanh(u)) = x sigmoid(2u): one exponential, and the division that the gradient has too.
FULGURITE_INLINE Floats gelu_tanh(const Floats& x) {
  const Floats minus_2u =
      x * multiply_add(x * x, Floats(-2 * sqrt_2_over_pi * tanh_cubic), Floats(-2 * sqrt_2_over_pi));
  return x * (Floats(1.f) / (Floats(1.f) + exp(minus_2u)));
}
/// With s = sigmoid(2u) and y = x s, which is the activation: s + (y - y s) 2u'.
FULGURITE_INLINE Floats gelu_tanh_backward(const Floats& g, const Floats& x) {
  const Floats square = x * x;
  const Floats minus_2u =
      x * multiply_add(square, Floats(-2 * sqrt_2_over_pi * tanh_cubic), Floats(-2 * sqrt_2_over_pi));
  const Floats slope = multiply_add(square, Floats(6 * sqrt_2_over_pi * tanh_cubic), Floats(2 * sqrt_2_over_pi));
  const Floats s = Floats(1.f) / (Floats(1.f) + exp(minus_2u));
  const Floats y = x * s;
  return g * multiply_add(multiply_add(-y, s, y), slope, s);
}

}  // namespace fulgurite::FULGURITE_KERNELS
