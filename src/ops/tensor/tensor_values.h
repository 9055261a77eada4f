#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// The concrete tensor of a handle whose elements are about to be read; throws if there is none. `what` names the
/// reader: "item()".
const TensorImpl& demand_elements(const Tensor&, const char* what, SourceLocation);

/// Calls visit(offset) for each element in row-major order; the offset counts elements from the first.
template <class Visit>
void for_each_offset(const Sizes& sizes, const Sizes& strides, Visit&& visit) {
  Sizes index(sizes.size());
  for (const int64_t size : sizes)
    if (size == 0) return;
  int64_t offset = 0;
  while (true) {
    visit(offset);
    size_t dim = sizes.size();
    while (true) {
      if (dim == 0) return;
      --dim;
      offset += strides[dim];
      if (++index[dim] < sizes[dim]) break;
      offset -= strides[dim] * sizes[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace fulgurite
