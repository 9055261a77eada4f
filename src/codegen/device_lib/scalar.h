// Building blocks of the scalar form of generated kernels: one element at a time, with the bits of the form for
// vectors. Reductions add in the same order.
#pragma once
#include "codegen/device_lib/activations.h"
#include "codegen/device_lib/angles.h"
#include "codegen/device_lib/launch.h"

namespace fulgurite::FULGURITE_KERNELS {

struct Boolean {
  unsigned char byte;
};
inline constexpr float infinity = __builtin_inff(), not_a_number = __builtin_nanf("");

// Integers wrap around.
FULGURITE_INLINE int add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
FULGURITE_INLINE int subtract(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
FULGURITE_INLINE int multiply(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
FULGURITE_INLINE long long add(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
}
FULGURITE_INLINE long long subtract(long long a, long long b) {
  return (long long)((unsigned long long)a - (unsigned long long)b);
}
FULGURITE_INLINE long long multiply(long long a, long long b) {
  return (long long)((unsigned long long)a * (unsigned long long)b);
}
FULGURITE_INLINE float add(float a, float b) { return a + b; }
FULGURITE_INLINE double add(double a, double b) { return a + b; }
FULGURITE_INLINE int negate(int a) { return subtract(0, a); }
FULGURITE_INLINE long long negate(long long a) { return subtract(0LL, a); }
FULGURITE_INLINE int abs(int a) { return a < 0 ? negate(a) : a; }
FULGURITE_INLINE long long abs(long long a) { return a < 0 ? negate(a) : a; }

template <class Number>
FULGURITE_INLINE Number select(bool mask, Number a, Number b) {
  return mask ? a : b;
}
template <class Number>
FULGURITE_INLINE Number maximum(Number a, Number b) {
  return a > b || a != a ? a : b;
}
template <class Number>
FULGURITE_INLINE Number minimum(Number a, Number b) {
  return a < b || a != a ? a : b;
}
template <class Number>
FULGURITE_INLINE Number sign(Number x) {
  return (Number)((x > 0) - (x < 0));
}

// Conversions and roundings.
template <class Number>
FULGURITE_INLINE float to_float(Number x) {
  return (float)x;
}
template <class Number>
FULGURITE_INLINE double to_double(Number x) {
  return (double)x;
}
template <class Number>
FULGURITE_INLINE int to_int(Number x) {
  return (int)x;
}
template <class Number>
FULGURITE_INLINE long long to_long(Number x) {
  return (long long)x;
}
FULGURITE_INLINE int wrap_16(int x) { return (short)x; }
FULGURITE_INLINE int wrap_8(int x) { return (signed char)x; }
FULGURITE_INLINE int wrap_unsigned_8(int x) { return (unsigned char)x; }
FULGURITE_INLINE unsigned bits_of(float x) { return bits_of(Floats(x)).bits; }
FULGURITE_INLINE float float_of(unsigned bits) { return from_bits(Ints((int)bits)).value; }
/// The upper half of the float, rounded to nearest, ties to even; NaN becomes quiet.
FULGURITE_INLINE BFloat16 to_bfloat16(float x) {
  const unsigned bits = bits_of(x);
  if (x != x) return {(unsigned short)(bits >> 16 | 0x40)};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
FULGURITE_INLINE float from_bfloat16(BFloat16 x) { return float_of((unsigned)x.bits << 16); }
/// Divides by the unit of the last place, rounds to a whole number, ties to even, and packs it.
FULGURITE_INLINE Float16 to_float16(float x) {
  const unsigned bits = bits_of(x), sign = bits >> 16 & 0x8000;
  const float size = __builtin_fabsf(x);
  if (x != x) return {(unsigned short)(sign | 0x7e00 | (bits >> 13 & 0x3ff))};
  if (size >= 65520) return {(unsigned short)(sign | 0x7c00)};
  if (size < 0x1p-14f) return {(unsigned short)(sign | (unsigned)__builtin_nearbyintf(size * 0x1p24f))};
  const unsigned exponent = (bits_of(size) >> 23) - 112;
  const float unit = float_of((bits_of(size) & 0x7f800000) - (10u << 23));
  return {(unsigned short)(sign | ((exponent << 10) + (unsigned)__builtin_nearbyintf(size / unit) - 1024))};
}
FULGURITE_INLINE float from_float16(Float16 x) {
  const unsigned exponent = x.bits >> 10 & 31, fraction = x.bits & 0x3ff, sign = (unsigned)(x.bits & 0x8000) << 16;
  if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
  const float size = exponent == 0 ? (float)fraction * 0x1p-24f : float_of((exponent + 112) << 23 | fraction << 13);
  return float_of(sign | bits_of(size));
}
FULGURITE_INLINE float round_to_bfloat16(float x) { return from_bfloat16(to_bfloat16(x)); }
FULGURITE_INLINE float round_to_float16(float x) { return from_float16(to_float16(x)); }

/// Hides a number from the compiler, which would round a function of a constant correctly: the C library may not, and
/// kernels of vectors call the library.
FULGURITE_INLINE double hidden(double x) {
  asm("" : "+m"(x));
  return x;
}
// Functions of f32 that have an algorithm for lanes use it with one lane; those of f64 are the C library's.
#define FULGURITE_SCALAR_FUNCTION(name, single, wide)     \
  FULGURITE_INLINE float name(float x) { return single; } \
  FULGURITE_INLINE double name(double x) { return wide; }
#define FULGURITE_SERIES(name, wide)                                     \
  FULGURITE_INLINE float name(float x) { return name(Floats(x)).value; } \
  FULGURITE_INLINE double name(double given) {                           \
    const double x = hidden(given);                                      \
    return wide;                                                         \
  }
FULGURITE_SCALAR_FUNCTION(abs, __builtin_fabsf(x), __builtin_fabs(x))
FULGURITE_SCALAR_FUNCTION(floor, __builtin_floorf(x), __builtin_floor(x))
FULGURITE_SCALAR_FUNCTION(ceil, __builtin_ceilf(x), __builtin_ceil(x))
FULGURITE_SCALAR_FUNCTION(trunc, __builtin_truncf(x), __builtin_trunc(x))
FULGURITE_SCALAR_FUNCTION(round_to_even, __builtin_nearbyintf(x), __builtin_nearbyint(x))
FULGURITE_SCALAR_FUNCTION(sqrt, __builtin_sqrtf(x), __builtin_sqrt(x))
FULGURITE_SERIES(exp, __builtin_exp(x))
FULGURITE_SERIES(exp2, __builtin_exp2(x))
FULGURITE_SERIES(expm1, __builtin_expm1(x))
FULGURITE_SERIES(log, __builtin_log(x))
FULGURITE_SERIES(log2, __builtin_log2(x))
FULGURITE_SERIES(log10, __builtin_log10(x))
FULGURITE_SERIES(log1p, __builtin_log1p(x))
FULGURITE_SERIES(sin, __builtin_sin(x))
FULGURITE_SERIES(cos, __builtin_cos(x))
FULGURITE_SERIES(tan, __builtin_tan(x))
FULGURITE_SERIES(asin, __builtin_asin(x))
FULGURITE_SERIES(acos, __builtin_acos(x))
FULGURITE_SERIES(atan, __builtin_atan(x))
FULGURITE_SERIES(tanh, __builtin_tanh(x))
FULGURITE_SERIES(erf, __builtin_erf(x))
FULGURITE_SERIES(sigmoid, 1 / (1 + __builtin_exp(-x)))
FULGURITE_SERIES(silu, x / (1 + __builtin_exp(-x)))
FULGURITE_SERIES(gelu, x * 0.5 * __builtin_erfc(-x * 0.70710678118654752440))
FULGURITE_SERIES(gelu_tanh, x / (1 + __builtin_exp(-2 * sqrt_2_over_pi * x * (1 + tanh_cubic * x * x))))
#undef FULGURITE_SERIES
#undef FULGURITE_SCALAR_FUNCTION
FULGURITE_INLINE float copy_sign(float a, float b) { return __builtin_copysignf(a, b); }
FULGURITE_INLINE double copy_sign(double a, double b) { return __builtin_copysign(a, b); }
FULGURITE_INLINE float fmod(float a, float b) { return __builtin_fmodf(a, b); }
FULGURITE_INLINE float atan2(float a, float b) { return atan2(Floats(a), Floats(b)).value; }
FULGURITE_INLINE double atan2(double a, double b) { return __builtin_atan2(hidden(a), hidden(b)); }
FULGURITE_INLINE float gelu_backward(float g, float x) { return gelu_backward(Floats(g), Floats(x)).value; }
FULGURITE_INLINE float gelu_tanh_backward(float g, float x) { return gelu_tanh_backward(Floats(g), Floats(x)).value; }
FULGURITE_INLINE double gelu_backward(double g, double given) {
  const double x = hidden(given);
  return g * (0.5 * __builtin_erfc(-x * 0.70710678118654752440) + x * inverse_sqrt_2_pi * __builtin_exp(-0.5 * x * x));
}
FULGURITE_INLINE double gelu_tanh_backward(double g, double given) {
  const double x = hidden(given);
  const double scale = sqrt_2_over_pi, cubic = tanh_cubic;
  const double s = 1 / (1 + __builtin_exp(-2 * scale * x * (1 + cubic * x * x)));
  return g * (s + x * s * (1 - s) * 2 * scale * (1 + 3 * cubic * x * x));
}

// Memory.
template <class Number>
FULGURITE_INLINE Number load_element(const Number* from) {
  return *from;
}
FULGURITE_INLINE float load_element(const BFloat16* from) { return from_bfloat16(*from); }
FULGURITE_INLINE float load_element(const Float16* from) { return from_float16(*from); }
FULGURITE_INLINE bool load_element(const Boolean* from) { return from->byte != 0; }
FULGURITE_INLINE int load_element(const short* from) { return *from; }
FULGURITE_INLINE int load_element(const signed char* from) { return *from; }
FULGURITE_INLINE int load_element(const unsigned char* from) { return *from; }
template <class Number, class Value>
FULGURITE_INLINE void store_element(Number* to, Value value) {
  *to = (Number)value;
}
FULGURITE_INLINE void store_element(BFloat16* to, float value) { *to = to_bfloat16(value); }
FULGURITE_INLINE void store_element(Float16* to, float value) { *to = to_float16(value); }
FULGURITE_INLINE void store_element(Boolean* to, bool value) { to->byte = value; }

/// One row of all tensors.
class Row {
 public:
  Row(const Launch& launch, long number) : launch_(launch) {
    for (int d = launch.row_dimensions; d-- > 0; number /= launch.row_sizes[d])
      index_[d] = number % launch.row_sizes[d];
  }
  void next() {
    for (int d = launch_.row_dimensions; d-- > 0;) {
      if (++index_[d] < launch_.row_sizes[d]) return;
      index_[d] = 0;
    }
  }
  /// The row's first element in a tensor.
  template <class Element>
  Element* of(int operand) const {
    char* at = launch_.operands[operand].data;
    for (int d = 0; d < launch_.row_dimensions; ++d) at += index_[d] * launch_.operands[operand].strides[d];
    return (Element*)at;
  }
  /// Memory for a cached row of intermediate values.
  template <class Element>
  Element* kept(int number) const {
    return (Element*)(launch_.kept + number * launch_.kept_stride);
  }

 private:
  const Launch& launch_;
  decltype(Launch::row_sizes) index_;
};

inline constexpr int sums_of_row = 16;      // columns are added up in as many sums, by their index
inline constexpr long block_columns = 256;  // columns that are added up before blocks are joined

/// A row's sum: in sixteen sums over blocks of columns, blocks joined pairwise, then a fixed tree.
template <class Number>
struct Sum {
  Number sums[sums_of_row] = {}, joined[48][sums_of_row];
  long blocks = 0;
  int depth = 0;

  void add(long column, Number x) {
    Number& sum = sums[column % sums_of_row];
    sum = FULGURITE_KERNELS::add(sum, x);
    if (column % block_columns != block_columns - 1) return;
    for (long n = blocks++; n & 1; n >>= 1) join_last();
    for (int k = 0; k < sums_of_row; ++k) joined[depth][k] = sums[k], sums[k] = 0;
    ++depth;
  }
  Number total() {
    while (depth > 0) join_last();
    for (int half = sums_of_row / 2; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) sums[k] = FULGURITE_KERNELS::add(sums[k], sums[k + half]);
    return sums[0];
  }

 private:
  void join_last() {
    --depth;
    for (int k = 0; k < sums_of_row; ++k) sums[k] = FULGURITE_KERNELS::add(joined[depth][k], sums[k]);
  }
};

// The lowest number of each type, and the highest.
FULGURITE_INLINE void set_limits(float& low, float& high) { low = -infinity, high = infinity; }
FULGURITE_INLINE void set_limits(double& low, double& high) { low = -__builtin_inf(), high = __builtin_inf(); }
FULGURITE_INLINE void set_limits(int& low, int& high) { low = -0x7fffffff - 1, high = 0x7fffffff; }
FULGURITE_INLINE void set_limits(long long& low, long long& high) {
  low = -__LONG_LONG_MAX__ - 1, high = __LONG_LONG_MAX__;
}

/// A row's maximum or minimum; NaN if any element is. Of zeros of both signs it is the one that kernels of vectors
/// find: f32 joins the sixteen columns by a tree, other types one after another.
template <class Number, Number (*better)(Number, Number), bool is_maximum>
struct Extremum {
  Number best[sums_of_row];
  Extremum() {
    Number low, high;
    set_limits(low, high);
    for (Number& one : best) one = is_maximum ? low : high;
  }
  void add(long column, Number x) {
    Number& one = best[column % sums_of_row];
    one = better(x, one);
  }
  Number total() {
    if (sizeof(Number) == 4) {
      for (int half = sums_of_row / 2; half > 0; half /= 2)
        for (int k = 0; k < half; ++k) best[k] = better(best[k], best[k + half]);
      return best[0];
    }
    for (int k = 1; k < sums_of_row; ++k)
      if (is_maximum ? best[k] > best[0] : best[k] < best[0]) best[0] = best[k];
      else if (best[k] != best[k]) best[0] = best[k];
    return best[0];
  }
};
template <class Number>
using RowMax = Extremum<Number, maximum<Number>, true>;
template <class Number>
using RowMin = Extremum<Number, minimum<Number>, false>;

/// The column sums over the rows of one launch: of `summed_rows` rows at a time, joined pairwise. The launch's operand
/// is zeros, with rows for the sums that wait to be joined; the first becomes the result.
template <class Number>
class ColumnSums {
 public:
  ColumnSums(const Launch& launch, int operand) : launch_(launch), sums_((Number*)launch.operands[operand].data) {}
  void add(long column, Number x) { sums_[column] = FULGURITE_KERNELS::add(sums_[column], x); }
  void end_row() {
    if (++rows_ % summed_rows != 0) return;
    for (long times = rows_ / summed_rows; times % 2 == 0; times /= 2) add_to_last();
    sums_ = (Number*)((char*)sums_ + launch_.kept_stride);
  }
  void finish() {
    for (long waiting = rows_ / summed_rows; waiting != 0; waiting &= waiting - 1) add_to_last();
  }

 private:
  void add_to_last() {
    Number* const last = (Number*)((char*)sums_ - launch_.kept_stride);
    for (long column = 0; column < launch_.columns; ++column) {
      last[column] = FULGURITE_KERNELS::add(last[column], sums_[column]);
      sums_[column] = 0;
    }
    sums_ = last;
  }

  const Launch& launch_;
  Number* sums_;
  long rows_ = 0;
};

}  // namespace fulgurite::FULGURITE_KERNELS
