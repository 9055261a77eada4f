#pragma once
#include <cstdint>
#include <cstring>

#include "codegen/vector.h"

namespace fulgurite::FULGURITE_KERNELS {

/// Transposes `rows` rows of `columns` elements, `from_step` elements apart, into `columns` rows `to_step` apart. Both
/// are at most a cache line of elements; every line is read and written once, which large powers of two as steps need.
template <class T>
inline constexpr int64_t transpose_tile = 64 / sizeof(T);

inline __attribute__((always_inline)) void transpose_buffer(const uint32_t (*from)[16], uint32_t (*to)[16]) {
  typedef uint32_t Four __attribute__((vector_size(16)));
  for (int r = 0; r < 16; r += 4)
    for (int c = 0; c < 16; c += 4) {
      Four row[4];
      for (int k = 0; k < 4; ++k) std::memcpy(&row[k], &from[r + k][c], sizeof(Four));
      const Four low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
                 high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
      const Four low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
                 high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
      const Four column[4] = {
          __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
          __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
      for (int k = 0; k < 4; ++k) std::memcpy(&to[c + k][r], &column[k], sizeof(Four));
    }
}
inline __attribute__((always_inline)) void transpose_buffer(const uint16_t (*from)[32], uint16_t (*to)[32]) {
  typedef uint16_t Eight __attribute__((vector_size(16)));
  typedef uint32_t Four __attribute__((vector_size(16)));
  typedef uint64_t Two __attribute__((vector_size(16)));
  for (int r = 0; r < 32; r += 8)
    for (int c = 0; c < 32; c += 8) {
      Eight row[8];
      for (int k = 0; k < 8; ++k) std::memcpy(&row[k], &from[r + k][c], sizeof(Eight));
      Four pair[8];  // columns of two rows side by side
      for (int k = 0; k < 8; k += 2) {
        pair[k] = (Four)__builtin_shufflevector(row[k], row[k + 1], 0, 8, 1, 9, 2, 10, 3, 11);
        pair[k + 1] = (Four)__builtin_shufflevector(row[k], row[k + 1], 4, 12, 5, 13, 6, 14, 7, 15);
      }
      for (int half = 0; half < 2; ++half) {
        const Two low[2] = {(Two)__builtin_shufflevector(pair[half], pair[half + 2], 0, 4, 1, 5),
                            (Two)__builtin_shufflevector(pair[half + 4], pair[half + 6], 0, 4, 1, 5)};
        const Two high[2] = {(Two)__builtin_shufflevector(pair[half], pair[half + 2], 2, 6, 3, 7),
                             (Two)__builtin_shufflevector(pair[half + 4], pair[half + 6], 2, 6, 3, 7)};
        const Two column[4] = {
            __builtin_shufflevector(low[0], low[1], 0, 2), __builtin_shufflevector(low[0], low[1], 1, 3),
            __builtin_shufflevector(high[0], high[1], 0, 2), __builtin_shufflevector(high[0], high[1], 1, 3)};
        for (int k = 0; k < 4; ++k) std::memcpy(&to[c + 4 * half + k][r], &column[k], sizeof(Two));
      }
    }
}
template <class T, int64_t tile>
void transpose_buffer(const T (*from)[tile], T (*to)[tile]) {
  for (int64_t c = 0; c < tile; ++c)
    for (int64_t r = 0; r < tile; ++r) to[c][r] = from[r][c];
}

template <class T>
void transpose(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows, int64_t columns) {
  constexpr int64_t tile = transpose_tile<T>;
  if (rows < tile || columns < tile) {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) to[c * to_step + r] = from[r * from_step + c];
    return;
  }
  alignas(64) T in[tile][tile];
  alignas(64) T out[tile][tile];
  for (int64_t r = 0; r < tile; ++r) std::memcpy(in[r], from + r * from_step, 64);
  transpose_buffer(in, out);
  for (int64_t c = 0; c < tile; ++c) std::memcpy(to + c * to_step, out[c], 64);
}

}  // namespace fulgurite::FULGURITE_KERNELS
