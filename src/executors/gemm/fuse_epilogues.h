#pragma once
#include "executors/registry.h"

namespace fulgurite::fused_gemm {

/// Outlines each GEMM that is marked with `candidate` as a fusion, together with the conversions that its packing and
/// its stores do (those of operands from outside the trace, and that of a returned result) and with its epilogue
/// (executors/gemm/epilogue_growth.h).
///
///     t2 = convert_element_type(t_w, bf16)      # f32                  t3, = fusion0(t1, t_w, t4)
///     t3 = linear(t1, t2, t4)                                  →         # t2 = convert_element_type(t_w, bf16)
///                                                                        # t3 = linear(t1, t2, t4)
Trace fuse_gemm_epilogues(const Trace&, const Implementation& candidate, FusionNames&, bool allow_excess_precision);

}  // namespace fulgurite::fused_gemm
