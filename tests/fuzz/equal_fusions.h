#pragma once

namespace fulgurite::test {

/// Random programs of pointwise operators, in f32, f64, bf16 and f16: the fuser gives the bits that the eager executor gives and eager mode gives,
/// the sign of zero included; of what is not a number only that it is none. Prints what differs, then `N programs, N fusions, N failures`; returns
/// the number of failures.
int check_equal_fusions(unsigned first, unsigned count);

}  // namespace fulgurite::test
