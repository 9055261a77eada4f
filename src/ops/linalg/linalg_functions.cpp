// Functions of linear algebra that are compositions of operators.
#include <fulgurite/linalg.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/compositions.h>
#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

const Tensor& matrices(const Tensor& A, const char* name, SourceLocation at) {
  if (!A.defined() || A.dim() < 2)
    throw UserError(text::cat(name, ": A needs at least two dimensions, [..., rows, columns]",
                              A.defined() ? text::cat(", not ", type_text(A)) : std::string()),
                    at);
  return A;
}

const Tensor& square(const Tensor& A, const char* name, SourceLocation at) {
  if (matrices(A, name, at).size(-1) != A.size(-2))
    throw UserError(text::cat(name, ": A needs square matrices, not ", type_text(A)), at);
  return A;
}

/// The matrices along two dimensions as the last ones, and the reduced sizes as 1 where kept.
Tensor as_last(const Tensor& A, const Dims& dim, const char* name, SourceLocation at) {
  if (dim.size() != 2) throw UserError(text::cat(name, ": dim must be two dimensions, not ", dim), at);
  return movedim(matrices(A, name, at), dim, {-2, -1}, at);
}

Tensor kept(const Tensor& norms, const Dims& dim, bool keepdim, SourceLocation at) {
  if (!keepdim) return norms;
  const Tensor column = unsqueeze(norms, -1, at);
  const Tensor both = unsqueeze(column, -1, at);
  return movedim(both, {-2, -1}, dim, at);
}

/// The largest or smallest sum of magnitudes of columns (order 1) or rows (infinity).
Tensor norm_of_sums(const Tensor& A, double order, SourceLocation at) {
  const Tensor sums = sum(abs(A, at), {std::isinf(order) ? -1 : -2}, false, {}, at);
  return order > 0 ? amax(sums, {-1}, false, at) : amin(sums, {-1}, false, at);
}

Tensor identity_like(const Tensor& A, SourceLocation at) {
  return eye(A.size(-1), A.size(-1), {.dtype = A.dtype(), .device = A.device()}, at);
}

/// The numerator's odd and even parts of Padé's approximant of order 13 to the exponential (Higham 2005).
std::array<Tensor, 2> pade_parts(const Tensor& A, SourceLocation at) {
  constexpr double b[] = {64764752532480000,
                          32382376266240000,
                          7771770303897600,
                          1187353796428800,
                          129060195264000,
                          10559470521600,
                          670442572800,
                          33522128640,
                          1323241920,
                          40840800,
                          960960,
                          16380,
                          182,
                          1};
  const Tensor A2 = matmul(A, A, at), A4 = matmul(A2, A2, at), A6 = matmul(A4, A2, at), I = identity_like(A, at);
  const auto weighted = [&](double w6, double w4, double w2, double w0) {
    const Tensor sixth = mul(A6, w6, at), fourth = mul(A4, w4, at), second = mul(A2, w2, at), none = mul(I, w0, at);
    const Tensor high = add(sixth, fourth, 1, at), low = add(second, none, 1, at);
    return add(high, low, 1, at);
  };
  const Tensor odd_high = matmul(A6, weighted(b[13], b[11], b[9], 0), at);
  const Tensor odd_low = weighted(b[7], b[5], b[3], b[1]);
  const Tensor even_high = matmul(A6, weighted(b[12], b[10], b[8], 0), at);
  const Tensor even_low = weighted(b[6], b[4], b[2], b[0]);
  const Tensor odd = add(odd_high, odd_low, 1, at), even = add(even_high, even_low, 1, at);
  return {matmul(A, odd, at), even};
}

}  // namespace

namespace linalg {

Tensor matrix_norm(const Tensor& A, std::string_view ord, const Dims& dim, bool keepdim, SourceLocation at) {
  const Tensor last = as_last(A, dim, "matrix_norm", at);
  if (ord == "fro") return kept(vector_norm(last, 2.0, {-2, -1}, false, {}, at), dim, keepdim, at);
  if (ord == "nuc") return kept(sum(svdvals(last, at), {-1}, false, {}, at), dim, keepdim, at);
  throw UserError(text::cat("matrix_norm: the order must be \"fro\", \"nuc\" or a number, not \"", ord, "\""), at);
}

Tensor matrix_norm(const Tensor& A, double ord, const Dims& dim, bool keepdim, SourceLocation at) {
  const Tensor last = as_last(A, dim, "matrix_norm", at);
  if (std::fabs(ord) == 1 || std::isinf(ord)) return kept(norm_of_sums(last, ord, at), dim, keepdim, at);
  if (std::fabs(ord) != 2)
    throw UserError(text::cat("matrix_norm: the order must be 1, 2, infinity or their negatives, not ", ord), at);
  const Tensor values = svdvals(last, at);
  const Tensor chosen = ord > 0 ? amax(values, {-1}, false, at) : amin(values, {-1}, false, at);
  return kept(chosen, dim, keepdim, at);
}

Tensor norm(const Tensor& A, SourceLocation at) {
  if (!A.defined()) throw UserError("linalg::norm: the tensor is undefined", at);
  return vector_norm(A, 2.0, {}, false, {}, at);
}

Tensor norm(const Tensor& A, double ord, const Dims& dim, bool keepdim, SourceLocation at) {
  if (!A.defined()) throw UserError("linalg::norm: the tensor is undefined", at);
  const int64_t count = dim.empty() ? A.dim() : static_cast<int64_t>(dim.size());
  if (count != 1 && count != 2)
    throw UserError(text::cat("linalg::norm: an order needs a vector, a matrix, or one or two dimensions, not ", count),
                    at);
  if (count == 1) return vector_norm(A, ord, dim, keepdim, {}, at);
  return matrix_norm(A, ord, dim.empty() ? Dims{-2, -1} : dim, keepdim, at);
}

Tensor norm(const Tensor& A, std::string_view ord, const Dims& dim, bool keepdim, SourceLocation at) {
  return matrix_norm(A, ord, dim.empty() ? Dims{-2, -1} : dim, keepdim, at);
}

Tensor eigvalsh(const Tensor& A, std::string_view UPLO, SourceLocation at) { return std::get<0>(eigh(A, UPLO, at)); }

Tensor svdvals(const Tensor& A, SourceLocation at) { return std::get<1>(svd(A, false, at)); }

Tensor cond(const Tensor& A, SourceLocation at) {
  const Tensor values = svdvals(matrices(A, "cond", at), at);
  const Tensor largest = amax(values, {-1}, false, at), smallest = amin(values, {-1}, false, at);
  return div(largest, smallest, {}, at);
}

Tensor cond(const Tensor& A, double p, SourceLocation at) {
  if (p == 2) return cond(A, at);
  const Tensor own = matrix_norm(square(A, "cond", at), p, {-2, -1}, false, at);
  const Tensor other = matrix_norm(inv(A, at), p, {-2, -1}, false, at);
  return mul(own, other, at);
}

Tensor matrix_rank(const Tensor& A, std::optional<double> tol, SourceLocation at) {
  const NoGrad no_grad;
  const Tensor values = svdvals(matrices(A, "matrix_rank", at).detach(at), at);
  if (tol) return sum(gt(values, *tol, at), {-1}, false, {}, at);
  const double precision = A.dtype() == Dtype::f64 ? std::numeric_limits<double>::epsilon()
                                                   : static_cast<double>(std::numeric_limits<float>::epsilon());
  const Int longer = A.size(-1) > A.size(-2) ? A.size(-1) : A.size(-2);
  const Tensor largest = amax(values, {-1}, true, at);
  const Tensor bound = mul(mul(largest, longer, at), precision, at);
  return sum(gt(values, bound, at), {-1}, false, {}, at);
}

Tensor lstsq(const Tensor& A, const Tensor& B, SourceLocation at) {
  matrices(B, "lstsq", at);
  return fulgurite::matmul(pinv(matrices(A, "lstsq", at), {}, {}, at), B, at);
}

Tensor matrix_power(const Tensor& A, int64_t n, SourceLocation at) {
  return n < 0 ? fulgurite::matrix_power(inv(A, at), -n, at) : fulgurite::matrix_power(A, n, at);
}

Tensor matrix_exp(const Tensor& A, SourceLocation at) {
  if (square(A, "matrix_exp", at).numel() == 0) return clone(A, at);
  const Tensor wide = A.to(Dtype::f64, at);
  const double size = amax(norm_of_sums(wide.detach(at), 1, at), {}, false, at).item<double>(at);
  if (!std::isfinite(size)) throw UserError("matrix_exp: the elements of A must be finite", at);
  constexpr double reach = 5.371920351148152;  // of the approximant, in f64
  const int squarings = size > reach ? static_cast<int>(std::ceil(std::log2(size / reach))) : 0;
  const auto [odd, even] = pade_parts(mul(wide, std::ldexp(1.0, -squarings), at), at);
  const Tensor denominator = sub(even, odd, 1, at), numerator = add(even, odd, 1, at);
  Tensor result = solve(denominator, numerator, true, at);
  for (int i = 0; i < squarings; ++i) result = fulgurite::matmul(result, result, at);
  return result.to(A.dtype(), at);
}

Tensor cross(const Tensor& input, const Tensor& other, int64_t dim, SourceLocation at) {
  return fulgurite::cross(input, other, dim, at);
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim, SourceLocation at) {
  return sum(mul(x, y, at), {dim}, false, {}, at);
}

}  // namespace linalg

Tensor logdet(const Tensor& A, SourceLocation at) {
  const auto [sign, logarithm] = linalg::slogdet(A, at);
  return where(lt(sign, 0, at), NAN, logarithm, at);
}

Tensor cholesky_solve(const Tensor& B, const Tensor& L, bool upper, SourceLocation at) {
  const Tensor other = transpose(square(L, "cholesky_solve", at), -2, -1, at);
  const Tensor lower = upper ? other : L, raised = upper ? L : other;
  const Tensor first = linalg::solve_triangular(lower, B, false, true, false, at);
  return linalg::solve_triangular(raised, first, true, true, false, at);
}

Tensor cholesky_inverse(const Tensor& L, bool upper, SourceLocation at) {
  return cholesky_solve(identity_like(square(L, "cholesky_inverse", at), at), L, upper, at);
}

Tensor inverse(const Tensor& A, SourceLocation at) { return linalg::inv(A, at); }
Tensor det(const Tensor& A, SourceLocation at) { return linalg::det(A, at); }
Tensor matrix_exp(const Tensor& A, SourceLocation at) { return linalg::matrix_exp(A, at); }
Tensor pinverse(const Tensor& A, SourceLocation at) { return linalg::pinv(A, {}, {}, at); }

}  // namespace fulgurite
