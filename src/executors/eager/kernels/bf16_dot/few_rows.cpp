#include "executors/eager/kernels/linalg/few_rows.h"

#include "executors/eager/kernels/bf16_dot/pairs.h"
#include "executors/eager/kernels/linalg/code_columns.h"
#include "executors/eager/kernels/linalg/finish.h"

// Products of few rows of bf16 on pairs along K.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// Vectors of thirty-two bf16.
struct PairProducts {
  using Vector = Ints;
  static constexpr int64_t step = 2 * lanes;
  static constexpr int64_t vectors_together = 64;  // those of eight rows stay in the first cache
  FULGURITE_INLINE Ints load_all(const BFloat16* from) { return load(reinterpret_cast<const Pair*>(from)); }
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
    const Ints upper_half((int)0xffff0000U);
    sum = multiply_add(from_bits(a & upper_half), from_bits(b & upper_half), sum);
    return multiply_add(from_bits(shift_left(a, 16)), from_bits(shift_left(b, 16)), sum);
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

}  // namespace

void multiply_few_rows(const GemmBlock& p) {
  const Typed<BFloat16> t = typed<BFloat16>(p);
  if (p.codes != nullptr) {
    multiply_code_rows<PairProducts, BFloat16>(p);
  } else if (has_few_rows(p)) {
    multiply_few_rows<PairProducts>(
        RowsToMultiply<BFloat16>{t.a, p.a_row, {t.b, p.b_column}, p.k, p.prefetches}, p.m, p.n,
        [&](int64_t r, int64_t c, const float* sums, int64_t count) { finish_run(p, t, r, c, sums, count); });
  } else {
    multiply_few_rows<PairProducts>(RowsToMultiply<BFloat16>{t.b, p.b_column, {t.a, p.a_row}, p.k, p.prefetches}, 1,
                                    p.m, [&](int64_t, int64_t row, const float* sums, int64_t count) {
                                      for (int64_t i = 0; i < count; ++i) finish(p, t, row + i, 0, sums[i]);
                                    });
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
