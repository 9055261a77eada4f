#pragma once
#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels/common/compute.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The operands of a block, as elements.
template <class Element>
struct Typed {
  const Element* a;
  const Element* b;
  Element* c;
  const Element* bias;
};
template <class Element>
inline Typed<Element> typed(const GemmBlock& p) {
  return {static_cast<const Element*>(p.a), static_cast<const Element*>(p.b), static_cast<Element*>(p.c),
          static_cast<const Element*>(p.bias)};
}

/// Applies alpha, beta and the bias to a finished sum.
template <class Element>
FULGURITE_INLINE void finish(const GemmBlock& p, const Typed<Element>& t, int64_t row, int64_t column,
                             Compute<Element> sum) {
  using T = Compute<Element>;
  Element& c = t.c[row * p.c_row + column];
  T value = p.alpha == 1 ? sum : static_cast<T>(p.alpha) * sum;
  if (p.beta != 0) value += static_cast<T>(p.beta) * widen(c);
  if (t.bias != nullptr) value += widen(t.bias[column * p.bias_stride]);
  c = narrow<Element>(value);
}

/// finish() for `count` columns of a row.
template <class Element>
inline void finish_run(const GemmBlock& p, const Typed<Element>& t, int64_t row, int64_t column,
                       const Compute<Element>* sums, int64_t count) {
  if (p.alpha != 1 || p.beta != 0 || (t.bias != nullptr && p.bias_stride != 1)) {
    for (int64_t i = 0; i < count; ++i) finish(p, t, row, column + i, sums[i]);
    return;
  }
  Element* const c = t.c + row * p.c_row + column;
  if (t.bias == nullptr)
    for (int64_t i = 0; i < count; ++i) c[i] = narrow<Element>(sums[i]);
  else
    for (int64_t i = 0; i < count; ++i) c[i] = narrow<Element>(sums[i] + widen(t.bias[column + i]));
}

}  // namespace fulgurite::FULGURITE_KERNELS
