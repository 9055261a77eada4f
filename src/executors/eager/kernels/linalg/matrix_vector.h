#pragma once
#include <algorithm>

#include "executors/eager/kernels/common/compute.h"

// Products of a matrix, read once, with a vector.
namespace fulgurite::FULGURITE_KERNELS {

/// Dot product of two rows: 64 partial sums, added in a fixed tree. `b` is a row of a matrix that is read once, row
/// after row: prefetching two pages ahead brings bf16 from 29 to 35 GB/s, the limit of one Zen 5 core with small pages.
template <class Element>
inline float dot_of_rows(const Element* a, const Element* b, int64_t count) {
  constexpr int64_t ahead = 8192 / sizeof(Element), line = 64 / sizeof(Element);
  Floats sums[4] = {Floats(0.f), Floats(0.f), Floats(0.f), Floats(0.f)};
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int64_t next = 0; next < 4 * lanes; next += line) __builtin_prefetch(b + i + ahead + next);
    for (int s = 0; s < 4; ++s) sums[s] = multiply_add(load(a + i + s * lanes), load(b + i + s * lanes), sums[s]);
  }
  for (int s = 0; i < count; ++s, i += lanes) {
    const int64_t some = std::min<int64_t>(lanes, count - i);
    sums[s] = multiply_add(load_some(a + i, some), load_some(b + i, some), sums[s]);
  }
  return sum_of_lanes((sums[0] + sums[2]) + (sums[1] + sums[3]));
}
/// The same with any strides.
template <class Element>
inline Compute<Element> dot(const Element* a, int64_t a_stride, const Element* b, int64_t b_stride, int64_t count) {
  using T = Compute<Element>;
  if constexpr (std::is_same_v<T, float>)
    if (a_stride == 1 && b_stride == 1) return dot_of_rows(a, b, count);
  T sums[4 * lanes] = {};
  for (int64_t i = 0; i < count; ++i) {
    T& sum = sums[i % (4 * lanes)];
    sum = multiply_add(widen(a[i * a_stride]), widen(b[i * b_stride]), sum);
  }
  for (int half = 2 * lanes; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

/// sums[j] = Σ_k x[k] · rows[k][j], j < count; added to the previous sums if it `goes_on`.
template <class X, class Element>
inline void add_rows(const X* x, int64_t x_stride, const Element* rows, int64_t row_stride, int64_t depth,
                     int64_t count, Compute<Element>* sums, bool goes_on = false) {
  if (!goes_on) std::fill_n(sums, count, Compute<Element>(0));
  int64_t k = 0;
  if constexpr (std::is_same_v<Compute<Element>, float>) {
    // Four rows at a time, so that the sums are read and written less often than the rows are read.
    const int64_t whole = count / lanes * lanes;
    for (; k + 4 <= depth; k += 4, rows += 4 * row_stride) {
      const Floats x0(widen(x[k * x_stride])), x1(widen(x[(k + 1) * x_stride])), x2(widen(x[(k + 2) * x_stride])),
          x3(widen(x[(k + 3) * x_stride]));
      const Element *r1 = rows + row_stride, *r2 = r1 + row_stride, *r3 = r2 + row_stride;
      for (int64_t j = 0; j < whole; j += lanes) {
        const Floats two = multiply_add(x1, load(r1 + j), multiply_add(x0, load(rows + j), load(sums + j)));
        store(sums + j, multiply_add(x3, load(r3 + j), multiply_add(x2, load(r2 + j), two)));
      }
      for (int64_t j = whole; j < count; ++j)
        for (int r = 0; r < 4; ++r)
          sums[j] = multiply_add(widen(x[(k + r) * x_stride]), widen(rows[r * row_stride + j]), sums[j]);
    }
  }
  for (; k < depth; ++k, rows += row_stride) {
    const Compute<Element> factor = widen(x[k * x_stride]);
    for (int64_t j = 0; j < count; ++j) sums[j] = multiply_add(factor, widen(rows[j]), sums[j]);
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
