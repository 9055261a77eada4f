#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>

#include <fulgurite/detail/elements.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Tensors from the program's own memory.

/// Returns a tensor of these sizes over the caller's memory, which must outlive the tensor and its views: writes
/// through either are visible in both. The elements are of `options.dtype` (float without one). `deleter` is called
/// with `data` when no tensor refers to it any more.
Tensor from_blob(void* data, const Shape& sizes, const TensorOptions& options = {},
                 std::function<void(void*)> deleter = {}, SourceLocation at = SourceLocation::here());
/// The same with strides in elements, which are not negative.
Tensor from_blob(void* data, const Shape& sizes, const detail::Given<Dims>& strides, const TensorOptions& options = {},
                 std::function<void(void*)> deleter = {}, SourceLocation at = SourceLocation::here());

namespace detail {
/// A copy of row-major elements.
Tensor copy_of_elements(const void* elements, Dtype, size_t count, const Shape&, const TensorOptions&, SourceLocation);
template <class T>
Tensor copy_of_elements(std::span<const T> elements, const Shape& shape, const TensorOptions& options,
                        SourceLocation at) {
  check_source<T>();
  if constexpr (has_dtype<T>) {
    return copy_of_elements(elements.data(), dtype_of_element<T>(), elements.size(), shape, options, at);
  } else if constexpr (becomes_i64<T>) {
    const TensorData converted(std::vector<Element<T>>(elements.begin(), elements.end()));
    return copy_of_elements(converted.integers().data(), Dtype::i64, elements.size(), shape, options, at);
  }
}
}  // namespace detail

/// A tensor of these sizes with a copy of the row-major elements, of the dtype of T.
template <class T>
requires(!std::is_const_v<T>) Tensor
    tensor(std::span<const T> elements, const Shape& shape, const TensorOptions& options = {},
           SourceLocation at = SourceLocation::here()) {
  return detail::copy_of_elements(elements, shape, options, at);
}
template <class T, size_t count>
Tensor tensor(std::span<T, count> elements, const Shape& shape, const TensorOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  return detail::copy_of_elements(std::span<const std::remove_const_t<T>>(elements), shape, options, at);
}
/// A one-dimensional copy of a span's elements.
template <class T, size_t count>
Tensor tensor(std::span<T, count> elements, const TensorOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  return detail::copy_of_elements(std::span<const std::remove_const_t<T>>(elements), Shape{elements.size()}, options,
                                  at);
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
