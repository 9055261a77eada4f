// The multiply-add of a GEMM: Unit<Number> for operands that are multiplied as bf16, f16 or f32. A step along K is four
// bytes of each row:
//
//   pairs    two bf16 neighbours, which AVX-512 BF16 or AMX multiplies and adds up in one instruction
//   singles  one element, as f32
#pragma once
#include "codegen/device_lib/memory.h"
#include "codegen/device_lib/launch.h"
#include "codegen/device_lib/amx.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX2__)

/// Sixteen neighbours in memory as floats, rounded to Number if they are wider.
template <class Number>
FULGURITE_INLINE Floats load_as(const Number* from) {
  return load(from);
}
template <class Number>
FULGURITE_INLINE Floats load_as(const float* from) {
  if constexpr (sizeof(Number) == sizeof(float)) return load(from);
  Number rounded[lanes];
  store(rounded, load(from));
  return load(rounded);
}

/// Vector registers need no setup.
struct VectorRegisters {};

/// One element a step.
template <class Number>
struct Unit {
  using Registers = VectorRegisters;
  static constexpr bool is_amx = false;
#if defined(__AVX512F__)
  // On Intel's CPUs, which use this, the next panel comes from the third-level cache too late.
  static constexpr bool prefetches_panels = true;
  static constexpr GemmTiles tiles = wide_single_tiles;
#else
  static constexpr bool prefetches_panels = false;
  static constexpr GemmTiles tiles = narrow_single_tiles;
#endif

  /// Sixteen steps of a row.
  template <class Element>
  static __attribute__((always_inline)) Ints load_steps(const Element* from) {
    return bits_of(load_as<Number>(from));
  }
  /// One step of sixteen adjacent rows.
  template <class Element>
  static __attribute__((always_inline)) Ints load_rows(const Element* from, long) {
    return bits_of(load_as<Number>(from));
  }
  /// Adds the products of a row's step and those of some rows.
  static __attribute__((always_inline)) void add_products(FloatPart& sums, IntPart left, IntPart right) {
    asm("vfmadd231ps %1, %2, %0" : "+v"(sums) : "v"((FloatPart)left), "v"((FloatPart)right));
  }
};

#if defined(__AVX512BF16__)

/// Sixteen neighbours as bf16; subnormal numbers become 0, as the multiplication treats them.
typedef unsigned short HalfMemory __attribute__((vector_size(32), aligned(2), may_alias));
FULGURITE_INLINE HalfPart load_rounded(const BFloat16* from) { return *(const HalfMemory*)from; }
FULGURITE_INLINE HalfPart rounded(const Floats& x) {
  HalfPart result;
  asm("vcvtneps2bf16 %1, %0" : "=v"(result) : "v"(x.part[0]));
  return result;
}
FULGURITE_INLINE HalfPart load_rounded(const float* from) { return rounded(load(from)); }

#endif

#if defined(__AVX512BF16__) || defined(FULGURITE_AMX)

/// Two elements a step.
template <>
struct Unit<BFloat16> {
#if defined(FULGURITE_AMX)
  using Registers = Amx;
  static constexpr bool is_amx = true;
  static constexpr GemmTiles tiles = amx_tiles;
#else
  using Registers = VectorRegisters;
  static constexpr bool is_amx = false, prefetches_panels = false;
  static constexpr GemmTiles tiles = pair_tiles;
#endif

#if defined(__AVX512BF16__)
  template <class Element>
  static __attribute__((always_inline)) Ints load_steps(const Element* from) {
    Ints result;
    result.part[0] = (IntPart)__builtin_shufflevector(load_rounded(from), load_rounded(from + lanes), 0, 1, 2, 3, 4, 5,
                                                      6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                                                      23, 24, 25, 26, 27, 28, 29, 30, 31);
    return result;
  }
  template <class Element>
  static __attribute__((always_inline)) Ints load_rows(const Element* from, long depth_stride) {
    Ints result;
    result.part[0] = (IntPart)__builtin_shufflevector(load_rounded(from), load_rounded(from + depth_stride), 0, 16, 1,
                                                      17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10,
                                                      26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return result;
  }
  static __attribute__((always_inline)) void add_products(FloatPart& sums, IntPart left, IntPart right) {
    asm("vdpbf16ps %1, %2, %0" : "+v"(sums) : "v"(left), "v"(right));
  }
#else
  template <class Element>
  static __attribute__((always_inline)) Ints load_steps(const Element* from) {
    BFloat16 pairs[2 * lanes];
    store(pairs, load(from));
    store(pairs + lanes, load(from + lanes));
    return load((const int*)pairs);
  }
  /// The bf16 of a number is the upper half of its f32.
  template <class Element>
  static __attribute__((always_inline)) Ints load_rows(const Element* from, long depth_stride) {
    return shift_right(bits_of(load_as<BFloat16>(from)), 16) | bits_of(load_as<BFloat16>(from + depth_stride));
  }
#endif
};

#endif

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
