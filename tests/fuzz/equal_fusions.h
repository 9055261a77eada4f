#pragma once

namespace fulgurite::test {

/// Random programs of pointwise operators, in f32, f64, bf16 and f16: the fuser, the eager executor and eager mode give
/// the same bits, the sign of zero included; NaNs must only be NaNs. Prints differences, then `N programs, N fusions, N
/// failures`; returns the number of failures.
int check_equal_fusions(unsigned first, unsigned count);
/// The same programs: kernels of vectors and kernels in scalar form give the same bits.
int check_scalar_pointwise(unsigned first, unsigned count);

}  // namespace fulgurite::test
