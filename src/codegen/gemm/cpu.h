#pragma once
#include <cstdint>

namespace fulgurite::codegen {

// Properties of the CPU that GEMMs depend on.

/// Returns true if there is an instruction for products of pairs of bf16, vdpbf16ps or AMX tiles: the variant
/// avx512_bf16 runs.
bool has_pair_products();
/// Returns true if vdpbf16ps computes half as many products as f32 units do: Intel's CPUs begin one every second cycle.
bool pair_products_are_halved();
/// Returns true if pairs are faster than multiplying converted numbers as f32 where arithmetic, not memory, takes the
/// time.
bool pair_products_are_fast();
/// Returns true if a weight of `bytes` that one or two rows are multiplied by should be prefetched: on Intel's CPUs,
/// whose own prefetching does not keep up with eight streams from memory. A weight in the second-level cache
/// would take up to 1.6 times as long.
bool prefetches_few_rows(int64_t bytes);

}  // namespace fulgurite::codegen
