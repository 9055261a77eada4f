#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Lets products read the codes of a weight of few bits, and dequantizes it for each other consumer right before that
/// one, so that the numbers are not in memory from the forward to the backward.
///
///   t2 = dequantize(t_codes, t_scales, dtype=f32)
///   t3 = linear(t0, t2, t_b)                           t3 = linear_of_codes(t0, t_codes, t_scales, None, t_b)
///   …                                             ->   …
///   t5 = matmul(t4, t2)                                t6 = dequantize(t_codes, t_scales, dtype=f32)
///                                                      t5 = matmul(t4, t6)
///
/// The numbers, and the products, have the same bits. A rounding of f32 numbers to 16 bits in between, as autocast
/// records it, is a part of the dequantization.
Trace multiply_codes(const Trace&);
/// Returns true if a trace dequantizes.
bool has_codes(const Trace&);

}  // namespace fulgurite
