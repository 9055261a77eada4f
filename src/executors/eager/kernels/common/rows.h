#pragma once
#include "executors/eager/kernels/elementwise/pointwise.h"

namespace fulgurite::FULGURITE_KERNELS {

// Row functions made from element functions: an operation is a struct with static `apply` overloads, on Floats (sixteen
// lanes) for f32 and on one element for the other types. Lanes past the end of a row are computed from zeros and
// dropped, so that an element's value does not depend on where a row is cut.

template <class Operation, class... Operands>
concept HasLanes = requires(const Operands&... operands, const RowParameters& p) {
  Operation::apply(operands..., p);
};
/// Element types of `apply` templates; leaves Floats to the overloads written for them.
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept Integer = std::is_integral_v<T>;
/// Integer arithmetic wraps around.
template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class Operation, class T>
void unary_row(const void* const* operands, void* result, int64_t count, const RowParameters& p) {
  const auto* __restrict a = static_cast<const T*>(operands[0]);
  T* __restrict to = static_cast<T*>(result);
  if constexpr (std::is_same_v<T, float> && HasLanes<Operation, Floats>) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) store(to + i, Operation::apply(load(a + i), p));
    if (i < count) store_some(to + i, Operation::apply(load_some(a + i, count - i), p), count - i);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = Operation::apply(a[i], p);
  }
}

template <class Operation, class T>
void binary_row(const void* const* operands, void* result, int64_t count, const RowParameters& p) {
  const auto* __restrict a = static_cast<const T*>(operands[0]);
  const auto* __restrict b = static_cast<const T*>(operands[1]);
  T* __restrict to = static_cast<T*>(result);
  if constexpr (std::is_same_v<T, float> && HasLanes<Operation, Floats, Floats>) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) store(to + i, Operation::apply(load(a + i), load(b + i), p));
    if (i < count)
      store_some(to + i, Operation::apply(load_some(a + i, count - i), load_some(b + i, count - i), p), count - i);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = Operation::apply(a[i], b[i], p);
  }
}

template <class Operation, class T>
void ternary_row(const void* const* operands, void* result, int64_t count, const RowParameters& p) {
  const auto* __restrict a = static_cast<const T*>(operands[0]);
  const auto* __restrict b = static_cast<const T*>(operands[1]);
  const auto* __restrict c = static_cast<const T*>(operands[2]);
  T* __restrict to = static_cast<T*>(result);
  if constexpr (std::is_same_v<T, float> && HasLanes<Operation, Floats, Floats, Floats>) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) store(to + i, Operation::apply(load(a + i), load(b + i), load(c + i), p));
    if (i < count) {
      const Floats value =
          Operation::apply(load_some(a + i, count - i), load_some(b + i, count - i), load_some(c + i, count - i), p);
      store_some(to + i, value, count - i);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = Operation::apply(a[i], b[i], c[i], p);
  }
}

/// One or two operands of type T; the results are booleans.
template <class Operation, class T>
void test_row(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const auto* __restrict a = static_cast<const T*>(operands[0]);
  auto* __restrict to = static_cast<uint8_t*>(result);
  for (int64_t i = 0; i < count; ++i) to[i] = Operation::apply(a[i]);
}
template <class Operation, class T>
void comparison_row(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const auto* __restrict a = static_cast<const T*>(operands[0]);
  const auto* __restrict b = static_cast<const T*>(operands[1]);
  auto* __restrict to = static_cast<uint8_t*>(result);
  for (int64_t i = 0; i < count; ++i) to[i] = Operation::apply(a[i], b[i]);
}

/// Elements worth a thread: for operations that only move memory, and for those that compute a series.
inline constexpr int64_t cheap = 32768, costly = 4096, very_costly = 1024;

/// Calls visit(ElementType<T>{}) with the type that elements of this dtype are computed in.
template <class Visit>
inline decltype(auto) visit_compute_type(Dtype dtype, Visit&& visit) {
  switch (compute_dtype(dtype)) {
    case Dtype::f64: return visit(ElementType<double>{});
    case Dtype::f32: return visit(ElementType<float>{});
    case Dtype::i64: return visit(ElementType<int64_t>{});
    default: return visit(ElementType<int32_t>{});
  }
}
/// `count` operands and a result, all computed in the type for `dtype`.
inline Pointwise uniform(Row row, Dtype dtype, int64_t grain = cheap) {
  const Dtype d = compute_dtype(dtype);
  return {row, {d, d, d, d}, d, grain};
}

#define FULGURITE_LANES static inline __attribute__((always_inline)) Floats

// Used by several files.
struct Maximum {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return maximum(a, b); }
  template <Number T>
  static T apply(T a, T b, const RowParameters&) {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return minimum(a, b); }
  template <Number T>
  static T apply(T a, T b, const RowParameters&) {
    return a < b || a != a ? a : b;
  }
};

/// The row function of an operation for elements of this dtype; find_floating_… for floating dtypes only.
template <class Operation>
Row find_unary_row(Dtype dtype) {
  return visit_compute_type(dtype,
                            [](auto type) -> Row { return unary_row<Operation, typename decltype(type)::type>; });
}
template <class Operation>
Row find_binary_row(Dtype dtype) {
  return visit_compute_type(dtype,
                            [](auto type) -> Row { return binary_row<Operation, typename decltype(type)::type>; });
}
template <class Operation>
Row find_ternary_row(Dtype dtype) {
  return visit_compute_type(dtype,
                            [](auto type) -> Row { return ternary_row<Operation, typename decltype(type)::type>; });
}
template <class Operation>
Row find_floating_unary_row(Dtype dtype) {
  return dtype == Dtype::f64 ? unary_row<Operation, double> : unary_row<Operation, float>;
}
template <class Operation>
Row find_floating_binary_row(Dtype dtype) {
  return dtype == Dtype::f64 ? binary_row<Operation, double> : binary_row<Operation, float>;
}

}  // namespace fulgurite::FULGURITE_KERNELS
