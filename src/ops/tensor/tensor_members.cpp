// Members of Tensor that are functions with the tensor as the first argument, and its properties.
#include <fulgurite/tensor_members.h>

#include <fulgurite/compare.h>
#include <fulgurite/compositions.h>
#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>
#include <fulgurite/linalg.h>
#include <fulgurite/numeric_functions.h>
#include <fulgurite/operators.h>
#include <fulgurite/random.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

const Tensor& self(const TensorMembers& members) { return static_cast<const Tensor&>(members); }

/// The options with the tensor's dtype where they have none.
TensorOptions options_of(const Tensor& tensor, const TensorOptions& given, const char* name, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(name, ": the tensor is undefined"), at);
  TensorOptions options = given;
  if (!options.dtype) options.dtype = tensor.dtype();
  return options;
}

}  // namespace

const TensorOptions& detail::no_options() {
  static const TensorOptions none;
  return none;
}

Int TensorMembers::stride(int dim) const {
  const int64_t count = self(*this).dim(), index = dim < 0 ? dim + count : dim;
  if (index < 0 || index >= count)
    throw UserError(text::cat("stride(", dim, ") of ", type_text(self(*this)), ": dimension out of range"));
  return self(*this).strides()[static_cast<size_t>(index)];
}

int64_t TensorMembers::storage_offset(SourceLocation at) const {
  if (!self(*this).defined()) throw UserError("storage_offset() of an undefined tensor", at);
  if (is_proxy(self(*this)))
    throw UserError("storage_offset(): a value of a trace being recorded has no storage yet", at);
  return self(*this).impl()->offset;
}

int64_t TensorMembers::itemsize() const { return size_of(self(*this).dtype()); }
Int TensorMembers::nbytes() const { return self(*this).numel() * itemsize(); }
Dtype TensorMembers::scalar_type() const { return self(*this).dtype(); }
int64_t TensorMembers::ndimension() const { return self(*this).dim(); }
bool TensorMembers::is_floating_point() const { return is_floating(self(*this).dtype()); }
bool TensorMembers::is_signed() const {
  return self(*this).dtype() != Dtype::u8 && self(*this).dtype() != Dtype::boolean;
}
bool TensorMembers::is_same_size(const Tensor& other) const { return self(*this).shape() == other.shape(); }
TensorOptions TensorMembers::options() const { return {.dtype = self(*this).dtype(), .device = self(*this).device()}; }

Tensor TensorMembers::type_as(const Tensor& other, SourceLocation at) const {
  if (!other.defined()) throw UserError("type_as: the other tensor is undefined", at);
  return self(*this).to(other.dtype(), at);
}
Tensor TensorMembers::toType(Dtype dtype, SourceLocation at) const { return self(*this).to(dtype, at); }
Tensor TensorMembers::cpu() const { return self(*this); }

Tensor TensorMembers::mT(SourceLocation at) const {
  if (self(*this).dim() < 2)
    throw UserError(text::cat("mT of ", type_text(self(*this)), ": it needs at least two dimensions"), at);
  return self(*this).transpose(-2, -1, at);
}

Tensor TensorMembers::T(SourceLocation at) const {
  Shape dims;
  for (int64_t d = self(*this).dim(); d-- > 0;) dims.push_back(d);
  return self(*this).permute(dims, at);
}

Tensor TensorMembers::slice(int64_t dim, std::optional<Int> start, std::optional<Int> end, Int step,
                            SourceLocation at) const {
  const Index rows(Slice(start, end, step), at);
  if (dim == 0) return self(*this)(rows);
  const int64_t last = self(*this).dim() - 1;
  if (dim < -last - 1 || dim > last)
    throw UserError(text::cat("slice at dimension ", dim, " of ", type_text(self(*this)), ": dimension out of range"),
                    at);
  const Tensor moved = self(*this).movedim(dim, 0, at);
  return moved(rows).movedim(0, dim, at);
}

Tensor TensorMembers::new_empty(const Dims& size, const TensorOptions& options, SourceLocation at) const {
  return empty(size, options_of(self(*this), options, "new_empty", at), at);
}
Tensor TensorMembers::new_zeros(const Dims& size, const TensorOptions& options, SourceLocation at) const {
  return zeros(size, options_of(self(*this), options, "new_zeros", at), at);
}
Tensor TensorMembers::new_ones(const Dims& size, const TensorOptions& options, SourceLocation at) const {
  return ones(size, options_of(self(*this), options, "new_ones", at), at);
}
Tensor TensorMembers::new_full(const Dims& size, const Operand& value, const TensorOptions& options,
                               SourceLocation at) const {
  return full(size, value, options_of(self(*this), options, "new_full", at), at);
}
Tensor TensorMembers::new_tensor(const TensorData& data, const TensorOptions& options, SourceLocation at) const {
  return tensor(data, options_of(self(*this), options, "new_tensor", at), at);
}

bool TensorMembers::equal(const Tensor& other, SourceLocation at) const {
  return fulgurite::equal(self(*this), other, at);
}
bool TensorMembers::allclose(const Tensor& other, Float rtol, Float atol, bool equal_nan, SourceLocation at) const {
  return fulgurite::allclose(self(*this), other, rtol, atol, equal_nan, at);
}
Tensor TensorMembers::nonzero(SourceLocation at) const { return fulgurite::nonzero(self(*this), at); }
Tensor TensorMembers::argwhere(SourceLocation at) const { return fulgurite::argwhere(self(*this), at); }
Tensor TensorMembers::masked_select(const Tensor& mask, SourceLocation at) const {
  return fulgurite::masked_select(self(*this), mask, at);
}
Tensor TensorMembers::masked_scatter(const Tensor& mask, const Tensor& source, SourceLocation at) const {
  return fulgurite::masked_scatter(self(*this), mask, source, at);
}
Tensor TensorMembers::masked_scatter_(const Tensor& mask, const Tensor& source, SourceLocation at) const {
  const Tensor scattered = fulgurite::masked_scatter(self(*this), mask, source, at);
  return copy_(scattered, at);
}
Tensor TensorMembers::put(const Tensor& index, const Tensor& source, bool accumulate, SourceLocation at) const {
  return fulgurite::put(self(*this), index, source, accumulate, at);
}
Tensor TensorMembers::put_(const Tensor& index, const Tensor& source, bool accumulate, SourceLocation at) const {
  const Tensor written = fulgurite::put(self(*this), index, source, accumulate, at);
  return copy_(written, at);
}
Tensor TensorMembers::bincount(const Tensor& weights, int64_t minlength, SourceLocation at) const {
  return fulgurite::bincount(self(*this), weights, minlength, at);
}
Tensor TensorMembers::histc(int64_t bins, double min, double max, SourceLocation at) const {
  return fulgurite::histc(self(*this), bins, min, max, at);
}

Tensor TensorMembers::diff(int64_t n, int64_t dim, SourceLocation at) const {
  return fulgurite::diff(self(*this), n, dim, at);
}
Tensor TensorMembers::dist(const Tensor& other, double p, SourceLocation at) const {
  return fulgurite::dist(self(*this), other, p, at);
}
Tensor TensorMembers::cross(const Tensor& other, int64_t dim, SourceLocation at) const {
  return fulgurite::cross(self(*this), other, dim, at);
}
Tensor TensorMembers::cov(int64_t correction, SourceLocation at) const {
  return fulgurite::cov(self(*this), correction, at);
}
Tensor TensorMembers::corrcoef(SourceLocation at) const { return fulgurite::corrcoef(self(*this), at); }
Tensor TensorMembers::nansum(const Dims& dim, bool keepdim, SourceLocation at) const {
  return fulgurite::nansum(self(*this), dim, keepdim, at);
}
Tensor TensorMembers::nanmean(const Dims& dim, bool keepdim, SourceLocation at) const {
  return fulgurite::nanmean(self(*this), dim, keepdim, at);
}
Tensor TensorMembers::quantile(double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation,
                               SourceLocation at) const {
  return fulgurite::quantile(self(*this), q, dim, keepdim, interpolation, at);
}
Tensor TensorMembers::matrix_power(int64_t n, SourceLocation at) const {
  return fulgurite::matrix_power(self(*this), n, at);
}
Tensor TensorMembers::inverse(SourceLocation at) const { return fulgurite::inverse(self(*this), at); }
Tensor TensorMembers::pinverse(SourceLocation at) const { return fulgurite::pinverse(self(*this), at); }
Tensor TensorMembers::logdet(SourceLocation at) const { return fulgurite::logdet(self(*this), at); }
Tensor TensorMembers::matrix_exp(SourceLocation at) const { return fulgurite::matrix_exp(self(*this), at); }
Tensor TensorMembers::fliplr(SourceLocation at) const { return fulgurite::fliplr(self(*this), at); }
Tensor TensorMembers::flipud(SourceLocation at) const { return fulgurite::flipud(self(*this), at); }
Tensor TensorMembers::rot90(int64_t k, const std::vector<int64_t>& dims, SourceLocation at) const {
  return fulgurite::rot90(self(*this), k, dims, at);
}
std::vector<Tensor> TensorMembers::tensor_split(int64_t sections, int64_t dim, SourceLocation at) const {
  return fulgurite::tensor_split(self(*this), sections, dim, at);
}
std::vector<Tensor> TensorMembers::tensor_split(const std::vector<int64_t>& indices, int64_t dim,
                                                SourceLocation at) const {
  return fulgurite::tensor_split(self(*this), indices, dim, at);
}

Tensor TensorMembers::normal_(double mean, double std, SourceLocation at) const {
  return fulgurite::normal_(self(*this), mean, std, {}, at);
}
Tensor TensorMembers::normal_(double mean, double std, const Generator& generator, SourceLocation at) const {
  return fulgurite::normal_(self(*this), mean, std, generator, at);
}
Tensor TensorMembers::uniform_(double from, double to, SourceLocation at) const {
  return fulgurite::uniform_(self(*this), from, to, {}, at);
}
Tensor TensorMembers::uniform_(double from, double to, const Generator& generator, SourceLocation at) const {
  return fulgurite::uniform_(self(*this), from, to, generator, at);
}
Tensor TensorMembers::exponential_(double lambd, SourceLocation at) const {
  return fulgurite::exponential_(self(*this), lambd, {}, at);
}
Tensor TensorMembers::log_normal_(double mean, double std, SourceLocation at) const {
  return fulgurite::log_normal_(self(*this), mean, std, {}, at);
}
Tensor TensorMembers::cauchy_(double median, double sigma, SourceLocation at) const {
  return fulgurite::cauchy_(self(*this), median, sigma, {}, at);
}
Tensor TensorMembers::geometric_(double p, SourceLocation at) const {
  return fulgurite::geometric_(self(*this), p, {}, at);
}
Tensor TensorMembers::bernoulli_(double p, SourceLocation at) const {
  return fulgurite::bernoulli_(self(*this), p, {}, at);
}
Tensor TensorMembers::bernoulli_(const Tensor& p, SourceLocation at) const {
  return fulgurite::bernoulli_(self(*this), p, {}, at);
}
Tensor TensorMembers::bernoulli(SourceLocation at) const { return fulgurite::bernoulli(self(*this), {}, at); }
Tensor TensorMembers::random_(int64_t from, int64_t to, SourceLocation at) const {
  return fulgurite::random_(self(*this), from, to, {}, at);
}
Tensor TensorMembers::random_(int64_t to, SourceLocation at) const {
  return fulgurite::random_(self(*this), to, {}, at);
}
Tensor TensorMembers::random_(SourceLocation at) const { return fulgurite::random_(self(*this), {}, at); }
Tensor TensorMembers::multinomial(int64_t num_samples, bool replacement, SourceLocation at) const {
  return fulgurite::multinomial(self(*this), num_samples, replacement, {}, at);
}

}  // namespace fulgurite
