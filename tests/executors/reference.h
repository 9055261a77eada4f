#pragma once
#include <functional>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include "support/test.h"
#include "tensor/half.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::test {

inline double element(const TensorImpl& tensor, int64_t offset) {
  const char* at = tensor.data() + offset * size_of(tensor.dtype);
  switch (tensor.dtype) {
    case Dtype::f64: return *reinterpret_cast<const double*>(at);
    case Dtype::f32: return *reinterpret_cast<const float*>(at);
    case Dtype::bf16: return bf16_to_float(*reinterpret_cast<const uint16_t*>(at));
    case Dtype::f16: return f16_to_float(*reinterpret_cast<const uint16_t*>(at));
    case Dtype::i64: return static_cast<double>(*reinterpret_cast<const int64_t*>(at));
    case Dtype::i32: return *reinterpret_cast<const int32_t*>(at);
    case Dtype::i16: return *reinterpret_cast<const int16_t*>(at);
    case Dtype::i8: return *reinterpret_cast<const int8_t*>(at);
    case Dtype::u8: return *reinterpret_cast<const uint8_t*>(at);
    case Dtype::boolean: return *reinterpret_cast<const uint8_t*>(at) != 0;
  }
  return 0;
}

/// The elements in row-major order, read one by one by sizes and strides: nothing here calls a kernel.
inline std::vector<double> elements(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  std::vector<double> values;
  std::vector<int64_t> index(impl.sizes.size());
  for (int64_t n = impl.numel(); n > 0; --n) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * impl.strides[d];
    values.push_back(element(impl, offset));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < impl.sizes[d]) break;
      index[d] = 0;
    }
  }
  return values;
}

/// Numbers without a pattern from low to high, the same at every run.
inline std::vector<double> scattered(int64_t count, double low, double high, uint64_t seed = 1) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values.push_back(low + (high - low) * static_cast<double>(seed >> 40) * 0x1p-24);
  }
  return values;
}

/// A contiguous tensor of these numbers, converted as in C. (By way of a copy from f64.)
inline Tensor make(const std::vector<int64_t>& sizes, Dtype dtype, const std::vector<double>& values) {
  const Tensor wide = reshape(tensor(values), Shape(sizes));
  return dtype == Dtype::f64 ? wide : wide.to(dtype);
}
inline Tensor make(const std::vector<int64_t>& sizes, Dtype dtype, double low, double high, uint64_t seed = 1) {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return make(sizes, dtype, scattered(count, low, high, seed));
}

inline double tolerance_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 1e-13;
    case Dtype::f32: return 1e-6;
    case Dtype::bf16: return 8e-3;
    case Dtype::f16: return 1e-3;
    default: return 0;
  }
}

}  // namespace fulgurite::test
