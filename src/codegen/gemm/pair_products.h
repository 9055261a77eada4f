#pragma once

namespace fulgurite::codegen {

// Products of pairs of bf16: vdpbf16ps, or AMX tiles. Properties of the CPU.

/// Returns true if there is an instruction for them: the variant avx512_bf16 runs.
bool has_pair_products();
/// Returns true if they are faster than multiplying converted numbers as f32 where arithmetic, not memory, takes the
/// time. Intel's CPUs without AMX begin one vdpbf16ps every second cycle: half as many products as f32 units compute.
bool pair_products_are_fast();

}  // namespace fulgurite::codegen
