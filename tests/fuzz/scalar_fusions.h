#pragma once

namespace fulgurite::test {

/// Random programs with reductions, in all dtypes, some of them differentiated: kernels of vectors and kernels in
/// scalar form give the same bits; NaNs must only be NaNs. Prints differences, then `N programs, N fusions, N
/// failures`; returns the number of failures.
int check_scalar_fusions(unsigned first, unsigned count);

}  // namespace fulgurite::test
