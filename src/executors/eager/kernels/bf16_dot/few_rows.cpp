#include "executors/eager/kernels/linalg/few_rows.h"

#include "codegen/gemm/cpu.h"
#include "executors/eager/kernels/bf16_dot/pairs.h"
#include "executors/eager/kernels/linalg/code_columns.h"
#include "executors/eager/kernels/linalg/finish.h"

#if defined(__AVX512BF16__)
#include <xmmintrin.h>
#endif

// Products of few rows of bf16 on pairs along K.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

// The upper half of a pair is its second number. vdpbf16ps adds its product first.
using Upper = std::integral_constant<int, 0>;
using Lower = std::integral_constant<int, 1>;
/// One half of each pair of a vector, as f32.
FULGURITE_INLINE Floats half_of(const Ints& pairs, Upper) { return from_bits(pairs & Ints((int)0xffff0000U)); }
FULGURITE_INLINE Floats half_of(const Ints& pairs, Lower) { return from_bits(shift_left(pairs, 16)); }

/// Vectors of thirty-two bf16.
struct PairProducts : UnconvertedTiles<BFloat16> {
  using Vector = Ints;
  static constexpr int64_t step = 2 * lanes;
  static constexpr int64_t vectors_together = 64;  // those of eight rows stay in the first cache
  FULGURITE_INLINE Ints load_all(const BFloat16* from) { return load(reinterpret_cast<const Pair*>(from)); }
  FULGURITE_INLINE Ints load_packed(const BFloat16* from, std::integral_constant<int, 0>) { return load_all(from); }
  FULGURITE_INLINE Ints load_first(const BFloat16* from, int64_t count) {
    BFloat16 buffer[step] = {};
    std::copy_n(from, count, buffer);
    return load_all(buffer);
  }
  FULGURITE_INLINE Floats add(const Ints& a, const Ints& b, Floats sum) {
#if defined(__AVX512BF16__)
    sum.part[0] = (FloatPart)_mm512_dpbf16_ps((__m512)sum.part[0], (__m512bh)a.part[0], (__m512bh)b.part[0]);
    return sum;
#else
    sum = multiply_add(half_of(a, Upper()), half_of(b, Upper()), sum);
    return multiply_add(half_of(a, Lower()), half_of(b, Lower()), sum);
#endif
  }
  /// A group of codes.
  template <class Group>
  FULGURITE_INLINE Ints vector_of(const Group& group, std::integral_constant<int, 0>) {
    const Floats first = group.half(std::integral_constant<int, 0>()),
                 second = group.half(std::integral_constant<int, 1>());
#if defined(__AVX512BF16__)
    Ints pairs;
    pairs.part[0] = (IntPart)_mm512_cvtne2ps_pbh((__m512)second.part[0], (__m512)first.part[0]);
    return pairs;
#else
    BFloat16 buffer[step];
    store(buffer, first);
    store(buffer + lanes, second);
    return load_all(buffer);
#endif
  }
};

#if defined(__AVX512BF16__)
/// The same bits by two products of f32 for each pair, with rows that are converted once: for CPUs that begin a
/// vdpbf16ps every second cycle.
struct HalvesProducts : PairProducts {
  using Packed = float;
  static constexpr int parts_of_vector = 2;
  static constexpr int64_t vectors_together = 32;  // they take twice the memory
  static void pack(const BFloat16* from, int64_t count, int64_t step, float* packed) {
    const Ints pairs = count == step ? load_all(from) : load_first(from, count);
    store(packed, half_of(pairs, Upper()));
    store(packed + lanes, half_of(pairs, Lower()));
  }
  template <int part>
  FULGURITE_INLINE Floats load_packed(const float* from, std::integral_constant<int, part>) {
    return load(from + part * lanes);
  }
  template <class Part>
  FULGURITE_INLINE Floats factor(const Ints& column, Part part) {
    return half_of(column, part);
  }
  FULGURITE_INLINE Floats add(const Floats& a, const Floats& b, const Floats& sum) { return multiply_add(a, b, sum); }
  /// Subnormal numbers are zeros, as for vdpbf16ps. The products read memory after the mode is set, and the sums are in
  /// memory before it is left.
  class Mode {
   public:
    explicit Mode(const Floats* sums) : sums_(sums), before_(_mm_getcsr()) {
      constexpr unsigned subnormals_are_zeros = 0x8040;  // results, and operands
      _mm_setcsr(before_ | subnormals_are_zeros);
      asm volatile("" : : "r"(sums_) : "memory");
    }
    ~Mode() {
      asm volatile("" : : "r"(sums_) : "memory");
      _mm_setcsr(before_);
    }
    Mode(const Mode&) = delete;
    Mode& operator=(const Mode&) = delete;

   private:
    const Floats* sums_;
    unsigned before_;
  };
};
#endif

template <class PackedProducts>
void multiply_rows(const GemmBlock& p, const Typed<BFloat16>& t) {
  if (p.codes != nullptr) return multiply_code_rows<PairProducts, BFloat16, PackedProducts>(p);
  multiply_few_rows<PairProducts, PackedProducts>(
      RowsToMultiply<BFloat16>{t.a, p.a_row, {t.b, p.b_column}, p.k, p.prefetches}, p.m, p.n,
      [&](int64_t r, int64_t c, const float* sums, int64_t count) { finish_run(p, t, r, c, sums, count); });
}

}  // namespace

void multiply_few_rows(const GemmBlock& p) {
  const Typed<BFloat16> t = typed<BFloat16>(p);
  if (p.codes != nullptr || has_few_rows(p)) {
#if defined(__AVX512BF16__)
    if (codegen::pair_products_are_halved()) return multiply_rows<HalvesProducts>(p, t);
#endif
    multiply_rows<PairProducts>(p, t);
  } else {
    multiply_few_rows<PairProducts>(RowsToMultiply<BFloat16>{t.b, p.b_column, {t.a, p.a_row}, p.k, p.prefetches}, 1,
                                    p.m, [&](int64_t, int64_t row, const float* sums, int64_t count) {
                                      for (int64_t i = 0; i < count; ++i) finish(p, t, row + i, 0, sums[i]);
                                    });
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
