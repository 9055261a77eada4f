// Sixteen numbers at a time, for handwritten and generated kernels. Includes nothing, so that a generated kernel
// compiles in milliseconds; the same source gives AVX-512, AVX2, SSE2 and plain code. Lanes are the same on all of
// them: a reduction adds the same numbers in the same order whatever the registers' width.
#pragma once

#ifndef FULGURITE_KERNELS
#define FULGURITE_KERNELS kernels
#endif
// Functions are inlined, or static: translation units built for different instruction sets must not share a copy.
#define FULGURITE_INLINE static inline __attribute__((always_inline))
#define FULGURITE_OUT_OF_LINE [[maybe_unused]] static __attribute__((noinline))

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX512F__)
inline constexpr int part_bytes = 64;
#elif defined(__AVX__)
inline constexpr int part_bytes = 32;
#else
inline constexpr int part_bytes = 16;
#endif
inline constexpr int lanes = 16;
inline constexpr int parts = lanes * 4 / part_bytes;
inline constexpr int part_lanes = part_bytes / 4;

typedef float FloatPart __attribute__((vector_size(part_bytes)));
typedef double DoublePart __attribute__((vector_size(part_bytes)));
typedef int IntPart __attribute__((vector_size(part_bytes)));
typedef unsigned UnsignedPart __attribute__((vector_size(part_bytes)));
typedef unsigned long long LongPart __attribute__((vector_size(part_bytes)));
typedef unsigned short HalfPart __attribute__((vector_size(part_bytes / 2)));

struct BFloat16 {
  unsigned short bits;
};
struct Float16 {
  unsigned short bits;
};

// A statement for each of a value's registers, number p. Unrolled by hand: loops would cost the compiler a third of its
// time.
#define FULGURITE_PART(number, ...) \
  {                                 \
    constexpr int p = number;       \
    __VA_ARGS__;                    \
  }
#define FULGURITE_2_PARTS(...) FULGURITE_PART(0, __VA_ARGS__) FULGURITE_PART(1, __VA_ARGS__)
#define FULGURITE_4_PARTS(...) \
  FULGURITE_2_PARTS(__VA_ARGS__) FULGURITE_PART(2, __VA_ARGS__) FULGURITE_PART(3, __VA_ARGS__)
#if defined(__AVX512F__)
#define FULGURITE_EACH_PART(...) FULGURITE_PART(0, __VA_ARGS__)
#elif defined(__AVX__)
#define FULGURITE_EACH_PART(...) \
  { FULGURITE_2_PARTS(__VA_ARGS__) }
#else
#define FULGURITE_EACH_PART(...) \
  { FULGURITE_4_PARTS(__VA_ARGS__) }
#endif

// g++ 12 copies a value of several registers through memory, in chunks shorter than the next load from there.
#if defined(__AVX512F__)
#define FULGURITE_COPIED_BY_PARTS(Type, each_part)
#else
#define FULGURITE_COPIED_BY_PARTS(Type, each_part)                                             \
  __attribute__((always_inline)) Type(const Type& from) { each_part(part[p] = from.part[p]); } \
  __attribute__((always_inline)) Type& operator=(const Type& from) {                           \
    each_part(part[p] = from.part[p]);                                                         \
    return *this;                                                                              \
  }
#endif

/// Sixteen 32-bit integers; also the result of a comparison: all bits set where it holds.
struct Ints {
  IntPart part[parts];
  __attribute__((always_inline)) Ints() {}
  __attribute__((always_inline)) Ints(int value) { FULGURITE_EACH_PART(part[p] = IntPart{} + value); }
  FULGURITE_COPIED_BY_PARTS(Ints, FULGURITE_EACH_PART)
};
/// Sixteen floats.
struct Floats {
  FloatPart part[parts];
  __attribute__((always_inline)) Floats() {}
  __attribute__((always_inline)) Floats(float value) { FULGURITE_EACH_PART(part[p] = value - FloatPart{}); }
  FULGURITE_COPIED_BY_PARTS(Floats, FULGURITE_EACH_PART)
};

#define FULGURITE_LANES_OPERATOR(Type, Whole, Part, op)                                \
  FULGURITE_INLINE Type operator op(const Type& a, const Type& b) {                    \
    Type result;                                                                       \
    FULGURITE_EACH_PART(result.part[p] = (Whole)((Part)a.part[p] op(Part) b.part[p])); \
    return result;                                                                     \
  }
FULGURITE_LANES_OPERATOR(Floats, FloatPart, FloatPart, +)
FULGURITE_LANES_OPERATOR(Floats, FloatPart, FloatPart, -)
FULGURITE_LANES_OPERATOR(Floats, FloatPart, FloatPart, *)
FULGURITE_LANES_OPERATOR(Floats, FloatPart, FloatPart, /)
FULGURITE_LANES_OPERATOR(Ints, IntPart, UnsignedPart, -)  // integers wrap around
FULGURITE_LANES_OPERATOR(Ints, IntPart, UnsignedPart, +)
FULGURITE_LANES_OPERATOR(Ints, IntPart, UnsignedPart, &)
FULGURITE_LANES_OPERATOR(Ints, IntPart, UnsignedPart, |)
FULGURITE_LANES_OPERATOR(Ints, IntPart, UnsignedPart, ^)
#undef FULGURITE_LANES_OPERATOR

#define FULGURITE_LANES_COMPARISON(op)                                  \
  FULGURITE_INLINE Ints operator op(const Floats& a, const Floats& b) { \
    Ints result;                                                        \
    FULGURITE_EACH_PART(result.part[p] = a.part[p] op b.part[p]);       \
    return result;                                                      \
  }                                                                     \
  FULGURITE_INLINE Ints operator op(const Ints& a, const Ints& b) {     \
    Ints result;                                                        \
    FULGURITE_EACH_PART(result.part[p] = a.part[p] op b.part[p]);       \
    return result;                                                      \
  }
FULGURITE_LANES_COMPARISON(==)
FULGURITE_LANES_COMPARISON(!=)
FULGURITE_LANES_COMPARISON(<)
FULGURITE_LANES_COMPARISON(<=)
FULGURITE_LANES_COMPARISON(>)
FULGURITE_LANES_COMPARISON(>=)
#undef FULGURITE_LANES_COMPARISON

FULGURITE_INLINE Floats operator-(const Floats& a) {
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = -a.part[p]);
  return result;
}
FULGURITE_INLINE Ints operator~(const Ints& a) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = ~a.part[p]);
  return result;
}
FULGURITE_INLINE Ints shift_left(const Ints& a, int count) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = (IntPart)((UnsignedPart)a.part[p] << count));
  return result;
}
/// Shifts zeros in.
FULGURITE_INLINE Ints shift_right(const Ints& a, int count) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = (IntPart)((UnsignedPart)a.part[p] >> count));
  return result;
}
/// Shifts copies of the sign in.
FULGURITE_INLINE Ints shift_right_signed(const Ints& a, int count) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = a.part[p] >> count);
  return result;
}

/// a where the mask holds, else b.
FULGURITE_INLINE Floats select(const Ints& mask, const Floats& a, const Floats& b) {
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = mask.part[p] ? a.part[p] : b.part[p]);
  return result;
}
FULGURITE_INLINE Ints select(const Ints& mask, const Ints& a, const Ints& b) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = mask.part[p] ? a.part[p] : b.part[p]);
  return result;
}
FULGURITE_INLINE Ints bits_of(const Floats& a) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = (IntPart)a.part[p]);
  return result;
}
FULGURITE_INLINE Floats from_bits(const Ints& a) {
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = (FloatPart)a.part[p]);
  return result;
}
FULGURITE_INLINE Floats to_floats(const Ints& a) {
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = __builtin_convertvector(a.part[p], FloatPart));
  return result;
}
/// Returns true if any lane's mask is set.
FULGURITE_INLINE bool any(const Ints& mask) {
#if defined(__AVX512F__)
  int bits;
  asm("vptestmd %1, %1, %%k1\n\tkmovw %%k1, %0" : "=r"(bits) : "v"(mask.part[0]) : "k1");
  return bits != 0;
#else
  IntPart all = mask.part[0];
  for (int p = 1; p < parts; ++p) all |= mask.part[p];
#if defined(__AVX__)
  return __builtin_ia32_movmskps256((FloatPart)all) != 0;
#elif defined(__SSE2__)
  return __builtin_ia32_movmskps((FloatPart)all) != 0;
#else
  int result = 0;
  for (int lane = 0; lane < part_lanes; ++lane) result |= all[lane];
  return result != 0;
#endif
#endif
}

/// The 64-bit product of the first lanes of each pair.
FULGURITE_INLINE Ints multiply_even(const Ints& a, const Ints& b) {
  Ints result;
#if defined(__AVX2__)
  FULGURITE_EACH_PART(asm("vpmuludq %2, %1, %0" : "=v"(result.part[p]) : "v"(a.part[p]), "v"(b.part[p])));
#else
  FULGURITE_EACH_PART(result.part[p] =
                          (IntPart)(((LongPart)a.part[p] & 0xffffffffull) * ((LongPart)b.part[p] & 0xffffffffull)));
#endif
  return result;
}
/// Shifts pairs of lanes right as 64 bits.
FULGURITE_INLINE Ints shift_right_pairs(const Ints& a, int count) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = (IntPart)((LongPart)a.part[p] >> count));
  return result;
}

// Simple functions.
// a * b + c, rounded once if the CPU has an instruction for it, else twice: the only products that are added without
// being rounded, because kernels are compiled with contraction off.
#if defined(__FMA__)
#if defined(__AVX512F__)
FULGURITE_INLINE FloatPart multiply_add(const FloatPart& a, const FloatPart& b, const FloatPart& c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, 0xffff, 4);  // 4: the current rounding mode
}
FULGURITE_INLINE DoublePart multiply_add(const DoublePart& a, const DoublePart& b, const DoublePart& c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, 0xff, 4);
}
#else
FULGURITE_INLINE FloatPart multiply_add(const FloatPart& a, const FloatPart& b, const FloatPart& c) {
  return __builtin_ia32_vfmaddps256(a, b, c);
}
FULGURITE_INLINE DoublePart multiply_add(const DoublePart& a, const DoublePart& b, const DoublePart& c) {
  return __builtin_ia32_vfmaddpd256(a, b, c);
}
#endif
FULGURITE_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FULGURITE_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
FULGURITE_INLINE FloatPart multiply_add(const FloatPart& a, const FloatPart& b, const FloatPart& c) {
  return a * b + c;
}
FULGURITE_INLINE DoublePart multiply_add(const DoublePart& a, const DoublePart& b, const DoublePart& c) {
  return a * b + c;
}
FULGURITE_INLINE float multiply_add(float a, float b, float c) { return a * b + c; }
FULGURITE_INLINE double multiply_add(double a, double b, double c) { return a * b + c; }
#endif
FULGURITE_INLINE Floats multiply_add(const Floats& a, const Floats& b, const Floats& c) {
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = multiply_add(a.part[p], b.part[p], c.part[p]));
  return result;
}
FULGURITE_INLINE Floats abs(const Floats& x) { return from_bits(bits_of(x) & Ints(0x7fffffff)); }
FULGURITE_INLINE Floats copy_sign(const Floats& magnitude, const Floats& sign) {
  return from_bits((bits_of(magnitude) & Ints(0x7fffffff)) | (bits_of(sign) & Ints((int)0x80000000u)));
}
/// Rounds to the nearest integer, ties to even.
FULGURITE_INLINE Floats round_to_even(const Floats& x) {
  const Floats magic = copy_sign(Floats(0x1p23f), x);
  const Floats rounded = copy_sign((x + magic) - magic, x);
  return select(abs(x) < Floats(0x1p23f), rounded, x);
}
FULGURITE_INLINE Floats floor(const Floats& x) {
  const Floats rounded = round_to_even(x);
  return select(rounded > x, rounded - Floats(1.f), rounded);
}
FULGURITE_INLINE Floats ceil(const Floats& x) {
  const Floats rounded = round_to_even(x);
  return select(rounded < x, copy_sign(rounded + Floats(1.f), x), rounded);
}
FULGURITE_INLINE Floats trunc(const Floats& x) { return copy_sign(floor(abs(x)), x); }
// One instruction each, which the compilers do not find.
#if defined(__AVX__)
#define FULGURITE_BINARY_INSTRUCTION(name, a, b, result) asm("v" name " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b))
#elif defined(__SSE2__)
#define FULGURITE_BINARY_INSTRUCTION(name, a, b, result) \
  result = a;                                            \
  asm(name " %1, %0" : "+x"(result) : "x"(b))
#endif
/// a < b ? a : b, so b where either is NaN.
FULGURITE_INLINE Floats lesser_or_second(const Floats& a, const Floats& b) {
#ifdef FULGURITE_BINARY_INSTRUCTION
  Floats result;
  FULGURITE_EACH_PART(FULGURITE_BINARY_INSTRUCTION("minps", a.part[p], b.part[p], result.part[p]));
  return result;
#else
  return select(a < b, a, b);
#endif
}
/// a > b ? a : b, so b where either is NaN.
FULGURITE_INLINE Floats greater_or_second(const Floats& a, const Floats& b) {
#ifdef FULGURITE_BINARY_INSTRUCTION
  Floats result;
  FULGURITE_EACH_PART(FULGURITE_BINARY_INSTRUCTION("maxps", a.part[p], b.part[p], result.part[p]));
  return result;
#else
  return select(a > b, a, b);
#endif
}
// The larger or smaller of two; NaN if either is.
FULGURITE_INLINE Floats maximum(const Floats& a, const Floats& b) { return select(a != a, a, greater_or_second(a, b)); }
FULGURITE_INLINE Floats minimum(const Floats& a, const Floats& b) { return select(a != a, a, lesser_or_second(a, b)); }
FULGURITE_INLINE Floats sqrt(const Floats& x) {
  Floats result;
#if defined(__AVX__)
  FULGURITE_EACH_PART(asm("vsqrtps %1, %0" : "=v"(result.part[p]) : "v"(x.part[p])));
#elif defined(__SSE2__)
  FULGURITE_EACH_PART(asm("sqrtps %1, %0" : "=x"(result.part[p]) : "x"(x.part[p])));
#else
  FULGURITE_EACH_PART(for (int lane = 0; lane < part_lanes; ++lane) result.part[p][lane] =
                          __builtin_sqrtf(x.part[p][lane]));
#endif
  return result;
}
/// A number whose lowest bits hold the nearest integer, ties to even, up to 2^22.
FULGURITE_INLINE Floats with_integer_bits(const Floats& x) { return x + Floats(0x1.8p23f); }
FULGURITE_INLINE Floats integer_of(const Floats& with_bits) { return with_bits - Floats(0x1.8p23f); }
/// 2^zero_power times a number up to 2^100 is 0. Intel's CPUs compute this 0 in the time of other products, and take 70
/// times as long where a result underflows.
#if defined(__AVX512F__)
inline constexpr float zero_power = -520;
#else
inline constexpr float zero_power = -254;  // a factor of `scale` is 0
#endif
/// x * 2^n for with_bits = with_integer_bits(n), n in [-254, 254]; with AVX-512 any n. Rounded once.
FULGURITE_INLINE Floats scale(const Floats& x, [[maybe_unused]] const Floats& with_bits,
                              [[maybe_unused]] const Floats& n) {
#if defined(__AVX512F__)
  Floats result;
  asm("vscalefps %2, %1, %0" : "=v"(result.part[0]) : "v"(x.part[0]), "v"(n.part[0]));
  return result;
#else
  const Ints bits = bits_of(with_bits) - Ints(0x4b400000), half = shift_right_signed(bits, 1);
  return (x * from_bits(shift_left(half + Ints(127), 23))) * from_bits(shift_left(bits - half + Ints(127), 23));
#endif
}
FULGURITE_INLINE Floats scale(const Floats& x, const Floats& with_bits) {
  return scale(x, with_bits, integer_of(with_bits));
}

/// Lane i becomes lane i + d; the last d lanes are unspecified.
template <int d>
FULGURITE_INLINE Floats moved_down(const Floats& x) {
  Floats result;
  if constexpr (d >= part_lanes) {
    FULGURITE_EACH_PART(result.part[p] = x.part[(p + d / part_lanes) % parts]);
  } else {
#if defined(__AVX512F__)
    FULGURITE_EACH_PART(result.part[p] = __builtin_shufflevector(x.part[p], x.part[p], d, d + 1, d + 2, d + 3, d + 4,
                                                                 d + 5, d + 6, d + 7, d + 8, d + 9, d + 10, d + 11,
                                                                 d + 12, d + 13, d + 14, d + 15));
#elif defined(__AVX__)
    FULGURITE_EACH_PART(result.part[p] = __builtin_shufflevector(x.part[p], x.part[p], d, d + 1, d + 2, d + 3, d + 4,
                                                                 d + 5, d + 6, d + 7));
#else
    FULGURITE_EACH_PART(result.part[p] = __builtin_shufflevector(x.part[p], x.part[p], d, d + 1, d + 2, d + 3));
#endif
  }
  return result;
}
// Reductions of the lanes: lane i with lane i + 8, then 4, 2, 1.
#define FULGURITE_LANES_REDUCTION(name, combine)                                                             \
  FULGURITE_INLINE float name(const Floats& x) {                                                             \
    Floats a = x, b = moved_down<8>(a);                                                                      \
    a = combine, b = moved_down<4>(a), a = combine, b = moved_down<2>(a), a = combine, b = moved_down<1>(a); \
    return (combine).part[0][0];                                                                             \
  }
FULGURITE_LANES_REDUCTION(sum_of_lanes, a + b)
FULGURITE_LANES_REDUCTION(product_of_lanes, a* b)
FULGURITE_LANES_REDUCTION(maximum_of_lanes, maximum(a, b))
FULGURITE_LANES_REDUCTION(minimum_of_lanes, minimum(a, b))
#undef FULGURITE_LANES_REDUCTION

}  // namespace fulgurite::FULGURITE_KERNELS
