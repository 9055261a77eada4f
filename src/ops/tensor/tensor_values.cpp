// Data-dependent access to a tensor's elements. While tracing this goes through the tracer, which can refuse.
#include <algorithm>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include "ops/core/dispatch.h"
#include "ops/tensor/tensor_values.h"
#include "support/text/base_name.h"
#include "support/text/text.h"
#include "tensor/element.h"
#include "tensor/pending.h"

namespace fulgurite {

namespace {

std::string_view cpp_type(Dtype dtype) {
  static constexpr std::string_view types[dtype_count] = {"double",
                                                          "float",
                                                          "float after to(Dtype::f32)",
                                                          "float after to(Dtype::f32)",
                                                          "int64_t",
                                                          "int32_t",
                                                          "int16_t",
                                                          "int8_t",
                                                          "uint8_t",
                                                          "bool"};
  return types[static_cast<int>(dtype)];
}

const TensorImpl& element_of(const Tensor& tensor, SourceLocation at) {
  const TensorImpl& impl = demand_elements(tensor, "item()", at);
  if (impl.numel() != 1)
    throw UserError(text::cat("item() of ", type_text(tensor), ": it needs a tensor of exactly one element"), at);
  return impl;
}

void check_type(const Tensor& tensor, Dtype wanted, const char* what, SourceLocation at) {
  if (!tensor.defined() || tensor.dtype() == wanted) return;
  throw UserError(text::cat(what, "<", cpp_type(wanted), ">() of ", type_text(tensor), ": its elements are ",
                            cpp_type(tensor.dtype())),
                  at);
}

}  // namespace

const TensorImpl& demand_elements(const Tensor& tensor, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, " of an undefined tensor"), at);
  if (Interpreter* interpreter = innermost_interpreter()) [[unlikely]]
    interpreter->demand_value(tensor, what, at);
  const TensorImpl& impl = *tensor.impl();
  if (impl.proxy) {
    const std::string_view file = text::base_name(impl.born.file);
    throw UserError(
        text::cat(what, " of ", type_text(tensor), ": this tensor is a value of a trace that has ended",
                  impl.born.line > 0 ? text::cat(" (made at ", file, ":", impl.born.line, ")") : std::string(),
                  "; return it from the traced function instead"),
        at);
  }
  need_elements(impl);
  return impl;
}

namespace {

[[noreturn]] void refuse_item(const Tensor& tensor, const std::string& value, SourceLocation at) {
  throw UserError(text::cat("item() of ", type_text(tensor), ": ", value,
                            " does not fit into the type that was asked for; ask for a larger one"),
                  at);
}

}  // namespace

double Tensor::item_as_double(SourceLocation at) const {
  const TensorImpl& impl = element_of(*this, at);
  return read_floating(impl.data(), impl.dtype);
}

double Tensor::item_as_double(double most, SourceLocation at) const {
  const double value = item_as_double(at);
  if (std::isfinite(value) && std::fabs(value) > most) refuse_item(*this, text::cat(value), at);
  return value;
}

int64_t Tensor::item_as_integer(int64_t least, int64_t most, SourceLocation at) const {
  const TensorImpl& impl = element_of(*this, at);
  if (fulgurite::is_floating(impl.dtype)) {
    const double value = read_floating(impl.data(), impl.dtype);
    // Truncated to an integer; the number after the largest i64 is its nearest f64, and comparisons with NaN are false.
    const double cut = std::trunc(value), end = most == INT64_MAX ? 0x1p63 : static_cast<double>(most) + 1;
    if (!(cut >= static_cast<double>(least) && cut < end)) refuse_item(*this, text::cat(value), at);
    return static_cast<int64_t>(cut);
  }
  const int64_t value = read_integer(impl.data(), impl.dtype);
  if (value < least || value > most) refuse_item(*this, text::cat(value), at);
  return value;
}

int64_t detail::integer_of(const Tensor& tensor, SourceLocation at) {
  if (tensor.defined() && is_floating(tensor.dtype()))
    throw UserError(text::cat("an integer is needed, not a tensor of ", tensor.dtype(), ": ", type_text(tensor)), at);
  return tensor.item<int64_t>(at);
}

Tensor::operator bool() const {
  const TensorImpl& impl = demand_elements(*this, "a condition", {});
  if (impl.numel() != 1)
    throw UserError(text::cat("a condition on ", type_text(*this),
                              " is ambiguous: use any() or all(), or ~, & and | for each element"));
  return read_floating(impl.data(), impl.dtype) != 0;
}

void* Tensor::data_pointer(SourceLocation at) const { return demand_elements(*this, "data_pointer()", at).data(); }

template <class T>
T* Tensor::stored_data(SourceLocation at) const {
  check_type(*this, detail::dtype_of_element<T>(), "data", at);
  return reinterpret_cast<T*>(demand_elements(*this, "data()", at).data());
}

template <class T>
std::vector<T> Tensor::stored_elements(SourceLocation at) const {
  check_type(*this, detail::dtype_of_element<T>(), "to_vector", at);
  const TensorImpl& impl = demand_elements(*this, "to_vector()", at);
  const auto* first = reinterpret_cast<const T*>(impl.data());
  const int64_t count = impl.numel();
  if (impl.is_contiguous) return std::vector<T>(first, first + count);
  std::vector<T> out;
  out.reserve(static_cast<size_t>(count));
  for_each_offset(impl.sizes, impl.strides, [&](int64_t offset) { out.push_back(first[offset]); });
  return out;
}

template double* Tensor::stored_data<double>(SourceLocation) const;
template float* Tensor::stored_data<float>(SourceLocation) const;
template int64_t* Tensor::stored_data<int64_t>(SourceLocation) const;
template int32_t* Tensor::stored_data<int32_t>(SourceLocation) const;
template int16_t* Tensor::stored_data<int16_t>(SourceLocation) const;
template int8_t* Tensor::stored_data<int8_t>(SourceLocation) const;
template uint8_t* Tensor::stored_data<uint8_t>(SourceLocation) const;
template bool* Tensor::stored_data<bool>(SourceLocation) const;
template std::vector<double> Tensor::stored_elements<double>(SourceLocation) const;
template std::vector<float> Tensor::stored_elements<float>(SourceLocation) const;
template std::vector<int64_t> Tensor::stored_elements<int64_t>(SourceLocation) const;
template std::vector<int32_t> Tensor::stored_elements<int32_t>(SourceLocation) const;
template std::vector<int16_t> Tensor::stored_elements<int16_t>(SourceLocation) const;
template std::vector<int8_t> Tensor::stored_elements<int8_t>(SourceLocation) const;
template std::vector<uint8_t> Tensor::stored_elements<uint8_t>(SourceLocation) const;
template std::vector<bool> Tensor::stored_elements<bool>(SourceLocation) const;

}  // namespace fulgurite
