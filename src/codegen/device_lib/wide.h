// Sixteen 64-bit numbers under the names of device_lib/rows.h's 32-bit ones. Functions without an instruction call the
// C library lane by lane.
#pragma once
#include "codegen/device_lib/reductions.h"

namespace fulgurite::FULGURITE_KERNELS {

inline constexpr int wide_parts = 2 * parts;
#if defined(__AVX512F__)
#define FULGURITE_EACH_WIDE_PART(...) \
  { FULGURITE_2_PARTS(__VA_ARGS__) }
#elif defined(__AVX__)
#define FULGURITE_EACH_WIDE_PART(...) \
  { FULGURITE_4_PARTS(__VA_ARGS__) }
#else
#define FULGURITE_EACH_WIDE_PART(...)    \
  for (int p = 0; p < wide_parts; ++p) { \
    __VA_ARGS__;                         \
  }
#endif
inline constexpr int wide_lanes_of_part = part_bytes / 8;
typedef long long WidePart __attribute__((vector_size(part_bytes)));

struct Doubles {
  DoublePart part[wide_parts];
  __attribute__((always_inline)) Doubles() {}
  __attribute__((always_inline)) Doubles(double value) { FULGURITE_EACH_WIDE_PART(part[p] = value - DoublePart{}); }
  FULGURITE_COPIED_BY_PARTS(Doubles, FULGURITE_EACH_WIDE_PART)
  __attribute__((always_inline)) double& operator[](int lane) { return ((double*)part)[lane]; }
  __attribute__((always_inline)) double operator[](int lane) const { return ((const double*)part)[lane]; }
};
struct Longs {
  WidePart part[wide_parts];
  __attribute__((always_inline)) Longs() {}
  __attribute__((always_inline)) Longs(long long value) { FULGURITE_EACH_WIDE_PART(part[p] = WidePart{} + value); }
  FULGURITE_COPIED_BY_PARTS(Longs, FULGURITE_EACH_WIDE_PART)
  __attribute__((always_inline)) long long& operator[](int lane) { return ((long long*)part)[lane]; }
  __attribute__((always_inline)) long long operator[](int lane) const { return ((const long long*)part)[lane]; }
};

#define FULGURITE_WIDE_OPERATOR(Type, Whole, Part, op)                                      \
  FULGURITE_INLINE Type operator op(const Type& a, const Type& b) {                         \
    Type result;                                                                            \
    FULGURITE_EACH_WIDE_PART(result.part[p] = (Whole)((Part)a.part[p] op(Part) b.part[p])); \
    return result;                                                                          \
  }
FULGURITE_WIDE_OPERATOR(Doubles, DoublePart, DoublePart, +)
FULGURITE_WIDE_OPERATOR(Doubles, DoublePart, DoublePart, -)
FULGURITE_WIDE_OPERATOR(Doubles, DoublePart, DoublePart, *)
FULGURITE_WIDE_OPERATOR(Doubles, DoublePart, DoublePart, /)
FULGURITE_WIDE_OPERATOR(Longs, WidePart, LongPart, +)  // integers wrap around
FULGURITE_WIDE_OPERATOR(Longs, WidePart, LongPart, -)
FULGURITE_WIDE_OPERATOR(Longs, WidePart, LongPart, *)
FULGURITE_WIDE_OPERATOR(Longs, WidePart, LongPart, &)
FULGURITE_WIDE_OPERATOR(Longs, WidePart, LongPart, |)
FULGURITE_WIDE_OPERATOR(Longs, WidePart, LongPart, ^)
#undef FULGURITE_WIDE_OPERATOR

/// Converts a mask of 64 bits a lane to one of 32, and back.
FULGURITE_INLINE Ints narrow_mask(const WidePart* wide) {
  int mask[lanes];
  for (int lane = 0; lane < lanes; ++lane) mask[lane] = (int)((const long long*)wide)[lane];
  return load(mask);
}
FULGURITE_INLINE Longs to_longs(const Ints& a) {
  int narrow[lanes];
  store(narrow, a);
  Longs result;
  for (int lane = 0; lane < lanes; ++lane) result[lane] = narrow[lane];
  return result;
}
#define FULGURITE_WIDE_COMPARISON(Type, op)                                 \
  FULGURITE_INLINE Ints operator op(const Type& a, const Type& b) {         \
    WidePart mask[wide_parts];                                              \
    FULGURITE_EACH_WIDE_PART(mask[p] = (WidePart)(a.part[p] op b.part[p])); \
    return narrow_mask(mask);                                               \
  }
#define FULGURITE_WIDE_COMPARISONS(Type) \
  FULGURITE_WIDE_COMPARISON(Type, ==)    \
  FULGURITE_WIDE_COMPARISON(Type, !=)    \
  FULGURITE_WIDE_COMPARISON(Type, <)     \
  FULGURITE_WIDE_COMPARISON(Type, <=)    \
  FULGURITE_WIDE_COMPARISON(Type, >)     \
  FULGURITE_WIDE_COMPARISON(Type, >=)
FULGURITE_WIDE_COMPARISONS(Doubles)
FULGURITE_WIDE_COMPARISONS(Longs)
#undef FULGURITE_WIDE_COMPARISONS
#undef FULGURITE_WIDE_COMPARISON

FULGURITE_INLINE Doubles operator-(const Doubles& a) {
  Doubles result;
  FULGURITE_EACH_WIDE_PART(result.part[p] = -a.part[p]);
  return result;
}
FULGURITE_INLINE Doubles multiply_add(const Doubles& a, const Doubles& b, const Doubles& c) {
  Doubles result;
  FULGURITE_EACH_WIDE_PART(result.part[p] = multiply_add(a.part[p], b.part[p], c.part[p]));
  return result;
}
FULGURITE_INLINE Longs operator-(const Longs& a) { return Longs(0) - a; }
FULGURITE_INLINE Longs operator~(const Longs& a) { return Longs(-1) ^ a; }
FULGURITE_INLINE Longs select(const Ints& mask, const Longs& a, const Longs& b) {
  const Longs wide = to_longs(mask);
  return (wide & a) | (~wide & b);
}
FULGURITE_INLINE Doubles select(const Ints& mask, const Doubles& a, const Doubles& b) {
  const Longs wide = to_longs(mask);
  Doubles result;
  FULGURITE_EACH_WIDE_PART(result.part[p] = wide.part[p] ? a.part[p] : b.part[p]);
  return result;
}

// Conversions with C's semantics.
#define FULGURITE_CONVERSION(To, name, From, type)                         \
  FULGURITE_INLINE To name(const From& a) {                                \
    To result;                                                             \
    for (int lane = 0; lane < lanes; ++lane) result[lane] = (type)a[lane]; \
    return result;                                                         \
  }
FULGURITE_CONVERSION(Doubles, to_doubles, Longs, double)
FULGURITE_CONVERSION(Longs, to_longs, Doubles, long long)
#undef FULGURITE_CONVERSION
#define FULGURITE_WIDENING(To, name, From, type)                          \
  FULGURITE_INLINE To name(const From& a) {                               \
    type narrow[lanes];                                                   \
    store(narrow, a);                                                     \
    To result;                                                            \
    for (int lane = 0; lane < lanes; ++lane) result[lane] = narrow[lane]; \
    return result;                                                        \
  }
FULGURITE_WIDENING(Doubles, to_doubles, Floats, float)
FULGURITE_WIDENING(Doubles, to_doubles, Ints, int)
FULGURITE_WIDENING(Longs, to_longs, Floats, float)
#undef FULGURITE_WIDENING
#define FULGURITE_NARROWING(To, name, From, type)                          \
  FULGURITE_INLINE To name(const From& a) {                                \
    type narrow[lanes];                                                    \
    for (int lane = 0; lane < lanes; ++lane) narrow[lane] = (type)a[lane]; \
    return load(narrow);                                                   \
  }
FULGURITE_NARROWING(Floats, to_floats, Doubles, float)
FULGURITE_NARROWING(Floats, to_floats, Longs, float)
FULGURITE_NARROWING(Ints, to_ints, Doubles, int)
FULGURITE_NARROWING(Ints, to_ints, Longs, int)
#undef FULGURITE_NARROWING

// Functions. Those of the C library are called one lane at a time.
#define FULGURITE_DOUBLES_FUNCTION(name, value)     \
  FULGURITE_INLINE Doubles name(const Doubles& a) { \
    Doubles result;                                 \
    for (int lane = 0; lane < lanes; ++lane) {      \
      const double x = a[lane];                     \
      result[lane] = value;                         \
    }                                               \
    return result;                                  \
  }
FULGURITE_DOUBLES_FUNCTION(exp, __builtin_exp(x))
FULGURITE_DOUBLES_FUNCTION(exp2, __builtin_exp2(x))
FULGURITE_DOUBLES_FUNCTION(expm1, __builtin_expm1(x))
FULGURITE_DOUBLES_FUNCTION(log, __builtin_log(x))
FULGURITE_DOUBLES_FUNCTION(log2, __builtin_log2(x))
FULGURITE_DOUBLES_FUNCTION(log10, __builtin_log10(x))
FULGURITE_DOUBLES_FUNCTION(log1p, __builtin_log1p(x))
FULGURITE_DOUBLES_FUNCTION(sqrt, __builtin_sqrt(x))
FULGURITE_DOUBLES_FUNCTION(sin, __builtin_sin(x))
FULGURITE_DOUBLES_FUNCTION(cos, __builtin_cos(x))
FULGURITE_DOUBLES_FUNCTION(tan, __builtin_tan(x))
FULGURITE_DOUBLES_FUNCTION(asin, __builtin_asin(x))
FULGURITE_DOUBLES_FUNCTION(acos, __builtin_acos(x))
FULGURITE_DOUBLES_FUNCTION(atan, __builtin_atan(x))
FULGURITE_DOUBLES_FUNCTION(tanh, __builtin_tanh(x))
FULGURITE_DOUBLES_FUNCTION(erf, __builtin_erf(x))
FULGURITE_DOUBLES_FUNCTION(sigmoid, 1 / (1 + __builtin_exp(-x)))
FULGURITE_DOUBLES_FUNCTION(silu, x / (1 + __builtin_exp(-x)))
FULGURITE_DOUBLES_FUNCTION(gelu, x * 0.5 * __builtin_erfc(-x * 0.70710678118654752440))
FULGURITE_DOUBLES_FUNCTION(gelu_tanh, x / (1 + __builtin_exp(-2 * 0.79788456080286535588 * x * (1 + 0.044715 * x * x))))
FULGURITE_DOUBLES_FUNCTION(abs, __builtin_fabs(x))
FULGURITE_DOUBLES_FUNCTION(sign, double(x > 0) - double(x < 0))
FULGURITE_DOUBLES_FUNCTION(floor, __builtin_floor(x))
FULGURITE_DOUBLES_FUNCTION(ceil, __builtin_ceil(x))
FULGURITE_DOUBLES_FUNCTION(trunc, __builtin_trunc(x))
FULGURITE_DOUBLES_FUNCTION(round_to_even, __builtin_nearbyint(x))
#undef FULGURITE_DOUBLES_FUNCTION
FULGURITE_INLINE Doubles maximum(const Doubles& a, const Doubles& b) { return select((a > b) | (a != a), a, b); }
FULGURITE_INLINE Doubles minimum(const Doubles& a, const Doubles& b) { return select((a < b) | (a != a), a, b); }
FULGURITE_INLINE Longs maximum(const Longs& a, const Longs& b) { return select(a > b, a, b); }
FULGURITE_INLINE Longs minimum(const Longs& a, const Longs& b) { return select(a < b, a, b); }
FULGURITE_INLINE Longs abs(const Longs& a) { return select(a < Longs(0), -a, a); }
FULGURITE_INLINE Longs sign(const Longs& a) { return to_longs((a < Longs(0)) - (a > Longs(0))); }
FULGURITE_INLINE Doubles atan2(const Doubles& a, const Doubles& b) {
  Doubles result;
  for (int lane = 0; lane < lanes; ++lane) result[lane] = __builtin_atan2(a[lane], b[lane]);
  return result;
}
FULGURITE_INLINE Doubles copy_sign(const Doubles& a, const Doubles& b) {
  Doubles result;
  for (int lane = 0; lane < lanes; ++lane) result[lane] = __builtin_copysign(a[lane], b[lane]);
  return result;
}
FULGURITE_INLINE Doubles gelu_backward(const Doubles& g, const Doubles& y) {
  Doubles result;
  for (int lane = 0; lane < lanes; ++lane) {
    const double x = y[lane];
    result[lane] = g[lane] * (0.5 * __builtin_erfc(-x * 0.70710678118654752440) +
                              x * 0.39894228040143267794 * __builtin_exp(-0.5 * x * x));
  }
  return result;
}
FULGURITE_INLINE Doubles gelu_tanh_backward(const Doubles& g, const Doubles& y) {
  Doubles result;
  for (int lane = 0; lane < lanes; ++lane) {
    const double x = y[lane], scale = 0.79788456080286535588, cubic = 0.044715;
    const double s = 1 / (1 + __builtin_exp(-2 * scale * x * (1 + cubic * x * x)));
    result[lane] = g[lane] * (s + x * s * (1 - s) * 2 * scale * (1 + 3 * cubic * x * x));
  }
  return result;
}

#define FULGURITE_WIDE_MEMORY(Type, Element)                                                               \
  FULGURITE_INLINE Type load(const Element* row, const Columns& c) {                                       \
    Type result(0);                                                                                        \
    if (c.is_whole()) __builtin_memcpy(result.part, row + c.at, sizeof(result.part));                      \
    else __builtin_memcpy(result.part, row + c.at, c.count() * sizeof(Element));                           \
    return result;                                                                                         \
  }                                                                                                        \
  FULGURITE_INLINE void store(Element* row, const Columns& c, const Type& value) {                         \
    if (c.is_whole()) __builtin_memcpy(row + c.at, value.part, sizeof(value.part));                        \
    else __builtin_memcpy(row + c.at, value.part, c.count() * sizeof(Element));                            \
  }                                                                                                        \
  FULGURITE_INLINE void stream(Element* to, const Type& value) {                                           \
    FULGURITE_EACH_WIDE_PART(stream_part((char*)to + p * part_bytes, value.part[p]));                      \
  }                                                                                                        \
  FULGURITE_INLINE Type load_one(const Element* from) { return Type(*from); }                              \
  FULGURITE_INLINE Type keep_inside(const Columns& c, const Type& x, const Type& fill) {                   \
    return c.is_whole() ? x : select(c.are_inside(), x, fill);                                             \
  }                                                                                                        \
  FULGURITE_INLINE Element sum_of_lanes(Type x) {                                                          \
    for (int half = lanes / 2; half > 0; half /= 2)                                                        \
      for (int lane = 0; lane < half; ++lane) x[lane] = x[lane] + x[lane + half];                          \
    return x[0];                                                                                           \
  }                                                                                                        \
  FULGURITE_INLINE Element maximum_of_lanes(Type x) {                                                      \
    for (int lane = 1; lane < lanes; ++lane) x[0] = x[lane] > x[0] || x[lane] != x[lane] ? x[lane] : x[0]; \
    return x[0];                                                                                           \
  }                                                                                                        \
  FULGURITE_INLINE Element minimum_of_lanes(Type x) {                                                      \
    for (int lane = 1; lane < lanes; ++lane) x[0] = x[lane] < x[0] || x[lane] != x[lane] ? x[lane] : x[0]; \
    return x[0];                                                                                           \
  }
FULGURITE_WIDE_MEMORY(Doubles, double)
FULGURITE_WIDE_MEMORY(Longs, long long)
#undef FULGURITE_WIDE_MEMORY
FULGURITE_INLINE void set_to_lowest(Doubles& x) { x = Doubles(-__builtin_inf()); }
FULGURITE_INLINE void set_to_highest(Doubles& x) { x = Doubles(__builtin_inf()); }
FULGURITE_INLINE void set_to_lowest(Longs& x) { x = Longs(-__LONG_LONG_MAX__ - 1); }
FULGURITE_INLINE void set_to_highest(Longs& x) { x = Longs(__LONG_LONG_MAX__); }

}  // namespace fulgurite::FULGURITE_KERNELS
