#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <fulgurite/dtype.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::detail {

// C++ types as elements of tensors. A type without a dtype is a compile error, which names those that have one.

/// The type that a tensor stores: without const; `long` and `long long` are one type.
template <class T>
using Element = std::conditional_t<
    std::same_as<std::remove_cv_t<T>, long long>, int64_t,
    std::conditional_t<std::same_as<std::remove_cv_t<T>, unsigned long long>, uint64_t, std::remove_cv_t<T>>>;

/// True for types with a dtype.
template <class T>
inline constexpr bool has_dtype =
    std::same_as<Element<T>, double> || std::same_as<Element<T>, float> || std::same_as<Element<T>, int64_t> ||
    std::same_as<Element<T>, int32_t> || std::same_as<Element<T>, int16_t> || std::same_as<Element<T>, int8_t> ||
    std::same_as<Element<T>, uint8_t> || std::same_as<Element<T>, bool>;
/// True for wider unsigned integers, whose values become i64.
template <class T>
inline constexpr bool becomes_i64 =
    std::unsigned_integral<T> && !std::same_as<Element<T>, bool> && sizeof(T) > 1 &&
    !std::same_as<Element<T>, char16_t> && !std::same_as<Element<T>, char32_t> && !std::same_as<Element<T>, wchar_t>;

template <class T>
constexpr void check_stored() {
  static_assert(
      has_dtype<T>,
      "fulgurite: a tensor has no elements of this C++ type. There are double (f64), float (f32), int64_t, long and "
      "long long (i64), int32_t (i32), int16_t (i16), int8_t (i8), uint8_t (u8) and bool; read f16 and bf16 as float "
      "after .to(Dtype::f32)");
}
template <class T>
constexpr void check_source() {
  static_assert(
      has_dtype<T> || becomes_i64<T>,
      "fulgurite: tensors are not made from elements of this C++ type. There are double (f64), float (f32), int64_t, "
      "long and long long (i64), int32_t (i32), int16_t (i16), int8_t (i8), uint8_t (u8), bool, and uint16_t, uint32_t "
      "and uint64_t (as i64); convert the elements to one of these");
}

/// std::vector and std::array: rows of a tensor.
template <class T>
inline constexpr bool is_nested = false;
template <class T, class Allocator>
inline constexpr bool is_nested<std::vector<T, Allocator>> = true;
template <class T, size_t N>
inline constexpr bool is_nested<std::array<T, N>> = true;
template <class T>
struct Innermost {
  using type = T;
};
template <class T>
requires is_nested<T>
struct Innermost<T> : Innermost<typename T::value_type> {
};
template <class T>
using InnermostElement = typename Innermost<T>::type;

template <class T>
constexpr Dtype dtype_of_element() {
  using E = Element<T>;
  if constexpr (std::same_as<E, double>) return Dtype::f64;
  else if constexpr (std::same_as<E, float>) return Dtype::f32;
  else if constexpr (std::same_as<E, int32_t>) return Dtype::i32;
  else if constexpr (std::same_as<E, int16_t>) return Dtype::i16;
  else if constexpr (std::same_as<E, int8_t>) return Dtype::i8;
  else if constexpr (std::same_as<E, uint8_t>) return Dtype::u8;
  else if constexpr (std::same_as<E, bool>) return Dtype::boolean;
  else return Dtype::i64;
}

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
