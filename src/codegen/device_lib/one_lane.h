// One number under the names of device_lib/vector.h's sixteen, for device_lib/math.h and the functions built on it: the
// same algorithms, without vectors. For the scalar form of generated kernels.
#pragma once

#ifndef FULGURITE_KERNELS
#define FULGURITE_KERNELS kernels
#endif
#define FULGURITE_INLINE static inline __attribute__((always_inline))

namespace fulgurite::FULGURITE_KERNELS {

inline constexpr int lanes = 1;

struct BFloat16 {
  unsigned short bits;
};
struct Float16 {
  unsigned short bits;
};

/// An integer that wraps around; also the result of a comparison: all bits set where it holds.
struct Ints {
  unsigned bits;
  Ints(int value = 0) : bits((unsigned)value) {}
  int value() const { return (int)bits; }
};
struct Floats {
  float value;
  Floats(float number = 0) : value(number) {}
};

FULGURITE_INLINE Ints mask_of(bool holds) { return Ints(holds ? -1 : 0); }
FULGURITE_INLINE Floats operator+(const Floats& a, const Floats& b) { return a.value + b.value; }
FULGURITE_INLINE Floats operator-(const Floats& a, const Floats& b) { return a.value - b.value; }
FULGURITE_INLINE Floats operator*(const Floats& a, const Floats& b) { return a.value * b.value; }
FULGURITE_INLINE Floats operator/(const Floats& a, const Floats& b) { return a.value / b.value; }
FULGURITE_INLINE Floats operator-(const Floats& a) { return -a.value; }
FULGURITE_INLINE Ints operator==(const Floats& a, const Floats& b) { return mask_of(a.value == b.value); }
FULGURITE_INLINE Ints operator!=(const Floats& a, const Floats& b) { return mask_of(a.value != b.value); }
FULGURITE_INLINE Ints operator<(const Floats& a, const Floats& b) { return mask_of(a.value < b.value); }
FULGURITE_INLINE Ints operator<=(const Floats& a, const Floats& b) { return mask_of(a.value <= b.value); }
FULGURITE_INLINE Ints operator>(const Floats& a, const Floats& b) { return mask_of(a.value > b.value); }
FULGURITE_INLINE Ints operator>=(const Floats& a, const Floats& b) { return mask_of(a.value >= b.value); }
FULGURITE_INLINE Ints operator+(const Ints& a, const Ints& b) { return Ints((int)(a.bits + b.bits)); }
FULGURITE_INLINE Ints operator-(const Ints& a, const Ints& b) { return Ints((int)(a.bits - b.bits)); }
FULGURITE_INLINE Ints operator&(const Ints& a, const Ints& b) { return Ints((int)(a.bits & b.bits)); }
FULGURITE_INLINE Ints operator|(const Ints& a, const Ints& b) { return Ints((int)(a.bits | b.bits)); }
FULGURITE_INLINE Ints operator^(const Ints& a, const Ints& b) { return Ints((int)(a.bits ^ b.bits)); }
FULGURITE_INLINE Ints operator~(const Ints& a) { return Ints((int)~a.bits); }
FULGURITE_INLINE Ints operator!=(const Ints& a, const Ints& b) { return mask_of(a.bits != b.bits); }
FULGURITE_INLINE Ints operator<(const Ints& a, const Ints& b) { return mask_of(a.value() < b.value()); }
FULGURITE_INLINE Ints shift_left(const Ints& a, int count) { return Ints((int)(a.bits << count)); }
FULGURITE_INLINE Ints shift_right_signed(const Ints& a, int count) { return Ints(a.value() >> count); }
FULGURITE_INLINE Floats select(const Ints& mask, const Floats& a, const Floats& b) { return mask.bits ? a : b; }
FULGURITE_INLINE bool any(const Ints& mask) { return mask.bits != 0; }

FULGURITE_INLINE Ints bits_of(const Floats& a) {
  Ints result;
  __builtin_memcpy(&result.bits, &a.value, sizeof(float));
  return result;
}
FULGURITE_INLINE Floats from_bits(const Ints& a) {
  Floats result;
  __builtin_memcpy(&result.value, &a.bits, sizeof(float));
  return result;
}
FULGURITE_INLINE Floats to_floats(const Ints& a) { return (float)a.value(); }

// a * b + c, rounded once where kernels of vectors do so.
#if defined(__FMA__)
/// Hides the number from the compiler: g++ computes -(a * b + c) as -(a * b) - c, whose zero has another sign.
template <class Number>
FULGURITE_INLINE Number uncombined(Number x) {
  asm("" : "+m"(x));
  return x;
}
FULGURITE_INLINE float multiply_add(float a, float b, float c) { return uncombined(__builtin_fmaf(a, b, c)); }
FULGURITE_INLINE double multiply_add(double a, double b, double c) { return uncombined(__builtin_fma(a, b, c)); }
#else
FULGURITE_INLINE float multiply_add(float a, float b, float c) { return a * b + c; }
FULGURITE_INLINE double multiply_add(double a, double b, double c) { return a * b + c; }
#endif
FULGURITE_INLINE Floats multiply_add(const Floats& a, const Floats& b, const Floats& c) {
  return multiply_add(a.value, b.value, c.value);
}
FULGURITE_INLINE Floats abs(const Floats& x) { return __builtin_fabsf(x.value); }
FULGURITE_INLINE Floats copy_sign(const Floats& a, const Floats& b) { return __builtin_copysignf(a.value, b.value); }
FULGURITE_INLINE Floats trunc(const Floats& x) { return __builtin_truncf(x.value); }
FULGURITE_INLINE Floats sqrt(const Floats& x) { return __builtin_sqrtf(x.value); }
FULGURITE_INLINE Floats lesser_or_second(const Floats& a, const Floats& b) { return a.value < b.value ? a : b; }
FULGURITE_INLINE Floats greater_or_second(const Floats& a, const Floats& b) { return a.value > b.value ? a : b; }
/// A number whose lowest bits hold the nearest integer, ties to even, up to 2^22.
FULGURITE_INLINE Floats with_integer_bits(const Floats& x) { return x + Floats(0x1.8p23f); }
FULGURITE_INLINE Floats integer_of(const Floats& with_bits) { return with_bits - Floats(0x1.8p23f); }
inline constexpr float zero_power = -254;  // a factor of `scale` is 0
/// x * 2^n for with_bits = with_integer_bits(n), n in [-254, 254]; rounded once.
FULGURITE_INLINE Floats scale(const Floats& x, const Floats& with_bits, const Floats&) {
  const Ints bits = bits_of(with_bits) - Ints(0x4b400000), half = shift_right_signed(bits, 1);
  return (x * from_bits(shift_left(half + Ints(127), 23))) * from_bits(shift_left(bits - half + Ints(127), 23));
}
FULGURITE_INLINE Floats scale(const Floats& x, const Floats& with_bits) {
  return scale(x, with_bits, integer_of(with_bits));
}
FULGURITE_INLINE Floats load(const float* from) { return *from; }
FULGURITE_INLINE void store(float* to, const Floats& value) { *to = value.value; }

}  // namespace fulgurite::FULGURITE_KERNELS
