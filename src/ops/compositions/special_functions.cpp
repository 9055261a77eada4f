// Special functions and windows of signals, as compositions of operators.
#include <fulgurite/special_functions.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

constexpr double pi = std::numbers::pi, infinity = std::numeric_limits<double>::infinity();

Tensor floating_input(const Tensor& x, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
  return is_floating(x.dtype()) ? x : x.to(default_dtype(), at);
}

/// The polynomial of degree n of p(0) = 1, p(1) = first, p(k + 1) = next(k, p(k), p(k - 1)).
using Next = std::function<Tensor(int64_t k, const Tensor& now, const Tensor& before)>;
Tensor polynomial(const Tensor& x, int64_t n, const Tensor& first, const Next& next, SourceLocation at) {
  if (n < 0) return zeros_like(x, {}, at);
  Tensor before = ones_like(x, {}, at), now = first;
  if (n == 0) return before;
  for (int64_t k = 1; k < n; ++k) {
    const Tensor following = next(k, now, before);
    before = now;
    now = following;
  }
  return now;
}

/// first = factor x + shift; then p(k + 1) = 2 x p(k) - p(k - 1).
Tensor chebyshev(const Tensor& given, int64_t n, double factor, double shift, const char* name, SourceLocation at) {
  const Tensor x = floating_input(given, name, at);
  const Tensor first = add(mul(x, factor, at), shift, 1, at);
  return polynomial(
      x, n, first,
      [&](int64_t, const Tensor& now, const Tensor& before) { return sub(mul(mul(x, 2, at), now, at), before, 1, at); },
      at);
}
Tensor shifted(const Tensor& given, const char* name, SourceLocation at) {
  return sub(mul(floating_input(given, name, at), 2, at), 1, 1, at);
}

}  // namespace

namespace special {

Tensor entr(const Tensor& input, SourceLocation at) {
  const Tensor x = floating_input(input, "special.entr", at);
  const Tensor value = neg(fulgurite::xlogy(x, x, at), at);
  return where(lt(x, 0, at), -infinity, value, at);
}

Tensor xlog1py(const Operand& input, const Operand& other, SourceLocation at) {
  const Tensor rest = other.is_tensor() ? other.tensor() : full({}, other, {}, at);
  const Tensor raised = fulgurite::log1p(rest, at);
  Tensor product = mul(raised, input, at);
  if (!input.is_tensor()) return product;
  const Tensor is_zero = logical_and(eq(input.tensor(), 0, at), logical_not(isnan(raised, at), at), at);
  const Tensor safe = where(is_zero, 0, raised, at);
  return mul(safe, input, at);
}

Tensor ndtr(const Tensor& input, SourceLocation at) {
  const Tensor x = floating_input(input, "special.ndtr", at);
  return mul(fulgurite::erfc(mul(x, -std::numbers::sqrt2 / 2, at), at), 0.5, at);
}

// Far below 0 the scaled function keeps the digits; each branch is given arguments that it can bear.
Tensor log_ndtr(const Tensor& input, SourceLocation at) {
  const Tensor x = floating_input(input, "special.log_ndtr", at);
  const Tensor is_low = lt(x, -1, at);
  const Tensor low = where(is_low, x, -1, at);
  const Tensor scaled = erfcx(mul(low, -std::numbers::sqrt2 / 2, at), at);
  const Tensor tail = sub(log(mul(scaled, 0.5, at), at), mul(square(low, at), 0.5, at), 1, at);
  const Tensor high = where(is_low, 1, x, at);
  const Tensor upper = fulgurite::erfc(mul(high, std::numbers::sqrt2 / 2, at), at);
  return where(is_low, tail, fulgurite::log1p(mul(upper, -0.5, at), at), at);
}

Tensor spherical_bessel_j0(const Tensor& input, SourceLocation at) {
  return fulgurite::sinc(mul(floating_input(input, "special.spherical_bessel_j0", at), 1 / pi, at), at);
}

Tensor multigammaln(const Tensor& input, int64_t p, SourceLocation at) {
  const Tensor x = floating_input(input, "special.multigammaln", at);
  if (p < 1) throw UserError(text::cat("special.multigammaln: p must be at least 1, not ", p), at);
  const double order = static_cast<double>(p);
  Tensor out = add(lgamma(x, at), order * (order - 1) / 4 * std::log(pi), 1, at);
  for (int64_t i = 1; i < p; ++i) {
    const Tensor part = lgamma(sub(x, static_cast<double>(i) / 2, 1, at), at);
    out = add(out, part, 1, at);
  }
  return out;
}

Tensor chebyshev_polynomial_t(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev(x, n, 1, 0, "special.chebyshev_polynomial_t", at);
}
Tensor chebyshev_polynomial_u(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev(x, n, 2, 0, "special.chebyshev_polynomial_u", at);
}
Tensor chebyshev_polynomial_v(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev(x, n, 2, -1, "special.chebyshev_polynomial_v", at);
}
Tensor chebyshev_polynomial_w(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev(x, n, 2, 1, "special.chebyshev_polynomial_w", at);
}
Tensor shifted_chebyshev_polynomial_t(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev_polynomial_t(shifted(x, "special.shifted_chebyshev_polynomial_t", at), n, at);
}
Tensor shifted_chebyshev_polynomial_u(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev_polynomial_u(shifted(x, "special.shifted_chebyshev_polynomial_u", at), n, at);
}
Tensor shifted_chebyshev_polynomial_v(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev_polynomial_v(shifted(x, "special.shifted_chebyshev_polynomial_v", at), n, at);
}
Tensor shifted_chebyshev_polynomial_w(const Tensor& x, int64_t n, SourceLocation at) {
  return chebyshev_polynomial_w(shifted(x, "special.shifted_chebyshev_polynomial_w", at), n, at);
}
Tensor hermite_polynomial_h(const Tensor& given, int64_t n, SourceLocation at) {
  const Tensor x = floating_input(given, "special.hermite_polynomial_h", at);
  const Next next = [&](int64_t k, const Tensor& now, const Tensor& before) {
    return sub(mul(mul(x, 2, at), now, at), before, 2 * k, at);
  };
  return polynomial(x, n, mul(x, 2, at), next, at);
}
Tensor hermite_polynomial_he(const Tensor& given, int64_t n, SourceLocation at) {
  const Tensor x = floating_input(given, "special.hermite_polynomial_he", at);
  const Next next = [&](int64_t k, const Tensor& now, const Tensor& before) {
    return sub(mul(x, now, at), before, k, at);
  };
  return polynomial(x, n, x, next, at);
}
Tensor laguerre_polynomial_l(const Tensor& given, int64_t n, SourceLocation at) {
  const Tensor x = floating_input(given, "special.laguerre_polynomial_l", at);
  const Next next = [&](int64_t k, const Tensor& now, const Tensor& before) {
    const Tensor product = mul(sub(static_cast<double>(2 * k + 1), x, 1, at), now, at);
    return div(sub(product, before, k, at), static_cast<double>(k + 1), {}, at);
  };
  return polynomial(x, n, sub(1, x, 1, at), next, at);
}
Tensor legendre_polynomial_p(const Tensor& given, int64_t n, SourceLocation at) {
  const Tensor x = floating_input(given, "special.legendre_polynomial_p", at);
  const Next next = [&](int64_t k, const Tensor& now, const Tensor& before) {
    const Tensor product = mul(mul(x, static_cast<double>(2 * k + 1), at), now, at);
    return div(sub(product, before, k, at), static_cast<double>(k + 1), {}, at);
  };
  return polynomial(x, n, x, next, at);
}

}  // namespace special

Tensor mvlgamma(const Tensor& input, int64_t p, SourceLocation at) { return special::multigammaln(input, p, at); }

Tensor logaddexp2(const Tensor& input, const Tensor& other, SourceLocation at) {
  constexpr double ln2 = std::numbers::ln2;
  const Tensor one = mul(floating_input(input, "logaddexp2", at), ln2, at);
  const Tensor both = mul(floating_input(other, "logaddexp2", at), ln2, at);
  return mul(logaddexp(one, both, at), 1 / ln2, at);
}

namespace signal::windows {

namespace {

// A window from its values at the places 0 to 1 of a symmetric one, or at distances from the middle.
Tensor window(int64_t M, const WindowOptions& options, const char* name, SourceLocation at,
              const std::function<double(double place, double from_middle)>& value) {
  if (M < 0) throw UserError(text::cat("signal.windows.", name, ": M must not be negative: ", M), at);
  const Dtype dtype = options.dtype.value_or(default_dtype());
  if (!is_floating(dtype))
    throw UserError(text::cat("signal.windows.", name, ": the dtype must be floating, not ", dtype), at);
  const int64_t length = options.sym ? M - 1 : M;
  std::vector<double> points(static_cast<size_t>(M), 1.0);
  for (int64_t i = 0; i < M && M > 1; ++i) {
    const auto n = static_cast<double>(i), last = static_cast<double>(length);
    points[static_cast<size_t>(i)] = value(n / last, n - last / 2);
  }
  const Tensor made = tensor(points, {.dtype = Dtype::f64}, at).to(dtype, at);
  return options.requires_grad ? made.requires_grad_() : made;
}

Tensor cosines(int64_t M, const std::vector<double>& a, const WindowOptions& options, const char* name,
               SourceLocation at) {
  return window(M, options, name, at, [&a](double place, double) {
    double sum = 0;
    for (size_t k = 0; k < a.size(); ++k)
      sum += (k % 2 == 0 ? 1 : -1) * a[k] * std::cos(2 * pi * static_cast<double>(k) * place);
    return sum;
  });
}

}  // namespace

Tensor hann(int64_t M, const WindowOptions& options, SourceLocation at) {
  return cosines(M, {0.5, 0.5}, options, "hann", at);
}
Tensor hamming(int64_t M, const WindowOptions& options, SourceLocation at) {
  return cosines(M, {0.54, 0.46}, options, "hamming", at);
}
Tensor blackman(int64_t M, const WindowOptions& options, SourceLocation at) {
  return cosines(M, {0.42, 0.5, 0.08}, options, "blackman", at);
}
Tensor nuttall(int64_t M, const WindowOptions& options, SourceLocation at) {
  return cosines(M, {0.3635819, 0.4891775, 0.1365995, 0.0106411}, options, "nuttall", at);
}
Tensor general_cosine(int64_t M, const std::vector<double>& a, const WindowOptions& options, SourceLocation at) {
  if (a.empty()) throw UserError("signal.windows.general_cosine: there are no coefficients", at);
  return cosines(M, a, options, "general_cosine", at);
}
Tensor general_hamming(int64_t M, double alpha, const WindowOptions& options, SourceLocation at) {
  return cosines(M, {alpha, 1 - alpha}, options, "general_hamming", at);
}
Tensor bartlett(int64_t M, const WindowOptions& options, SourceLocation at) {
  return window(M, options, "bartlett", at, [](double place, double) { return 1 - std::fabs(2 * place - 1); });
}
Tensor cosine(int64_t M, const WindowOptions& options, SourceLocation at) {
  const double points = static_cast<double>(options.sym ? M : M + 1), last = points - 1;
  return window(M, options, "cosine", at,
                [=](double place, double) { return std::sin(pi / points * (place * last + 0.5)); });
}
Tensor gaussian(int64_t M, double std, const WindowOptions& options, SourceLocation at) {
  if (!(std > 0)) throw UserError(text::cat("signal.windows.gaussian: std must be above 0, not ", std), at);
  return window(M, options, "gaussian", at,
                [width = std](double, double n) { return ::exp(-(n / width) * (n / width) / 2); });
}
Tensor exponential(int64_t M, double tau, const WindowOptions& options, SourceLocation at) {
  if (!(tau > 0)) throw UserError(text::cat("signal.windows.exponential: tau must be above 0, not ", tau), at);
  return window(M, options, "exponential", at, [tau](double, double n) { return std::exp(-std::fabs(n) / tau); });
}
Tensor kaiser(int64_t M, double beta, const WindowOptions& options, SourceLocation at) {
  if (!(beta >= 0)) throw UserError(text::cat("signal.windows.kaiser: beta must not be negative: ", beta), at);
  return window(M, options, "kaiser", at, [beta](double place, double) {
    const double side = 2 * place - 1;
    return std::cyl_bessel_i(0.0, beta * std::sqrt(std::fmax(1 - side * side, 0))) / std::cyl_bessel_i(0.0, beta);
  });
}

}  // namespace signal::windows

}  // namespace fulgurite
