#pragma once
#include <algorithm>

#include "executors/eager/kernels/common/compute.h"
#include "executors/eager/kernels/linalg/tile.h"

// Packs GEMM operands into the form that tile.h reads: widened to the type they are computed in, in panels.
namespace fulgurite::FULGURITE_KERNELS {

/// Widens sixteen contiguous elements.
template <class Element>
FULGURITE_INLINE void widen_lanes(const Element* from, Compute<Element>* to) {
  if constexpr (std::is_same_v<Compute<Element>, float>) store(to, load(from));
  else
    for (int i = 0; i < lanes; ++i) to[i] = widen(from[i]);
}

/// to[i] = from[i * stride] for i < count, then zeros up to `width`.
template <class Element>
inline void widen_row(const Element* from, int64_t stride, int64_t count, Compute<Element>* to, int64_t width) {
  int64_t i = 0;
  if (stride == 1)
    for (; i + lanes <= count; i += lanes) widen_lanes(from + i, to + i);
  for (; i < count; ++i) to[i] = widen(from[i * stride]);
  for (; i < width; ++i) to[i] = 0;
}

/// Packs a rows × columns matrix into panels; columns past the last are zeros. `to` has panel_padded(columns) * rows
/// elements.
template <class Element>
inline void pack_panels(const Element* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                        Compute<Element>* to) {
  using T = Compute<Element>;
  constexpr int64_t width = panel_columns<T>, step = wide_lanes<T>;
  for (int64_t panel = 0; panel < columns; panel += width, to += width * rows) {
    const Element* const start = from + panel * column_stride;
    const int64_t count = std::min(width, columns - panel);
    if (column_stride == 1 || row_stride != 1) {
      for (int64_t k = 0; k < rows; ++k) widen_row(start + k * row_stride, column_stride, count, to + k * width, width);
      continue;
    }
    // Columns are contiguous: squares are widened and transposed.
    T square[step * step];
    for (int64_t k = 0; k < rows; k += step) {
      const int64_t depth = std::min(step, rows - k);
      for (int64_t j = 0; j < width; j += step) {
        for (int64_t i = 0; i < step; ++i) {
          if (j + i < count) widen_row(start + (j + i) * column_stride + k, 1, depth, square + i * step, step);
          else widen_row(start, 1, 0, square + i * step, step);
        }
        if (depth == step) {
          transpose_square(square, step, to + k * width + j, width);
        } else {
          for (int64_t r = 0; r < depth; ++r)
            for (int64_t i = 0; i < step; ++i) to[(k + r) * width + j + i] = square[i * step + r];
        }
      }
    }
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
