// Tensors from braces and vectors.
#include <span>

#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include "support/text/text.h"
#include "tensor/element.h"
#include "tensor/number_range.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

/// As i64; an unsigned 64-bit number may be larger.
template <class T>
int64_t exact(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t))
    if (value > static_cast<T>(INT64_MAX))
      throw UserError(text::cat("tensor: ", std::to_string(value), " does not fit into i64, which integers have here"));
  return static_cast<int64_t>(value);
}

template <class Number>
void require_fits(Number value, Dtype dtype, SourceLocation at) {
  // Numbers beyond f32's range become infinities, as in PyTorch.
  if (!is_floating(dtype) && overflows(value, dtype))
    throw UserError(text::cat("tensor: ", does_not_fit(value, dtype)), at);
}

}  // namespace

TensorData::TensorData(const TensorData* begin, size_t count) {
  const std::span<const TensorData> rows(begin, count);
  shape_.push_back(static_cast<int64_t>(count));
  if (count == 0) {
    is_default_floating_ = true;
    return;
  }
  const TensorData& first = rows.front();
  for (const Int size : first.shape_) shape_.push_back(size);
  // Plain floating numbers adapt to the floating type of a std::vector beside them.
  bool any_floating = false, any_fixed = false;
  Dtype fixed = Dtype::f32, exact = Dtype::boolean;
  for (const TensorData& row : rows) {
    if (!(row.shape_ == first.shape_))
      throw UserError(text::cat("tensor: rows of different sizes: ", row.shape_, " beside ", first.shape_));
    any_floating = any_floating || row.is_floating();
    if (!row.is_floating()) {
      exact = promote_types(exact, row.dtype_);
    } else if (!row.is_default_floating_) {
      fixed = any_fixed ? promote_types(fixed, row.dtype_) : row.dtype_;
      any_fixed = true;
    }
  }
  is_default_floating_ = any_floating && !any_fixed;
  dtype_ = any_fixed ? fixed : any_floating ? Dtype::f32 : exact;
  for (const TensorData& row : rows) {
    if (!any_floating) integers_.insert(integers_.end(), row.integers_.begin(), row.integers_.end());
    else if (row.is_floating()) doubles_.insert(doubles_.end(), row.doubles_.begin(), row.doubles_.end());
    else doubles_.insert(doubles_.end(), row.integers_.begin(), row.integers_.end());
  }
}

template <class T>
TensorData TensorData::of_elements(const std::vector<T>& values) {
  TensorData out;
  out.set_element_type(detail::dtype_of_element<T>());
  out.shape_ = Shape{values.size()};
  if constexpr (std::is_floating_point_v<T>) out.doubles_.assign(values.begin(), values.end());
  else
    for (const T value : values) out.integers_.push_back(exact(value));
  return out;
}

template TensorData TensorData::of_elements(const std::vector<double>&);
template TensorData TensorData::of_elements(const std::vector<float>&);
template TensorData TensorData::of_elements(const std::vector<int64_t>&);
template TensorData TensorData::of_elements(const std::vector<int32_t>&);
template TensorData TensorData::of_elements(const std::vector<int16_t>&);
template TensorData TensorData::of_elements(const std::vector<int8_t>&);
template TensorData TensorData::of_elements(const std::vector<uint8_t>&);
template TensorData TensorData::of_elements(const std::vector<uint16_t>&);
template TensorData TensorData::of_elements(const std::vector<uint32_t>&);
template TensorData TensorData::of_elements(const std::vector<uint64_t>&);
template TensorData TensorData::of_elements(const std::vector<bool>&);

Tensor tensor(const TensorData& data, const TensorOptions& options, SourceLocation at) {
  const Dtype dtype = options.dtype.value_or(data.dtype());
  Sizes sizes;
  for (const Int size : data.shape()) sizes.push_back(size);
  if (options.requires_grad && !is_floating(dtype))
    throw UserError(text::cat("tensor: requires_grad with dtype ", dtype, ": only floating tensors have a gradient"),
                    at);
  Tensor out = make_tensor(sizes, dtype, options.device);
  char* element = out.impl()->data();
  const int64_t step = size_of(dtype);
  for (const double value : data.doubles()) {
    require_fits(value, dtype, at);
    write_floating(element, dtype, value);
    element += step;
  }
  for (const int64_t value : data.integers()) {
    require_fits(value, dtype, at);
    write_integer(element, dtype, value);
    element += step;
  }
  out.impl()->requires_grad = options.requires_grad;
  return out;
}

}  // namespace fulgurite
