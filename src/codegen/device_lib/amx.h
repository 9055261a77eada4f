// AMX tiles: a tile is sixteen rows of sixteen steps, or of sixteen sums; one instruction adds all products of two
// tiles to a third.
#pragma once
#include "codegen/device_lib/vector.h"

#if defined(__AMX_BF16__) || defined(__AMXBF16__)
#define FULGURITE_AMX
#endif

namespace fulgurite::FULGURITE_KERNELS {

/// Two tiles of sixteen rows for every sixteen steps: rows of steps, with the second sixteen below, or steps of rows,
/// with the second sixteen beside.
struct TwoTiles {
  const int *first, *second;
  long row_bytes, next;  // bytes from one row to the next, and ints from sixteen steps to the next sixteen
};

#if defined(FULGURITE_AMX)

/// Reserves the eight tile registers, which belong to the thread, for its lifetime.
struct Amx {
  __attribute__((always_inline)) Amx() {
    struct {
      unsigned char palette = 1, unused[15] = {};
      unsigned short row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } shapes;
    asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  __attribute__((always_inline)) ~Amx() { asm volatile("tilerelease"); }
  Amx(const Amx&) = delete;
  Amx& operator=(const Amx&) = delete;
};

template <int tile>
FULGURITE_INLINE void clear_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(tile));
}
template <int tile>
FULGURITE_INLINE void load_tile(const void* from, long row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row_bytes), "i"(tile) : "memory");
}
template <int tile>
FULGURITE_INLINE void store_tile(void* to, long row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(row_bytes), "i"(tile) : "memory");
}
/// Adds the products of a tile of left rows and a tile of sixteen right rows, which are interleaved.
template <int sums, int left, int right>
FULGURITE_INLINE void add_tile_products() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(left), "i"(right));
}

/// Adds products of 32 (or the first 16) left rows and 32 (or 16) right rows to the sums, which are stored afterwards
/// and, unless they begin here, loaded before: 32 rows of 32, `sums_row` apart. Calls meanwhile(time) before each
/// sixteen steps and at the end, while the AMX unit works.
template <class Meanwhile>
FULGURITE_INLINE void multiply_tiles(float* sums, long sums_row, TwoTiles left, TwoTiles right, long steps, bool begins,
                                     bool has_two_strips, bool has_two_halves, Meanwhile meanwhile) {
  float* const lower = sums + 16 * sums_row;
  const long sums_bytes = sums_row * 4;
  if (begins) {
    clear_tile<0>();
    clear_tile<1>();
    clear_tile<2>();
    clear_tile<3>();
  } else {
    load_tile<0>(sums, sums_bytes);
    load_tile<1>(sums + 16, sums_bytes);
    load_tile<2>(lower, sums_bytes);
    load_tile<3>(lower + 16, sums_bytes);
  }
  for (long step = 0;; step += 16) {
    meanwhile(step / 16);
    if (step >= steps) break;
    load_tile<4>(left.first, left.row_bytes);
    load_tile<6>(right.first, right.row_bytes);
    add_tile_products<0, 4, 6>();
    if (has_two_halves) {
      load_tile<7>(right.second, right.row_bytes);
      add_tile_products<1, 4, 7>();
    }
    if (has_two_strips) {
      load_tile<5>(left.second, left.row_bytes);
      add_tile_products<2, 5, 6>();
      if (has_two_halves) add_tile_products<3, 5, 7>();
    }
    left.first += left.next, left.second += left.next;
    right.first += right.next, right.second += right.next;
  }
  store_tile<0>(sums, sums_bytes);
  store_tile<1>(sums + 16, sums_bytes);
  store_tile<2>(lower, sums_bytes);
  store_tile<3>(lower + 16, sums_bytes);
}

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
