#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fused_gemm {

/// Returns true if generated GEMMs of a dtype can run on this CPU and are known to be faster than oneDNN's for some
/// sizes.
bool is_profitable_on_this_cpu(Dtype);

/// Returns true if the generated kernel accepts an op: a matmul of a stack of rows and one matrix, of a dtype and sizes
/// for which it was measured to be faster than oneDNN on a CPU like this one. A function of the op alone.
bool accepts_gemm(const BoundSymbol&);
bool has_gemm(const Trace&);

}  // namespace fulgurite::fused_gemm
