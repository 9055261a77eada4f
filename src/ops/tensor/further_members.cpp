// Members of Tensor that call the functions of their names.
#include <fulgurite/tensor_members.h>

#include <fulgurite/compositions.h>
#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>
#include <fulgurite/numeric_functions.h>
#include <fulgurite/operators.h>
#include <fulgurite/special_functions.h>
#include <fulgurite/torch_functions.h>

#include "support/text/text.h"

namespace fulgurite {
namespace {

const Tensor& self(const TensorMembers& members) { return static_cast<const Tensor&>(members); }

}  // namespace

Tensor TensorMembers::adjoint(SourceLocation at) const { return fulgurite::transpose(self(*this), -2, -1, at); }
bool TensorMembers::is_nonzero(SourceLocation at) const {
  const Tensor& tensor = self(*this);
  if (tensor.defined() && tensor.numel() != 1)
    throw UserError(text::cat("is_nonzero(): one element is needed, there are ", tensor.numel()), at);
  return fulgurite::ne(tensor, 0, at).item<bool>(at);
}
Tensor TensorMembers::as_strided(const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset,
                                 SourceLocation at) const {
  return fulgurite::as_strided(self(*this), size, stride, storage_offset, at);
}
Tensor TensorMembers::diagflat(int64_t offset, SourceLocation at) const {
  return fulgurite::diagflat(self(*this), offset, at);
}
Tensor TensorMembers::diagonal_scatter(const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2,
                                       SourceLocation at) const {
  return fulgurite::diagonal_scatter(self(*this), source, offset, dim1, dim2, at);
}
Tensor TensorMembers::gcd(const Tensor& other, SourceLocation at) const {
  return fulgurite::gcd(self(*this), other, at);
}
Tensor TensorMembers::gcd_(const Tensor& other, SourceLocation at) const {
  return copy_(fulgurite::gcd(self(*this), other, at), at);
}
Tensor TensorMembers::lcm(const Tensor& other, SourceLocation at) const {
  return fulgurite::lcm(self(*this), other, at);
}
Tensor TensorMembers::lcm_(const Tensor& other, SourceLocation at) const {
  return copy_(fulgurite::lcm(self(*this), other, at), at);
}
Tensor TensorMembers::ldexp_(const Tensor& other, SourceLocation at) const {
  return copy_(fulgurite::ldexp(self(*this), other, at), at);
}
Tensor TensorMembers::nextafter(const Tensor& other, SourceLocation at) const {
  return fulgurite::nextafter(self(*this), other, at);
}
Tensor TensorMembers::nextafter_(const Tensor& other, SourceLocation at) const {
  return copy_(fulgurite::nextafter(self(*this), other, at), at);
}
Tensor TensorMembers::logaddexp2(const Tensor& other, SourceLocation at) const {
  return fulgurite::logaddexp2(self(*this), other, at);
}
Tensor TensorMembers::vdot(const Tensor& other, SourceLocation at) const {
  return fulgurite::vdot(self(*this), other, at);
}
Tensor TensorMembers::mvlgamma(int64_t p, SourceLocation at) const { return fulgurite::mvlgamma(self(*this), p, at); }
Tensor TensorMembers::polygamma(Int n, SourceLocation at) const { return fulgurite::polygamma(n, self(*this), at); }
Tensor TensorMembers::isneginf(SourceLocation at) const { return fulgurite::isneginf(self(*this), at); }
Tensor TensorMembers::isposinf(SourceLocation at) const { return fulgurite::isposinf(self(*this), at); }
Tensor TensorMembers::isreal(SourceLocation at) const { return fulgurite::isreal(self(*this), at); }
Tensor TensorMembers::positive(SourceLocation at) const { return fulgurite::positive(self(*this), at); }
Tensor TensorMembers::sgn_(SourceLocation at) const { return copy_(fulgurite::sgn(self(*this), at), at); }
Tensor TensorMembers::renorm_(double p, int64_t dim, double maxnorm, SourceLocation at) const {
  return copy_(fulgurite::renorm(self(*this), p, dim, maxnorm, at), at);
}
Tensor TensorMembers::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                                   bool include_self, SourceLocation at) const {
  return fulgurite::index_reduce(self(*this), dim, index, source, reduce, include_self, at);
}
Tensor TensorMembers::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                                    bool include_self, SourceLocation at) const {
  return copy_(fulgurite::index_reduce(self(*this), dim, index, source, reduce, include_self, at), at);
}
Tensor TensorMembers::addr_(const Tensor& vec1, const Tensor& vec2, double beta, double alpha,
                            SourceLocation at) const {
  return copy_(fulgurite::addr(self(*this), vec1, vec2, beta, alpha, at), at);
}
Tensor TensorMembers::nanquantile(double q, std::optional<int64_t> dim, bool keepdim, SourceLocation at) const {
  return fulgurite::nanquantile(self(*this), q, dim, keepdim, at);
}
std::tuple<Tensor, Tensor> TensorMembers::frexp(SourceLocation at) const { return fulgurite::frexp(self(*this), at); }
std::tuple<Tensor, Tensor, Tensor> TensorMembers::unique(bool sorted, bool return_inverse, bool return_counts,
                                                         std::optional<int64_t> dim, SourceLocation at) const {
  return fulgurite::unique(self(*this), sorted, return_inverse, return_counts, dim, at);
}
std::tuple<Tensor, Tensor, Tensor> TensorMembers::unique_consecutive(bool return_inverse, bool return_counts,
                                                                     std::optional<int64_t> dim,
                                                                     SourceLocation at) const {
  return fulgurite::unique_consecutive(self(*this), return_inverse, return_counts, dim, at);
}
std::vector<Tensor> TensorMembers::hsplit(int64_t sections, SourceLocation at) const {
  return fulgurite::hsplit(self(*this), sections, at);
}
std::vector<Tensor> TensorMembers::hsplit(const std::vector<int64_t>& indices, SourceLocation at) const {
  return fulgurite::hsplit(self(*this), indices, at);
}
std::vector<Tensor> TensorMembers::vsplit(int64_t sections, SourceLocation at) const {
  return fulgurite::vsplit(self(*this), sections, at);
}
std::vector<Tensor> TensorMembers::vsplit(const std::vector<int64_t>& indices, SourceLocation at) const {
  return fulgurite::vsplit(self(*this), indices, at);
}
std::vector<Tensor> TensorMembers::dsplit(int64_t sections, SourceLocation at) const {
  return fulgurite::dsplit(self(*this), sections, at);
}
std::vector<Tensor> TensorMembers::dsplit(const std::vector<int64_t>& indices, SourceLocation at) const {
  return fulgurite::dsplit(self(*this), indices, at);
}

}  // namespace fulgurite
