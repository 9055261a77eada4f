#pragma once
#include <type_traits>

#include "codegen/device_lib/math.h"
#include "executors/eager/kernels/common/compute.h"

// Sixteen computed numbers, f32 or f64, under one set of names: kernels over rows are written once for both.
namespace fulgurite::FULGURITE_KERNELS {

/// Sixteen doubles; functions without an instruction are computed lane by lane.
struct Doubles {
  double lane[lanes];
  __attribute__((always_inline)) Doubles() {}  // NOLINT(modernize-use-equals-default): not zeroed
  __attribute__((always_inline)) Doubles(double value) {
    for (int i = 0; i < lanes; ++i) lane[i] = value;
  }
};
#define FULGURITE_DOUBLES_FUNCTION(declaration, expression)      \
  FULGURITE_INLINE Doubles declaration {                         \
    Doubles result;                                              \
    for (int i = 0; i < lanes; ++i) result.lane[i] = expression; \
    return result;                                               \
  }
FULGURITE_DOUBLES_FUNCTION(operator+(const Doubles& a, const Doubles& b), a.lane[i] + b.lane[i])
FULGURITE_DOUBLES_FUNCTION(operator-(const Doubles& a, const Doubles& b), a.lane[i] - b.lane[i])
FULGURITE_DOUBLES_FUNCTION(operator*(const Doubles& a, const Doubles& b), a.lane[i] * b.lane[i])
FULGURITE_DOUBLES_FUNCTION(operator/(const Doubles& a, const Doubles& b), a.lane[i] / b.lane[i])
FULGURITE_DOUBLES_FUNCTION(multiply_add(const Doubles& a, const Doubles& b, const Doubles& c),
                           multiply_add(a.lane[i], b.lane[i], c.lane[i]))
FULGURITE_DOUBLES_FUNCTION(maximum(const Doubles& a, const Doubles& b),
                           ((a.lane[i] > b.lane[i]) | (a.lane[i] != a.lane[i])) ? a.lane[i] : b.lane[i])
FULGURITE_DOUBLES_FUNCTION(exp(const Doubles& x), __builtin_exp(x.lane[i]))
FULGURITE_DOUBLES_FUNCTION(log(const Doubles& x), __builtin_log(x.lane[i]))
FULGURITE_DOUBLES_FUNCTION(sqrt(const Doubles& x), __builtin_sqrt(x.lane[i]))
FULGURITE_DOUBLES_FUNCTION(load(const double* from), from[i])
#undef FULGURITE_DOUBLES_FUNCTION
FULGURITE_INLINE void store(double* to, const Doubles& value) {
  for (int i = 0; i < lanes; ++i) to[i] = value.lane[i];
}
FULGURITE_INLINE double sum_of_lanes(Doubles x) {
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) x.lane[i] += x.lane[i + half];
  return x.lane[0];
}
FULGURITE_INLINE double maximum_of_lanes(Doubles x) {
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      x.lane[i] = ((x.lane[i] > x.lane[i + half]) | (x.lane[i] != x.lane[i])) ? x.lane[i] : x.lane[i + half];
  return x.lane[0];
}

/// Sixteen numbers of the type T is computed in.
template <class T>
using Wides = std::conditional_t<std::is_same_v<Compute<T>, double>, Doubles, Floats>;

#if defined(__AVX512F__)
// Rows rarely end at a multiple of the lanes, so masked loads and stores are worth functions of their own.
FULGURITE_INLINE Floats load_masked(const float* from, int64_t count, float fill) {
  Floats result(fill);
  result.part[0] = __builtin_ia32_loadups512_mask(from, result.part[0], static_cast<uint16_t>((1u << count) - 1));
  return result;
}
FULGURITE_INLINE void store_masked(float* to, const Floats& value, int64_t count) {
  __builtin_ia32_storeups512_mask(to, value.part[0], static_cast<uint16_t>((1u << count) - 1));
}
inline constexpr bool has_masks = true;
#else
Floats load_masked(const float* from, int64_t count, float fill);
void store_masked(float* to, const Floats& value, int64_t count);
inline constexpr bool has_masks = false;
#endif

/// Loads the first `count` elements, or all lanes if there are as many; lanes after them are `fill`.
template <class Element>
FULGURITE_INLINE Wides<Element> load_up_to(const Element* from, int64_t count, Compute<Element> fill = 0) {
  if (count >= lanes) return load(from);
  if constexpr (has_masks && std::is_same_v<Element, float>) return load_masked(from, count > 0 ? count : 0, fill);
  Compute<Element> buffer[lanes];
  for (int i = 0; i < lanes; ++i) buffer[i] = i < count ? widen(from[i]) : fill;
  return load(buffer);
}
template <class Element>
FULGURITE_INLINE void store_up_to(Element* to, const Wides<Element>& value, int64_t count) {
  if (count >= lanes) {
    store(to, value);
    return;
  }
  if constexpr (has_masks && std::is_same_v<Element, float>) {
    store_masked(to, value, count > 0 ? count : 0);
    return;
  }
  Compute<Element> buffer[lanes];
  store(buffer, value);
  for (int i = 0; i < count; ++i) to[i] = narrow<Element>(buffer[i]);
}

template <class T>
inline constexpr T infinite = static_cast<T>(__builtin_inf());

constexpr int64_t whole_lanes(int64_t count) { return (count + lanes - 1) / lanes * lanes; }

}  // namespace fulgurite::FULGURITE_KERNELS
