#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Returns true if two tensors have the same elements in the same memory, even through different handles.
inline bool is_same_memory(const Tensor& a, const Tensor& b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  return x.storage == y.storage && x.offset == y.offset && x.sizes == y.sizes && x.strides == y.strides &&
         x.dtype == y.dtype;
}

}  // namespace fulgurite
