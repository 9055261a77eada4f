#pragma once
#include <fulgurite/operators.h>

namespace fulgurite {

/// The compute dtype of decompositions: f32 for bf16 and f16, else the dtype itself.
inline Dtype compute_dtype(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::f16 ? Dtype::f32 : dtype; }

/// x converted to a dtype; x itself if it has that dtype.
inline Tensor as_dtype(const Tensor& x, Dtype dtype, SourceLocation at) {
  return x.dtype() == dtype ? x : prims::convert_element_type(x, dtype, at);
}

}  // namespace fulgurite
