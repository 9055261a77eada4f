#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Special functions beside the operators of namespace special: compositions, whose gradients are those of their parts.
namespace special {

/// -x log(x); 0 at 0 and minus infinity below. (torch.special.entr)
Tensor entr(const Tensor& input, SourceLocation at = SourceLocation::here());
/// input log(1 + other), 0 where input is 0. (torch.special.xlog1py)
Tensor xlog1py(const Operand& input, const Operand& other, SourceLocation at = SourceLocation::here());
/// The probability of a standard normal number below x, and its logarithm, exact far below 0 too. (torch.special.ndtr,
/// log_ndtr)
Tensor ndtr(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor log_ndtr(const Tensor& input, SourceLocation at = SourceLocation::here());
/// sin(x) / x. (torch.special.spherical_bessel_j0)
Tensor spherical_bessel_j0(const Tensor& input, SourceLocation at = SourceLocation::here());
/// The Airy function Ai, computed in f64. (torch.special.airy_ai)
Tensor airy_ai(const Tensor& input, SourceLocation at = SourceLocation::here());
/// The logarithm of the gamma function of p dimensions. UserError for p below 1. (torch.special.multigammaln)
Tensor multigammaln(const Tensor& input, int64_t p, SourceLocation at = SourceLocation::here());

/// Orthogonal polynomials of degree n at x, by their recurrences; 0 for a negative n.
/// (torch.special.chebyshev_polynomial_t …)
Tensor chebyshev_polynomial_t(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor chebyshev_polynomial_u(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor chebyshev_polynomial_v(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor chebyshev_polynomial_w(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor shifted_chebyshev_polynomial_t(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor shifted_chebyshev_polynomial_u(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor shifted_chebyshev_polynomial_v(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor shifted_chebyshev_polynomial_w(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor hermite_polynomial_h(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor hermite_polynomial_he(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor laguerre_polynomial_l(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());
Tensor legendre_polynomial_p(const Tensor& x, int64_t n, SourceLocation at = SourceLocation::here());

}  // namespace special

/// special::multigammaln by its older name. (torch.mvlgamma)
Tensor mvlgamma(const Tensor& input, int64_t p, SourceLocation at = SourceLocation::here());
/// log2(2^input + 2^other). (torch.logaddexp2)
Tensor logaddexp2(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());

/// Windows of M points (torch.signal.windows): symmetric, or the first M points of one of M + 1 unless `sym`.
namespace signal::windows {
/// Members are given in this order.
struct WindowOptions {
  bool sym = true;
  std::optional<Dtype> dtype = {};
  bool requires_grad = false;
};
/// Sums of cosines; bartlett is a triangle, cosine half a wave.
Tensor hann(int64_t M, const WindowOptions& options = {}, SourceLocation at = SourceLocation::here());
Tensor hamming(int64_t M, const WindowOptions& options = {}, SourceLocation at = SourceLocation::here());
Tensor blackman(int64_t M, const WindowOptions& options = {}, SourceLocation at = SourceLocation::here());
Tensor nuttall(int64_t M, const WindowOptions& options = {}, SourceLocation at = SourceLocation::here());
Tensor bartlett(int64_t M, const WindowOptions& options = {}, SourceLocation at = SourceLocation::here());
Tensor cosine(int64_t M, const WindowOptions& options = {}, SourceLocation at = SourceLocation::here());
/// Sums of cosines with these coefficients, and alpha - (1 - alpha) cos.
Tensor general_cosine(int64_t M, const std::vector<double>& a, const WindowOptions& options = {},
                      SourceLocation at = SourceLocation::here());
Tensor general_hamming(int64_t M, double alpha = 0.54, const WindowOptions& options = {},
                       SourceLocation at = SourceLocation::here());
/// exp(-(n / std)^2 / 2), exp(-|n| / tau) around the middle, and the Kaiser window of shape beta.
Tensor gaussian(int64_t M, double std = 1, const WindowOptions& options = {},
                SourceLocation at = SourceLocation::here());
Tensor exponential(int64_t M, double tau = 1, const WindowOptions& options = {},
                   SourceLocation at = SourceLocation::here());
Tensor kaiser(int64_t M, double beta = 12, const WindowOptions& options = {},
              SourceLocation at = SourceLocation::here());
}  // namespace signal::windows

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
