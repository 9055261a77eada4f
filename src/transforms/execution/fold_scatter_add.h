#pragma once
#include <cstdint>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Folds zeros + scatter + add into one scatter into the addend. For sums of `min_bytes` and more of f32 and f64
/// (narrower types would be rounded at each addition) claimed by the eager executor. Duplicate indices are added in
/// another order, so the pass is not for programs that must be bitwise equal to eager mode. A tied embedding's gradient
/// is such a sum:
///
///   t2 = matmul(t0, t1)                                              t2 = matmul(t0, t1)
///   t4 = prims.embedding_backward(t3, tokens, 50257, -1)      ->     t5 = prims.index_put(t2, [tokens], t3, True)
///   t5 = add(t2, t4)
Trace fold_scatter_add(const Trace&, int64_t min_bytes);
/// Returns true if the pass changes the trace.
bool has_scattered_sums(const Trace&, int64_t min_bytes);

}  // namespace fulgurite
