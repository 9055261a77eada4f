// Members of Tensor by LibTorch's names that are more than a call of a function.
#include <fulgurite/tensor_members.h>

#include <algorithm>
#include <iostream>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/numeric_functions.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

const Tensor& self(const TensorMembers& members) { return static_cast<const Tensor&>(members); }

std::string_view type_name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return "CPUDoubleType";
    case Dtype::f32: return "CPUFloatType";
    case Dtype::bf16: return "CPUBFloat16Type";
    case Dtype::f16: return "CPUHalfType";
    case Dtype::i64: return "CPULongType";
    case Dtype::i32: return "CPUIntType";
    case Dtype::i16: return "CPUShortType";
    case Dtype::i8: return "CPUCharType";
    case Dtype::u8: return "CPUByteType";
    case Dtype::boolean: return "CPUBoolType";
  }
  return "UndefinedType";
}

// Sizes of the diagonal's steps in a tensor of equal sizes, as one dimension of a flat tensor.
struct Diagonal {
  int64_t step, length;
};
Diagonal diagonal_of(const Tensor& tensor, bool wrap, SourceLocation at) {
  if (tensor.ndim() < 2)
    throw UserError(text::cat("fill_diagonal_: the tensor has at least 2 dimensions, not ", type_text(tensor)), at);
  const std::vector<int64_t> sizes = tensor.shape().to_vector();
  if (sizes.size() > 2 && std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) != sizes.end())
    throw UserError(text::cat("fill_diagonal_: dimensions of equal sizes, not ", type_text(tensor)), at);
  int64_t step = 1;
  for (size_t d = sizes.size() - 1; d > 0; --d) step = step * sizes[d] + 1;
  const int64_t all = tensor.numel();
  if (all == 0) return {step, 0};
  if (sizes.size() == 2 && wrap) return {step, (all - 1) / step + 1};
  return {step, *std::min_element(sizes.begin(), sizes.end())};
}

}  // namespace

std::string TensorMembers::toString() const {
  return std::string(self(*this).defined() ? type_name_of(self(*this).dtype()) : "UndefinedType");
}
void TensorMembers::print(SourceLocation) const { std::cout << self(*this) << std::endl; }
Tensor TensorMembers::set_requires_grad(bool requires_grad, SourceLocation) const {
  return self(*this).requires_grad_(requires_grad);
}

Tensor TensorMembers::ravel(SourceLocation at) const { return fulgurite::ravel(self(*this), at); }
Tensor TensorMembers::narrow_copy(Int dim, Int start, Int length, SourceLocation at) const {
  return fulgurite::narrow(self(*this), dim, start, length, at).clone(at);
}
Tensor TensorMembers::sum_to_size(const Dims& size, SourceLocation at) const {
  const Tensor& input = self(*this);
  const size_t count = static_cast<size_t>(input.ndim());
  const auto refuse = [&] {
    throw UserError(text::cat("sum_to_size: ", size.text(), " does not broadcast to ", input.shape().text()), at);
  };
  if (size.size() > count) refuse();
  Shape dims;
  for (size_t d = 0; d < count; ++d) {
    const bool is_added = d < count - size.size();
    const Int wanted = is_added ? Int(1) : size[d - (count - size.size())];
    if (wanted == input.size(static_cast<int>(d)) && !is_added) continue;
    if (wanted != 1) refuse();
    dims.push_back(static_cast<int64_t>(d));
  }
  return dims.empty() ? input : fulgurite::reshape(fulgurite::sum(input, Dims(dims), true, {}, at), size, at);
}
Tensor TensorMembers::where(const Tensor& condition, const Operand& other, SourceLocation at) const {
  return fulgurite::where(condition, self(*this), other, at);
}

Tensor TensorMembers::var(const Dims& dim, detail::Unbiased unbiased, bool keepdim, SourceLocation at) const {
  return fulgurite::var(self(*this), dim, unbiased.value ? 1.0 : 0.0, keepdim, at);
}
Tensor TensorMembers::var(detail::Unbiased unbiased, SourceLocation at) const { return var({}, unbiased, false, at); }
Tensor TensorMembers::std(const Dims& dim, detail::Unbiased unbiased, bool keepdim, SourceLocation at) const {
  return fulgurite::std(self(*this), dim, unbiased.value ? 1.0 : 0.0, keepdim, at);
}
Tensor TensorMembers::std(detail::Unbiased unbiased, SourceLocation at) const { return std({}, unbiased, false, at); }
Tensor TensorMembers::round(int64_t decimals, SourceLocation at) const {
  return fulgurite::round(self(*this), decimals, at);
}
std::tuple<Tensor, Tensor> TensorMembers::mode(int64_t dim, bool keepdim, SourceLocation at) const {
  return fulgurite::mode(self(*this), dim, keepdim, at);
}
std::tuple<Tensor, Tensor> TensorMembers::aminmax(std::optional<int64_t> dim, bool keepdim, SourceLocation at) const {
  return fulgurite::aminmax(self(*this), dim, keepdim, at);
}
Tensor TensorMembers::sgn(SourceLocation at) const { return fulgurite::sgn(self(*this), at); }
Tensor TensorMembers::float_power(const Operand& exponent, SourceLocation at) const {
  return fulgurite::float_power(self(*this), exponent, at);
}
Tensor TensorMembers::ldexp(const Tensor& other, SourceLocation at) const {
  return fulgurite::ldexp(self(*this), other, at);
}
Tensor TensorMembers::renorm(double p, int64_t dim, double maxnorm, SourceLocation at) const {
  return fulgurite::renorm(self(*this), p, dim, maxnorm, at);
}
Tensor TensorMembers::addr(const Tensor& vec1, const Tensor& vec2, double beta, double alpha, SourceLocation at) const {
  return fulgurite::addr(self(*this), vec1, vec2, beta, alpha, at);
}
Tensor TensorMembers::fill_diagonal_(const Operand& value, bool wrap, SourceLocation at) const {
  const Tensor& tensor = self(*this);
  const auto [step, length] = diagonal_of(tensor, wrap, at);
  const Tensor index = fulgurite::mul(fulgurite::arange(length, {}, at), step, at);
  const Tensor flat = fulgurite::index_fill(fulgurite::reshape(tensor, {-1}, at), 0, index, value, at);
  return tensor.copy_(fulgurite::reshape(flat, Dims(tensor.shape()), at), at);
}

}  // namespace fulgurite
