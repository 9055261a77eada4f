#pragma once
#include <cstdint>

#include <fulgurite/trace.h>

namespace fulgurite {

/// What is scattered into zeros only to be added to something is scattered into that: no zeros are made, read and added. For sums of `min_bytes`
/// and more of f32 and f64 (narrower numbers would be rounded each time) that the eager executor was to scatter. Where a place is listed twice the
/// order of additions is another one, so programs that must have eager mode's bits are not for this. A tied embedding's gradient is such a sum:
///
///   t2 = matmul(t0, t1)                                              t2 = matmul(t0, t1)
///   t4 = prims.embedding_backward(t3, tokens, 50257, -1)      ->     t5 = prims.index_put(t2, [tokens], t3, True)
///   t5 = add(t2, t4)
Trace fold_scatter_add(const Trace&, int64_t min_bytes);
/// Whether that changes anything.
bool has_scattered_sums(const Trace&, int64_t min_bytes);

}  // namespace fulgurite
