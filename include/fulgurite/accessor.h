#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// The elements of a tensor by their indexes, without checks: `accessor[i][j]`. Refers to the tensor's memory.
template <class T, size_t dims>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < dims; ++d) {
      sizes_[d] = sizes[d];
      strides_[d] = strides[d];
    }
  }
  decltype(auto) operator[](int64_t i) const {
    T* const part = data_ + i * strides_[0];
    if constexpr (dims == 1) return *part;
    else return TensorAccessor<T, dims - 1>(part, sizes_ + 1, strides_ + 1);
  }
  int64_t size(size_t dim) const { return sizes_[dim]; }
  int64_t stride(size_t dim) const { return strides_[dim]; }
  T* data() const { return data_; }

 private:
  T* data_;
  int64_t sizes_[dims], strides_[dims];
};

/// `accessor<float, 2>(x)`; valid while the tensor is. Throws UserError on another dtype or number of dimensions.
template <class T, size_t dims>
TensorAccessor<T, dims> accessor(const Tensor& tensor, SourceLocation at = SourceLocation::here()) {
  static_assert(dims > 0, "fulgurite: an accessor has dimensions; item<T>() reads a single element");
  T* const first = tensor.data<T>(at);
  if (tensor.ndim() != static_cast<int64_t>(dims))
    throw UserError("accessor(): the tensor has " + std::to_string(tensor.ndim()) + " dimensions, the accessor " +
                        std::to_string(dims),
                    at);
  int64_t sizes[dims], steps[dims];
  const Shape shape = tensor.shape();
  const std::vector<Int> strides = tensor.strides();
  for (size_t d = 0; d < dims; ++d) {
    sizes[d] = shape[d];
    steps[d] = strides[d];
  }
  return {first, sizes, steps};
}

template <class T, size_t dims>
TensorAccessor<T, dims> TensorMembers::accessor(SourceLocation at) const {
  return fulgurite::accessor<T, dims>(static_cast<const Tensor&>(*this), at);
}

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
