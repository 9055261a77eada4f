// GEMM tiles whose sums stay in vector registers, for CPUs and dtypes without AMX.
#pragma once
#include "codegen/device_lib/vector.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX2__)

/// Sums of one left row with up to three registers of a panel's rows: named members, not an array, so that they stay in
/// registers.
template <class Unit, int registers>
struct RowSums {
  FloatPart a, b, c;
  __attribute__((always_inline)) explicit RowSums(const FloatPart* from) {
    a = from[0];
    if constexpr (registers > 1) b = from[1];
    if constexpr (registers > 2) c = from[2];
  }
  __attribute__((always_inline)) void add(int step, IntPart of_a, IntPart of_b, IntPart of_c) {
    const IntPart of_row = IntPart{} + step;
    Unit::add_products(a, of_row, of_a);
    if constexpr (registers > 1) Unit::add_products(b, of_row, of_b);
    if constexpr (registers > 2) Unit::add_products(c, of_row, of_c);
  }
  __attribute__((always_inline)) void store(FloatPart* to) const {
    to[0] = a;
    if constexpr (registers > 1) to[1] = b;
    if constexpr (registers > 2) to[2] = c;
  }
};

/// Adds a K block of a tile's left rows times some of a panel's rows to the sums, which are stored afterwards,
/// unrounded, and, unless they begin here, loaded before. Prefetches a line from `ahead` on with each step.
template <class Unit, int registers>
FULGURITE_INLINE void multiply_tile(FloatPart* sums, const int* left, const IntPart* right, long steps, bool begins,
                                    [[maybe_unused]] const char* ahead) {
  constexpr int panel_parts = Unit::tiles.panel_rows / part_lanes;
#if defined(__AVX512F__)
#define FULGURITE_EACH_ROW(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7)
#else
#define FULGURITE_EACH_ROW(of) of(0) of(1) of(2) of(3) of(4) of(5)
#endif
#define FULGURITE_ROW_BEGIN(r) RowSums<Unit, registers> row##r(before + r * row_parts);
#define FULGURITE_ROW_ADD(r) row##r.add(left[r * Unit::tiles.slice_steps], a, b, c);
#define FULGURITE_ROW_END(r) row##r.store(sums + r * panel_parts);
  const FloatPart zeros[registers] = {};
  const FloatPart* const before = begins ? zeros : sums;
  const long row_parts = begins ? 0 : panel_parts;
  FULGURITE_EACH_ROW(FULGURITE_ROW_BEGIN)
  for (const int* const end = left + steps; left < end; ++left, right += panel_parts) {
    if constexpr (Unit::prefetches_panels) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += 64;
    }
    const IntPart a = right[0], b = registers > 1 ? right[1] : a, c = registers > 2 ? right[2] : a;
    FULGURITE_EACH_ROW(FULGURITE_ROW_ADD)
  }
  FULGURITE_EACH_ROW(FULGURITE_ROW_END)
#undef FULGURITE_ROW_END
#undef FULGURITE_ROW_ADD
#undef FULGURITE_ROW_BEGIN
#undef FULGURITE_EACH_ROW
}
/// Uses as many registers as the panel has rows for.
template <class Unit>
FULGURITE_INLINE void multiply_tile(FloatPart* sums, const int* left, const IntPart* right, long steps, long columns,
                                    bool begins, const char* ahead) {
  constexpr int panel_parts = Unit::tiles.panel_rows / part_lanes;
  if (panel_parts > 2 && columns > 2 * part_lanes) multiply_tile<Unit, 3>(sums, left, right, steps, begins, ahead);
  else if (columns > part_lanes) multiply_tile<Unit, 2>(sums, left, right, steps, begins, ahead);
  else multiply_tile<Unit, 1>(sums, left, right, steps, begins, ahead);
}

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
