#pragma once
#include "codegen/ir/kernel.h"

// Passes over lowered kernels, before their row loops are scheduled.
namespace fulgurite::codegen {

/// Removes the roundings of values that are only stored, because a store rounds anyway:
///
///   %2 = round_bf16(exp(%0))          ->          %2 = exp(%0)
///   store %2 to output 0 (bf16)                   store %2 to output 0 (bf16)
Kernel drop_rounding_before_stores(Kernel);

/// Removes the values that no store needs:
///
///   %1 = exp(%0)                      ->          %1 = negate(%0)
///   %2 = negate(%0)
///   store %2 to output 0                          store %1 to output 0
Kernel remove_dead_values(Kernel);

/// Chooses cheaper roundings to bf16. A value computed from bf16 numbers alone is NaN only with the bits of a bf16 NaN,
/// for which rounding needs no check, and an exact number is not rounded again where it is stored:
///
///   %0 = load input 0 (bf16)                      %0 = load input 0 (bf16)
///   %1 = round_bf16(exp(%0))          ->          %1 = round_inside_bf16(exp(%0))
///   %2 = negate(%1)                               %2 = negate(%1)
///   store %2 to output 0 (bf16)                   store %2 to output 0 (bf16, exact)
Kernel choose_bf16_roundings(Kernel);

}  // namespace fulgurite::codegen
