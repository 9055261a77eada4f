// Numerical functions, as compositions of operators.
#include <cmath>
#include <numbers>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

void require_defined(const Tensor& x, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
}
int64_t wrapped(int64_t dim, const Tensor& x, const char* name, SourceLocation at) {
  const int64_t count = x.ndim(), out = dim < 0 ? dim + count : dim;
  if (out < 0 || out >= count)
    throw UserError(text::cat(name, ": the dimension ", dim, " is out of range for ", type_text(x)), at);
  return out;
}

/// The mean of neighbours along a dimension.
Tensor means_of_neighbours(const Tensor& y, int64_t dim, SourceLocation at) {
  const int64_t count = y.size(static_cast<int>(dim)) - 1;
  const Tensor later = narrow(y, dim, 1, count, at), earlier = narrow(y, dim, 0, count, at);
  return mul(add(later, earlier, 1, at), 0.5, at);
}
/// Areas of trapezoids at distance dx or at x.
Tensor trapezoids(const Tensor& y, const Tensor& x, double dx, int64_t given_dim, const char* name, SourceLocation at) {
  require_defined(y, name, at);
  const int64_t dim = wrapped(given_dim, y, name, at);
  if (y.size(static_cast<int>(dim)) == 0)
    throw UserError(text::cat(name, ": there are no points along dimension ", dim, " of ", type_text(y)), at);
  const Tensor heights = means_of_neighbours(y, dim, at);
  if (!x.defined()) return mul(heights, dx, at);
  if (x.ndim() != 1) return mul(heights, diff(x, 1, given_dim, at), at);
  if (x.size(0) != y.size(static_cast<int>(dim)))
    throw UserError(text::cat(name, ": ", x.size(0), " values of x for ", y.size(static_cast<int>(dim)), " of y"), at);
  std::vector<int64_t> sizes(static_cast<size_t>(y.ndim()), 1);
  sizes[static_cast<size_t>(dim)] = x.size(0) - 1;
  return mul(heights, reshape(diff(x, 1, -1, at), sizes, at), at);
}

Tensor multiplied_columns(const Tensor& input, const char* name, SourceLocation at) {
  require_defined(input, name, at);
  if (input.ndim() > 2)
    throw UserError(text::cat(name, ": the input has at most 2 dimensions, not ", type_text(input)), at);
  const Tensor rows = input.ndim() < 2 ? reshape(input, {1, -1}, at) : input;
  return is_floating(rows.dtype()) ? rows : rows.to(default_dtype(), at);
}

/// sum of coefficients[k] cos(k angle), over the points of a window.
Tensor cosines(int64_t length, bool periodic, std::initializer_list<double> coefficients, const char* name,
               const TensorOptions& options, SourceLocation at) {
  if (length < 0) throw UserError(text::cat(name, ": the length must not be negative: ", length), at);
  const int64_t period = periodic ? length : length - 1;
  std::vector<double> values;
  for (int64_t i = 0; i < length; ++i) {
    double value = 0;
    int k = 0;
    for (const double coefficient : coefficients)
      value += coefficient *
               (period > 0 ? std::cos(2 * std::numbers::pi * k++ * static_cast<double>(i) / static_cast<double>(period))
                           : 1);
    values.push_back(length == 1 ? 1 : value);
  }
  const Tensor out = tensor(values, {.device = options.device}, at).to(options.dtype.value_or(default_dtype()), at);
  return options.requires_grad ? out.requires_grad_() : out;
}

}  // namespace

Tensor diff(const Tensor& input, int64_t n, int64_t dim, SourceLocation at) {
  require_defined(input, "diff", at);
  if (n < 0) throw UserError(text::cat("diff: n must not be negative: ", n), at);
  const int64_t along = wrapped(dim, input, "diff", at);
  Tensor out = input;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t count = std::max<int64_t>(out.size(static_cast<int>(along)) - 1, 0);
    const Tensor later = narrow(out, along, count > 0 ? 1 : 0, count, at), earlier = narrow(out, along, 0, count, at);
    out = input.dtype() == Dtype::boolean ? logical_xor(later, earlier, at) : sub(later, earlier, 1, at);
  }
  return out;
}

Tensor trapezoid(const Tensor& y, double dx, int64_t dim, SourceLocation at) {
  return sum(trapezoids(y, {}, dx, dim, "trapezoid", at), {dim}, false, {}, at);
}
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim, SourceLocation at) {
  return sum(trapezoids(y, x, 1, dim, "trapezoid", at), {dim}, false, {}, at);
}
Tensor cumulative_trapezoid(const Tensor& y, double dx, int64_t dim, SourceLocation at) {
  return cumsum(trapezoids(y, {}, dx, dim, "cumulative_trapezoid", at), dim, {}, at);
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim, SourceLocation at) {
  return cumsum(trapezoids(y, x, 1, dim, "cumulative_trapezoid", at), dim, {}, at);
}

Tensor cov(const Tensor& input, int64_t correction, SourceLocation at) {
  const Tensor rows = multiplied_columns(input, "cov", at), means = mean(rows, {1}, true, {}, at);
  const Tensor centered = sub(rows, means, 1, at), products = matmul(centered, transpose(centered, 0, 1, at), at);
  const double count = std::max<double>(static_cast<double>(rows.size(1) - correction), 0);
  const Tensor out = div(products, count, {}, at);
  return input.ndim() < 2 ? reshape(out, Dims(std::vector<int64_t>{}), at) : out;
}
Tensor corrcoef(const Tensor& input, SourceLocation at) {
  const Tensor covariances = cov(input, 1, at);
  if (covariances.ndim() == 0) return div(covariances, covariances, {}, at);
  const Tensor deviations = sqrt(diagonal(covariances, 0, 0, 1, at), at);
  const Tensor by_row = div(covariances, unsqueeze(deviations, 1, at), {}, at);
  return clamp(div(by_row, unsqueeze(deviations, 0, at), {}, at), -1, 1, at);
}

Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing, SourceLocation at) {
  require_defined(x, "vander", at);
  if (x.ndim() != 1) throw UserError(text::cat("vander: the input is a vector, not ", type_text(x)), at);
  const int64_t count = N.value_or(x.size(0));
  if (count < 0) throw UserError(text::cat("vander: N must not be negative: ", count), at);
  if (count == 0) return zeros({x.size(0), 0}, {.dtype = x.dtype()}, at);
  std::vector<Tensor> columns{ones_like(x, {}, at)};
  while (static_cast<int64_t>(columns.size()) < count) columns.push_back(mul(columns.back(), x, at));
  if (!increasing) std::reverse(columns.begin(), columns.end());
  return stack(columns, 1, at);
}

Tensor matrix_power(const Tensor& input, int64_t n, SourceLocation at) {
  require_defined(input, "matrix_power", at);
  if (n < 0)
    throw UserError(text::cat("matrix_power: n must not be negative, because there is no inverse of a matrix: ", n),
                    at);
  if (input.ndim() < 2 || input.size(-1) != input.size(-2))
    throw UserError(text::cat("matrix_power: the input consists of square matrices, not ", type_text(input)), at);
  if (n == 0) return broadcast_to(eye(input.size(-1), {.dtype = input.dtype()}, at), Dims(input.shape()), at);
  Tensor out, power = input;
  for (int64_t left = n; left > 0; left /= 2) {
    if (left % 2 == 1) out = out.defined() ? matmul(out, power, at) : power;
    if (left > 1) power = matmul(power, power, at);
  }
  return n == 1 ? clone(out, at) : out;
}

Tensor cross(const Tensor& input, const Tensor& other, int64_t dim, SourceLocation at) {
  require_defined(input, "cross", at);
  require_defined(other, "cross", at);
  const auto both = broadcast_tensors({input, other}, at);
  const int64_t along = wrapped(dim, both[0], "cross", at);
  if (both[0].size(static_cast<int>(along)) != 3)
    throw UserError(text::cat("cross: dimension ", along, " of ", type_text(both[0]), " must have size 3"), at);
  const Tensor a1 = roll(both[0], {-1}, {along}, at), b1 = roll(both[1], {-1}, {along}, at);
  const Tensor a2 = roll(both[0], {-2}, {along}, at), b2 = roll(both[1], {-2}, {along}, at);
  const Tensor first = mul(a1, b2, at), second = mul(a2, b1, at);
  return sub(first, second, 1, at);
}

Tensor dist(const Tensor& input, const Tensor& other, double p, SourceLocation at) {
  return norm(sub(input, other, 1, at), p, {}, false, {}, at);
}
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, SourceLocation at) {
  require_defined(x1, "cdist", at);
  require_defined(x2, "cdist", at);
  if (x1.ndim() < 2 || x2.ndim() < 2 || x1.size(-1) != x2.size(-1))
    throw UserError(
        text::cat("cdist: matrices with equally long rows are wanted, not ", type_text(x1), " and ", type_text(x2)),
        at);
  if (p < 0) throw UserError(text::cat("cdist: p must not be negative: ", p), at);
  const Tensor from = unsqueeze(x1, -2, at), to = unsqueeze(x2, -3, at), differences = sub(from, to, 1, at);
  return linalg::vector_norm(differences, p, {-1}, false, {}, at);
}

Tensor nansum(const Tensor& input, const Dims& dim, bool keepdim, SourceLocation at) {
  require_defined(input, "nansum", at);
  if (!is_floating(input.dtype())) return sum(input, dim, keepdim, {}, at);
  return sum(masked_fill(input, isnan(input, at), 0, at), dim, keepdim, {}, at);
}
Tensor nanmean(const Tensor& input, const Dims& dim, bool keepdim, SourceLocation at) {
  require_defined(input, "nanmean", at);
  if (!is_floating(input.dtype()))
    throw UserError(text::cat("nanmean: the input is floating, not ", type_text(input)), at);
  const Tensor total = nansum(input, dim, keepdim, at), numbers = logical_not(isnan(input, at), at);
  return div(total, sum(numbers, dim, keepdim, {}, at), {}, at);
}

Tensor quantile(const Tensor& input, double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation,
                SourceLocation at) {
  require_defined(input, "quantile", at);
  if (!(q >= 0 && q <= 1)) throw UserError(text::cat("quantile: q is from 0 to 1, not ", q), at);
  if (!is_floating(input.dtype()) || input.numel() == 0)
    throw UserError(text::cat("quantile: the input is floating and has elements, not ", type_text(input)), at);
  const Tensor x = dim ? input : reshape(input, {-1}, at);
  const int64_t along = dim ? wrapped(*dim, x, "quantile", at) : 0;
  const Tensor sorted = std::get<0>(sort(x, along, false, false, at));
  const double rank = q * static_cast<double>(x.size(static_cast<int>(along)) - 1);
  double place = rank;
  if (interpolation == "lower") place = std::floor(rank);
  else if (interpolation == "higher") place = std::ceil(rank);
  else if (interpolation == "nearest") place = std::nearbyint(rank);
  else if (interpolation == "midpoint") place = (std::floor(rank) + std::ceil(rank)) / 2;
  else if (interpolation != "linear")
    throw UserError(
        text::cat("quantile: interpolation is linear, lower, higher, nearest or midpoint, not ", interpolation), at);
  const auto below = static_cast<int64_t>(std::floor(place)), above = static_cast<int64_t>(std::ceil(place));
  const Tensor low = narrow(sorted, along, below, 1, at), high = narrow(sorted, along, above, 1, at);
  const Tensor between = below == above ? low : lerp(low, high, place - std::floor(place), at);
  const Tensor has_nan = any(isnan(x, at), {along}, true, at);
  const Tensor value = masked_fill(between, has_nan, std::nan(""), at);
  if (!keepdim) return squeeze(value, {along}, at);
  return dim ? value : reshape(value, std::vector<int64_t>(static_cast<size_t>(input.ndim()), 1), at);
}

Tensor ldexp(const Tensor& input, const Tensor& other, SourceLocation at) {
  require_defined(input, "ldexp", at);
  require_defined(other, "ldexp", at);
  return mul(input, exp2(other, at), at);
}

Tensor logspace(double start, double end, int64_t steps, double base, const TensorOptions& options, SourceLocation at) {
  const Tensor exponents = linspace(start, end, steps, {.dtype = Dtype::f64}, at);
  const Tensor out =
      pow(full({}, base, {.dtype = Dtype::f64}, at), exponents, at).to(options.dtype.value_or(default_dtype()), at);
  return options.requires_grad ? out.requires_grad_() : out;
}
Tensor randint_like(const Tensor& input, int64_t low, int64_t high, SourceLocation at) {
  require_defined(input, "randint_like", at);
  return randint(low, high, Dims(input.shape()), {.dtype = input.dtype(), .device = input.device()}, at);
}
Tensor randint_like(const Tensor& input, int64_t high, SourceLocation at) { return randint_like(input, 0, high, at); }

Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options, SourceLocation at) {
  return cosines(window_length, periodic, {0.5, -0.5}, "hann_window", options, at);
}
Tensor hamming_window(int64_t window_length, bool periodic, const TensorOptions& options, SourceLocation at) {
  return cosines(window_length, periodic, {0.54, -0.46}, "hamming_window", options, at);
}
Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options, SourceLocation at) {
  return cosines(window_length, periodic, {0.42, -0.5, 0.08}, "blackman_window", options, at);
}
Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options,
                     SourceLocation at) {
  if (window_length < 0)
    throw UserError(text::cat("kaiser_window: the length must not be negative: ", window_length), at);
  const double half = static_cast<double>(periodic ? window_length : window_length - 1) / 2;
  std::vector<double> values;
  for (int64_t i = 0; i < window_length; ++i) {
    const double place = window_length == 1 ? 0 : (static_cast<double>(i) - half) / half;
    values.push_back(std::cyl_bessel_i(0.0, std::abs(beta) * std::sqrt(1 - place * place)) /
                     std::cyl_bessel_i(0.0, std::abs(beta)));
  }
  const Tensor out = tensor(values, {.device = options.device}, at).to(options.dtype.value_or(default_dtype()), at);
  return options.requires_grad ? out.requires_grad_() : out;
}
Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options, SourceLocation at) {
  if (window_length < 0)
    throw UserError(text::cat("bartlett_window: the length must not be negative: ", window_length), at);
  const double half = static_cast<double>(periodic ? window_length : window_length - 1) / 2;
  std::vector<double> values;
  for (int64_t i = 0; i < window_length; ++i)
    values.push_back(window_length == 1 ? 1 : 1 - std::abs(static_cast<double>(i) - half) / half);
  const Tensor out = tensor(values, {.device = options.device}, at).to(options.dtype.value_or(default_dtype()), at);
  return options.requires_grad ? out.requires_grad_() : out;
}

}  // namespace fulgurite
