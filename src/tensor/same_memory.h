#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Whether two tensors are the same elements in the same memory, whoever holds them.
inline bool is_same_memory(const Tensor& a, const Tensor& b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  return x.storage == y.storage && x.offset == y.offset && x.sizes == y.sizes && x.strides == y.strides && x.dtype == y.dtype;
}

}  // namespace fulgurite
