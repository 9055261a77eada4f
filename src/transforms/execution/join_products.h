#pragma once
#include <cstdint>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Computes a sum of thin matrix products as one product. A weight that is used several times (at each step of a
/// recurrent layer) has such a gradient: each product writes and each addition reads and writes a complete gradient.
/// For sums of `min_bytes` and more of f32 and f64, where that costs more than copies of the operands. Products are
/// added in another order, so the pass is not for programs that must be bitwise equal to eager mode.
///
///   t2 = matmul(t0, t1)               t7 = cat({t0, t3}, 1)
///   t5 = matmul(t3, t4)        ->     t8 = cat({t1, t4})
///   t6 = add(t2, t5)                  t6 = matmul(t7, t8)
///
/// Left operands that are views, transposed as a rule, are concatenated by rows.
Trace join_products(const Trace&, int64_t min_bytes);
/// Returns true if the pass changes the trace.
bool has_sums_of_products(const Trace&, int64_t min_bytes);

}  // namespace fulgurite
