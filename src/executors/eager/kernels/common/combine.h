#pragma once
#include <limits>

#include "executors/eager/kernels/common/elements.h"

namespace fulgurite::FULGURITE_KERNELS {

// The combining operations of reductions, one element at a time and sixteen at a time.

template <class T>
inline constexpr Dtype dtype_of = std::is_same_v<T, double>    ? Dtype::f64
                                  : std::is_same_v<T, float>   ? Dtype::f32
                                  : std::is_same_v<T, int64_t> ? Dtype::i64
                                  : std::is_same_v<T, int32_t> ? Dtype::i32
                                                               : Dtype::boolean;

template <class T>
struct Sum {
  using Element = T;
  static constexpr Dtype element_dtype = dtype_of<T>;
  static constexpr T identity() { return 0; }
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else return a + b;
  }
  static inline __attribute__((always_inline)) Floats combine(const Floats& a, const Floats& b) { return a + b; }
  static inline __attribute__((always_inline)) float combine_lanes(const Floats& x) { return sum_of_lanes(x); }
};
template <class T>
struct Prod {
  using Element = T;
  static constexpr Dtype element_dtype = dtype_of<T>;
  static constexpr T identity() { return 1; }
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    else return a * b;
  }
  static inline __attribute__((always_inline)) Floats combine(const Floats& a, const Floats& b) { return a * b; }
  static inline __attribute__((always_inline)) float combine_lanes(const Floats& x) { return product_of_lanes(x); }
};
/// NaN wins over every number.
template <class T>
struct Max {
  using Element = T;
  static constexpr Dtype element_dtype = dtype_of<T>;
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  static T combine(T a, T b) { return a > b || a != a ? a : b; }
  static inline __attribute__((always_inline)) Floats combine(const Floats& a, const Floats& b) {
    return maximum(a, b);
  }
  static inline __attribute__((always_inline)) float combine_lanes(const Floats& x) { return maximum_of_lanes(x); }
};
template <class T>
struct Min {
  using Element = T;
  static constexpr Dtype element_dtype = dtype_of<T>;
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  static T combine(T a, T b) { return a < b || a != a ? a : b; }
  static inline __attribute__((always_inline)) Floats combine(const Floats& a, const Floats& b) {
    return minimum(a, b);
  }
  static inline __attribute__((always_inline)) float combine_lanes(const Floats& x) { return minimum_of_lanes(x); }
};
/// For booleans, read as bytes of 0 or 1.
struct Either {
  using Element = uint8_t;
  static constexpr Dtype element_dtype = Dtype::boolean;
  static constexpr uint8_t identity() { return 0; }
  static uint8_t combine(uint8_t a, uint8_t b) { return a | b; }
};
struct Both {
  using Element = uint8_t;
  static constexpr Dtype element_dtype = Dtype::boolean;
  static constexpr uint8_t identity() { return 1; }
  static uint8_t combine(uint8_t a, uint8_t b) { return a & b; }
};

/// Reduces a block of a row: four times sixteen lanes in turn, which hides the additions' latency; then a fixed tree.
template <class Combine>
struct RowReducer {
  using Element = typename Combine::Element;
  using State = Element;
  static constexpr Dtype element_dtype = Combine::element_dtype;
  static State join(State a, State b) { return Combine::combine(a, b); }
  static State block(const Element* x, int64_t count, int64_t) {
    if constexpr (std::is_same_v<Element, float>) {
      Floats total[4] = {Combine::identity(), Combine::identity(), Combine::identity(), Combine::identity()};
      int64_t i = 0;
      for (; i + 4 * lanes <= count; i += 4 * lanes)
        for (int k = 0; k < 4; ++k) total[k] = Combine::combine(total[k], load(x + i + k * lanes));
      for (int k = 0; i < count; i += lanes, ++k) {
        const int64_t left = count - i;
        total[k] =
            Combine::combine(total[k], left >= lanes ? load(x + i) : load_some(x + i, left, Combine::identity()));
      }
      return Combine::combine_lanes(
          Combine::combine(Combine::combine(total[0], total[1]), Combine::combine(total[2], total[3])));
    } else {
      constexpr int width = 32;
      Element total[width];
      for (Element& t : total) t = Combine::identity();
      int64_t i = 0;
      for (; i + width <= count; i += width)
        for (int k = 0; k < width; ++k) total[k] = Combine::combine(total[k], x[i + k]);
      for (int k = 0; i < count; ++i, ++k) total[k] = Combine::combine(total[k], x[i]);
      for (int half = width / 2; half > 0; half /= 2)
        for (int k = 0; k < half; ++k) total[k] = Combine::combine(total[k], total[k + half]);
      return total[0];
    }
  }
};

}  // namespace fulgurite::FULGURITE_KERNELS
