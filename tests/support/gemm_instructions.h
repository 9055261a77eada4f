#pragma once
#include <vector>

#include "codegen/gemm/gemm_kernel.h"
#include "codegen/gemm/cpu.h"

namespace fulgurite::test {

/// The instructions that GEMMs may be compiled for on this CPU: the best without pairs of bf16, pairs, and AMX, which
/// must be emulated where it is missing. All CPUs with AMX have instructions for pairs.
inline std::vector<codegen::Instructions> all_instructions() {
  if (!codegen::has_gemm_instructions()) return {};
  std::vector<codegen::Instructions> all{{codegen::best_instruction_set(), false}};
  if (codegen::has_pair_products())
    for (const bool has_amx : {false, true}) all.push_back({codegen::InstructionSet::avx512_bf16, has_amx});
  return all;
}

}  // namespace fulgurite::test
