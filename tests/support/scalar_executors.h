#pragma once
#include "codegen/host_compiler/compile_kernels.h"
#include "executors/gemm/run_gemm.h"

namespace fulgurite::test {

/// Registers the executors "scalar_fuser" and "scalar_gemm": the fuser and gemm, but for their kernels, which are
/// compiled in scalar form. Their results have the same bits.
void register_scalar_executors();

/// Calls a GEMM's kernel in scalar form; the rows of the result are divided among threads.
void run_scalar_gemm(const codegen::GemmForm&, const fused_gemm::GemmArguments&, const codegen::CompiledKernel&);

}  // namespace fulgurite::test
