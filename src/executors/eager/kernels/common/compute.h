#pragma once
#include <cstdint>
#include <type_traits>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/elements.h"
#include "tensor/memory/allocator.h"
#include "tensor/tensor_impl.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

// Shared by kernels over whole rows and matrices: the types that elements are computed in, and memory for intermediate
// values.
namespace fulgurite::FULGURITE_KERNELS {

/// The type an element is computed in: f32 for the 16-bit floats, a byte for booleans, itself for the others.
template <class Element>
using Compute = decltype(number_of(Element{}));
template <class Element>
FULGURITE_INLINE Compute<Element> widen(Element e) {
  return number_of(e);
}
template <class Element>
FULGURITE_INLINE Element narrow(Compute<Element> value) {
  return element_of<Element>(value);
}

/// Calls f.operator()<Element>() with the dtype's element type.
template <class F>
void visit_floating(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f64: return f.template operator()<double>();
    case Dtype::bf16: return f.template operator()<BFloat16>();
    case Dtype::f16: return f.template operator()<Float16>();
    default: return f.template operator()<float>();
  }
}
template <class F>
void visit_dtype(Dtype dtype, F&& f) {
  visit_element_type(dtype, [&]<class Element>(ElementType<Element>) { f.template operator()<Element>(); });
}
/// For kernels that only move elements: an unsigned type of the element's size.
template <class F>
void visit_size(Dtype dtype, F&& f) {
  switch (size_of(dtype)) {
    case 8: return f.template operator()<uint64_t>();
    case 4: return f.template operator()<uint32_t>();
    case 2: return f.template operator()<uint16_t>();
    default: return f.template operator()<uint8_t>();
  }
}
/// Calls f.operator()<Index>() with the integer type of an index tensor.
template <class F>
void visit_index(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::i64: return f.template operator()<int64_t>();
    case Dtype::i16: return f.template operator()<int16_t>();
    case Dtype::i8: return f.template operator()<int8_t>();
    case Dtype::u8:
    case Dtype::boolean: return f.template operator()<uint8_t>();
    default: return f.template operator()<int32_t>();
  }
}

template <class Element>
Element* data_of(const Tensor& t) {
  return reinterpret_cast<Element*>(t.impl()->data());
}
inline const Sizes& sizes_of(const Tensor& t) { return t.impl()->sizes; }
inline const Sizes& strides_of(const Tensor& t) { return t.impl()->strides; }

/// Uninitialised memory for a kernel's intermediate values; reused from the allocator's cached blocks after the first
/// time.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : bytes_(static_cast<size_t>(count > 0 ? count : 1) * sizeof(T)), data_(static_cast<T*>(allocate(bytes_))) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  size_t bytes_;
  T* data_;
};

/// Returns `t` if it is contiguous, otherwise a contiguous copy.
inline Tensor contiguous_elements(const Tensor& t) {
  if (t.impl()->is_contiguous) return t;
  Tensor copy = make_tensor(t.impl()->sizes, t.impl()->dtype);
  copy_elements(t, copy);
  return copy;
}

}  // namespace fulgurite::FULGURITE_KERNELS
