#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fused_gemm {

/// Whether generated products of a dtype can run on this CPU and are known to be faster than oneDNN's for some sizes.
bool is_profitable_on_this_cpu(Dtype);

/// Whether the generated kernel takes a line: a product of a stack of rows with one matrix, of a dtype and sizes for which it was measured to be
/// faster than oneDNN on a CPU like this one. A function of the line alone.
bool accepts_gemm(const BoundSymbol&);
bool has_gemm(const Trace&);

}  // namespace fulgurite::fused_gemm
