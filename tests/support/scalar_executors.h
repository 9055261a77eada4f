#pragma once

namespace fulgurite::test {

/// Registers the executors "scalar_fuser" and "scalar_gemm": the fuser and gemm, but for their kernels, which are
/// compiled in scalar form. Their results have the same bits.
void register_scalar_executors();

}  // namespace fulgurite::test
