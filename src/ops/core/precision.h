#pragma once
#include <fulgurite/operators.h>

namespace fulgurite {

/// What decompositions compute in: f32 for bf16 and f16, else the dtype itself.
inline Dtype compute_dtype(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::f16 ? Dtype::f32 : dtype; }

/// x in another dtype; x itself where it has it.
inline Tensor as_dtype(const Tensor& x, Dtype dtype, SourceLocation at) {
  return x.dtype() == dtype ? x : prims::convert_element_type(x, dtype, at);
}

}  // namespace fulgurite
