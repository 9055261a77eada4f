#pragma once
#include <cmath>

#include "codegen/device_lib/math.h"
#include "executors/eager/kernels/common/rows.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The integer quotient rounded toward zero; the smallest number by -1 wraps, and a zero divisor is reported after the
/// loop.
template <Integer T>
bool is_divisible(T b, const RowParameters& p) {
  if (b == 0) __atomic_store_n(p.divided_by_zero, true, __ATOMIC_RELAXED);
  return b != 0 && b != -1;
}
template <Integer T>
T quotient(T a, T b, const RowParameters& p) {
  if (!is_divisible(b, p)) return static_cast<T>(0 - static_cast<Unsigned<T>>(a));
  return a / b;
}
template <Integer T>
T rest(T a, T b, const RowParameters& p) {
  return is_divisible(b, p) ? a % b : T(0);
}

/// The remainder of the quotient that is rounded toward zero.
struct Fmod {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return fmod(a, b); }
  static double apply(double a, double b, const RowParameters&) { return std::fmod(a, b); }
  template <Integer T>
  static T apply(T a, T b, const RowParameters& p) {
    return rest(a, b, p);
  }
};
}  // namespace fulgurite::FULGURITE_KERNELS
