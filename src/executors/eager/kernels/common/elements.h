#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fulgurite/dtype.h>

#include "codegen/device_lib/memory.h"

namespace fulgurite::FULGURITE_KERNELS {

/// An element of a boolean tensor: one byte, true unless 0.
struct Boolean {
  uint8_t byte;
};

// The scalar forms of vector.h's conversions, bit for bit.
inline float to_float(BFloat16 x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16); }
inline BFloat16 to_bfloat16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  if (x != x) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline float to_float(Float16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16, magnitude = static_cast<uint32_t>(x.bits & 0x7fff)
                                                                                  << 13;
  if (magnitude >= 0x0f800000) return __builtin_bit_cast(float, magnitude | 0x7f800000 | sign);
  return __builtin_bit_cast(float,
                            __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) * 0x1p112f) | sign);
}
inline Float16 to_float16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (magnitude > 0x7f800000) half = 0x7e00 | (magnitude & 0x7fffff) >> 13;
  else if (magnitude >= 0x477ff000) half = 0x7c00;
  else if (magnitude < 113u << 23)
    half = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000;
  else half = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  return {static_cast<uint16_t>(half | sign)};
}

/// The value of an element in arithmetic: bf16 and f16 as float, booleans as 0 or 1.
template <class T>
inline auto number_of(T x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) return to_float(x);
  else if constexpr (std::is_same_v<T, Boolean>) return static_cast<uint8_t>(x.byte != 0);
  else return x;
}
/// Conversion as in C: truncation toward zero, integers wrap, any value but 0 is true.
template <class To, class Number>
inline To element_of(Number x) {
  if constexpr (std::is_same_v<To, Boolean>) return {static_cast<uint8_t>(x != 0)};
  else if constexpr (std::is_same_v<To, BFloat16>) return to_bfloat16(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, Float16>) return to_float16(static_cast<float>(x));
  else if constexpr (std::is_floating_point_v<Number> && std::is_integral_v<To> && sizeof(To) < 4)
    return static_cast<To>(static_cast<int32_t>(x));
  else return static_cast<To>(x);
}

template <class T>
struct ElementType {
  using type = T;
};
/// Calls visit(ElementType<T>{}) with the C++ type of the dtype's elements.
template <class Visit>
inline decltype(auto) visit_element_type(Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::f64: return visit(ElementType<double>{});
    case Dtype::f32: return visit(ElementType<float>{});
    case Dtype::bf16: return visit(ElementType<BFloat16>{});
    case Dtype::f16: return visit(ElementType<Float16>{});
    case Dtype::i64: return visit(ElementType<int64_t>{});
    case Dtype::i32: return visit(ElementType<int32_t>{});
    case Dtype::i16: return visit(ElementType<int16_t>{});
    case Dtype::i8: return visit(ElementType<int8_t>{});
    case Dtype::u8: return visit(ElementType<uint8_t>{});
    case Dtype::boolean: return visit(ElementType<Boolean>{});
  }
  __builtin_unreachable();
}

/// The dtype that operations on elements of this dtype are computed in: f64, f32, i64, or i32 for the small integers
/// and booleans.
inline constexpr Dtype compute_dtype(Dtype d) {
  if (d == Dtype::f64 || d == Dtype::i64) return d;
  return is_floating(d) ? Dtype::f32 : Dtype::i32;
}

/// Converts `count` elements, `stride` elements apart, to contiguous elements of another dtype.
using Convert = void (*)(const void* from, int64_t stride, void* to, int64_t count);
Convert find_conversion(Dtype from, Dtype to);

}  // namespace fulgurite::FULGURITE_KERNELS
