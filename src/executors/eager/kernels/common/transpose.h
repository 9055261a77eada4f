#pragma once
#include <cstdint>
#include <cstring>

#include "codegen/device_lib/memory.h"

namespace fulgurite::FULGURITE_KERNELS {

/// Tiles are a cache line of elements each way, so that every line is read and written once: strides of large powers of
/// two require it.
template <class T>
inline constexpr int64_t transpose_tile = 64 / sizeof(T);

typedef uint32_t Words __attribute__((vector_size(part_bytes)));
typedef uint32_t UnalignedWords __attribute__((vector_size(part_bytes), aligned(1), may_alias));
typedef uint16_t Shorts __attribute__((vector_size(part_bytes)));

// Interleaves the lower (higher) halves of each 16 bytes of two registers, as 16-bit, 32-bit or 64-bit units; and
// selects the even (odd) 16-byte units of two registers, or the first (second) half.
#if defined(__AVX512F__)
#define FULGURITE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
FULGURITE_INLINE Words low_words(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
FULGURITE_INLINE Words high_words(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
FULGURITE_INLINE Words low_pairs(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
FULGURITE_INLINE Words high_pairs(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
FULGURITE_INLINE Words first_halves(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
}
FULGURITE_INLINE Words second_halves(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
FULGURITE_INLINE Words even_quarters(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}
FULGURITE_INLINE Words odd_quarters(Words a, Words b) {
  return FULGURITE_SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
FULGURITE_INLINE Shorts low_shorts(Shorts a, Shorts b) {
  return FULGURITE_SHUFFLE(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41, 10, 42, 11, 43, 16, 48, 17, 49, 18, 50, 19,
                           51, 24, 56, 25, 57, 26, 58, 27, 59);
}
FULGURITE_INLINE Shorts high_shorts(Shorts a, Shorts b) {
  return FULGURITE_SHUFFLE(a, b, 4, 36, 5, 37, 6, 38, 7, 39, 12, 44, 13, 45, 14, 46, 15, 47, 20, 52, 21, 53, 22, 54, 23,
                           55, 28, 60, 29, 61, 30, 62, 31, 63);
}
#elif defined(__AVX__)
#define FULGURITE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
FULGURITE_INLINE Words low_words(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13); }
FULGURITE_INLINE Words high_words(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15); }
FULGURITE_INLINE Words low_pairs(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13); }
FULGURITE_INLINE Words high_pairs(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15); }
FULGURITE_INLINE Words first_halves(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11); }
FULGURITE_INLINE Words second_halves(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15); }
FULGURITE_INLINE Shorts low_shorts(Shorts a, Shorts b) {
  return FULGURITE_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
}
FULGURITE_INLINE Shorts high_shorts(Shorts a, Shorts b) {
  return FULGURITE_SHUFFLE(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31);
}
#else
#define FULGURITE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
FULGURITE_INLINE Words low_words(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 0, 4, 1, 5); }
FULGURITE_INLINE Words high_words(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 2, 6, 3, 7); }
FULGURITE_INLINE Words low_pairs(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 0, 1, 4, 5); }
FULGURITE_INLINE Words high_pairs(Words a, Words b) { return FULGURITE_SHUFFLE(a, b, 2, 3, 6, 7); }
FULGURITE_INLINE Shorts low_shorts(Shorts a, Shorts b) { return FULGURITE_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
FULGURITE_INLINE Shorts high_shorts(Shorts a, Shorts b) { return FULGURITE_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
#endif
#undef FULGURITE_SHUFFLE

/// Transposes the square of as many rows as a register has words.
FULGURITE_INLINE void transpose_words(Words (&row)[part_lanes]) {
  Words next[part_lanes];
  for (int i = 0; i < part_lanes; i += 2) {
    next[i] = low_words(row[i], row[i + 1]);
    next[i + 1] = high_words(row[i], row[i + 1]);
  }
  for (int i = 0; i < part_lanes; i += 4)
    for (int k = 0; k < 2; ++k) {
      row[i + 2 * k] = low_pairs(next[i + k], next[i + k + 2]);
      row[i + 2 * k + 1] = high_pairs(next[i + k], next[i + k + 2]);
    }
    // Now each 16 bytes are of four rows and one column, four columns apart.
#if defined(__AVX512F__)
  for (int k = 0; k < 4; ++k) {
    const Words a = first_halves(row[k], row[4 + k]), b = second_halves(row[k], row[4 + k]);
    const Words c = first_halves(row[8 + k], row[12 + k]), d = second_halves(row[8 + k], row[12 + k]);
    next[k] = even_quarters(a, c), next[4 + k] = odd_quarters(a, c);
    next[8 + k] = even_quarters(b, d), next[12 + k] = odd_quarters(b, d);
  }
  for (int i = 0; i < part_lanes; ++i) row[i] = next[i];
#elif defined(__AVX__)
  for (int k = 0; k < 4; ++k) {
    next[k] = first_halves(row[k], row[4 + k]), next[4 + k] = second_halves(row[k], row[4 + k]);
  }
  for (int i = 0; i < part_lanes; ++i) row[i] = next[i];
#endif
}

FULGURITE_INLINE void transpose_square(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step) {
  for (int r = 0; r < lanes; r += part_lanes)
    for (int c = 0; c < lanes; c += part_lanes) {
      Words row[part_lanes];
      for (int i = 0; i < part_lanes; ++i) row[i] = *(const UnalignedWords*)(from + (r + i) * from_step + c);
      transpose_words(row);
      for (int i = 0; i < part_lanes; ++i) *(UnalignedWords*)(to + (c + i) * to_step + r) = row[i];
    }
}
FULGURITE_INLINE void transpose_square(const uint16_t* from, int64_t from_step, uint16_t* to, int64_t to_step) {
  constexpr int columns = 2 * part_lanes;  // of 16 bits in a register; two adjacent rows are words
  for (int r = 0; r < 32; r += columns)
    for (int c = 0; c < 32; c += columns)
      for (int half = 0; half < 2; ++half) {
        Words row[part_lanes];
        for (int i = 0; i < part_lanes; ++i) {
          const uint16_t* const pair = from + (r + 2 * i) * from_step + c;
          const Shorts a = (Shorts) * (const UnalignedWords*)pair,
                       b = (Shorts) * (const UnalignedWords*)(pair + from_step);
          row[i] = (Words)(half == 0 ? low_shorts(a, b) : high_shorts(a, b));
        }
        transpose_words(row);
        for (int i = 0; i < part_lanes; ++i) {
          const int column = i / 4 * 8 + 4 * half + i % 4;
          *(UnalignedWords*)(to + (c + column) * to_step + r) = row[i];
        }
      }
}
template <class T>
void transpose_square(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int64_t tile = transpose_tile<T>;
  for (int64_t r = 0; r < tile; r += 8)
    for (int64_t c = 0; c < tile; c += 8)
      for (int64_t j = c; j < c + 8; ++j)
        for (int64_t i = r; i < r + 8; ++i) to[j * to_step + i] = from[i * from_step + j];
}

/// Transposes `rows` rows of `columns` elements, `from_step` elements apart, into `columns` rows `to_step` apart.
template <class T>
void transpose(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows, int64_t columns) {
  constexpr int64_t tile = transpose_tile<T>;
  if (rows < tile || columns < tile) {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) to[c * to_step + r] = from[r * from_step + c];
    return;
  }
  // The last tiles overlap those before them.
  for (int64_t c = 0; c < columns; c += tile) {
    if (c > columns - tile) c = columns - tile;
    for (int64_t r = 0; r < rows; r += tile) {
      if (r > rows - tile) r = rows - tile;
      transpose_square(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
    }
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
