// Divisors, exponents, frequencies and differences, as compositions of
// operators.
#include <fulgurite/numeric_functions.h>

#include <algorithm>
#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

void require_defined(const Tensor& x, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
}

void require_floating(const Tensor& x, const char* name, SourceLocation at) {
  require_defined(x, name, at);
  if (!is_floating(x.dtype())) throw UserError(text::cat(name, ": the input must be floating, not ", type_text(x)), at);
}

void require_integers(const Tensor& x, const char* name, SourceLocation at) {
  require_defined(x, name, at);
  if (!is_integer(x.dtype()))
    throw UserError(text::cat(name, ": the tensors must hold integers, not ", type_text(x)), at);
}

/// Steps after which Euclid's algorithm has ended for any numbers of this
/// width: Fibonacci's take the most.
int max_divisions(Dtype dtype) {
  constexpr int steps[] = {0, 14, 26, 0, 48, 0, 0, 0, 94};
  return steps[size_of(dtype)];
}

/// Indices that count from the end become those from the front.
Tensor from_front(const Tensor& index, Int size, SourceLocation at) {
  const Tensor is_behind = lt(index, 0, at), moved = add(index, size, 1, at);
  return where(is_behind, moved, index, at);
}

std::tuple<Tensor, Tensor> counted(const Tensor& values, const Tensor& ends, const HistogramOptions& o,
                                   SourceLocation at) {
  const Int bins = ends.size(0) - 1;
  const Tensor first = select(ends, 0, 0, at), last = select(ends, 0, -1, at);
  const Tensor is_above = ge(values, first, at), is_below = le(values, last, at);
  const Tensor is_inside = logical_and(is_above, is_below, at);
  const Tensor position = sub(searchsorted(ends, values, false, true, {}, {}, at), 1, 1, at);
  const Tensor bin = clamp(position, 0, bins - 1, at);
  const Tensor weights = o.weight.defined() ? reshape(o.weight, {-1}, at).to(values.dtype(), at)
                                            : ones({values.size(0)}, {.dtype = values.dtype()}, at);
  const Tensor none = zeros({bins}, {.dtype = values.dtype()}, at), added = where(is_inside, weights, 0.0, at);
  const Tensor counts = index_add(none, 0, bin, added, 1, at);
  if (!o.density) return {counts, ends};
  const Tensor upper = narrow(ends, 0, 1, bins, at), lower = narrow(ends, 0, 0, bins, at);
  const Tensor widths = sub(upper, lower, 1, at);
  const Tensor total = sum(counts, {}, false, {}, at);
  return {div(div(counts, total, {}, at), widths, {}, at), ends};
}

Tensor flat_values(const Tensor& input, const HistogramOptions& o, SourceLocation at) {
  require_floating(input, "histogram", at);
  if (o.weight.defined() && o.weight.shape() != input.shape())
    throw UserError(
        text::cat("histogram: weight must have the input's shape, ", input.shape(), ", not ", o.weight.shape()), at);
  return reshape(input.detach(at), {-1}, at);
}

/// Elements [start, start + count) along a dimension.
Tensor part(const Tensor& x, int64_t dim, Int start, Int count, SourceLocation at) {
  return narrow(x, dim, start, count, at);
}

/// The difference at one end: of the first order from two elements, of the
/// second from three.
Tensor end_difference(const Tensor& x, int64_t dim, bool is_last, int64_t order, double spacing, SourceLocation at) {
  const Int size = x.size(static_cast<int>(dim));
  const auto from_end = [&](Int k) { return part(x, dim, is_last ? size - 1 - k : k, 1, at); };
  const Tensor nearest = from_end(0), second = from_end(1);
  Tensor rise = sub(second, nearest, 1, at);
  if (order == 2) {
    const Tensor third = from_end(2);
    const Tensor far_rise = sub(third, second, 1, at);
    const Tensor near_part = mul(rise, 1.5, at), far_part = mul(far_rise, 0.5, at);
    rise = sub(near_part, far_part, 1, at);
  }
  return div(rise, is_last ? -spacing : spacing, {}, at);
}

Tensor differences(const Tensor& x, int64_t dim, int64_t order, double spacing, SourceLocation at) {
  const Int size = x.size(static_cast<int>(dim));
  if (size < order + 1)
    throw UserError(
        text::cat("gradient: dimension ", dim, " has ", size, " values; edge_order ", order, " needs ", order + 1), at);
  const Tensor first = end_difference(x, dim, false, order, spacing, at);
  const Tensor last = end_difference(x, dim, true, order, spacing, at);
  const Tensor after = part(x, dim, 2, size - 2, at), before = part(x, dim, 0, size - 2, at);
  const Tensor middle = div(sub(after, before, 1, at), 2 * spacing, {}, at);
  return cat({first, middle, last}, dim, at);
}

}  // namespace

Tensor gcd(const Tensor& input, const Tensor& other, SourceLocation at) {
  require_integers(input, "gcd", at);
  require_integers(other, "gcd", at);
  const Dtype dtype = promote_types(input.dtype(), other.dtype());
  const auto both = broadcast_shapes(input.shape(), other.shape());
  Tensor a = abs(expand(input.to(dtype, at), both, at), at);
  Tensor b = abs(expand(other.to(dtype, at), both, at), at);
  for (int step = max_divisions(dtype); step > 0; --step) {
    const Tensor is_left = ne(b, 0, at);
    if (!innermost_interpreter() && !any(is_left, {}, false, at).item<bool>(at)) break;
    const Tensor divisor = where(is_left, b, 1, at), rest = fmod(a, divisor, at);
    a = where(is_left, b, a, at);
    b = where(is_left, rest, b, at);
  }
  return a;
}

Tensor lcm(const Tensor& input, const Tensor& other, SourceLocation at) {
  const Tensor common = gcd(input, other, at);
  const Tensor divisor = clamp_min(common, 1, at);
  const Tensor first = abs(input.to(common.dtype(), at), at), second = abs(other.to(common.dtype(), at), at);
  const Tensor rest = floor_divide(first, divisor, at);
  return mul(rest, second, at);
}

std::tuple<Tensor, Tensor> frexp(const Tensor& input, SourceLocation at) {
  require_floating(input, "frexp", at);
  const Tensor wide = input.to(Dtype::f64, at), values = wide.detach(at);
  const Tensor is_finite = isfinite(values, at), is_nonzero = ne(values, 0, at);
  const Tensor is_number = logical_and(is_finite, is_nonzero, at);
  const Tensor magnitude = where(is_number, abs(values, at), 1.0, at);
  const Tensor guess = add(floor(log2(magnitude, at), at), 1, 1, at);
  // In two steps: 2^1074 is not an f64.
  const auto scaled = [&](const Tensor& x, const Tensor& exponent) {
    const Tensor half = floor(mul(exponent, 0.5, at), at), rest = sub(exponent, half, 1, at);
    const Tensor first = exp2(half, at), second = exp2(rest, at);
    return div(div(x, first, {}, at), second, {}, at);
  };
  const Tensor near = scaled(magnitude, guess);
  const Tensor is_large = ge(near, 1.0, at).to(Dtype::f64, at), is_small = lt(near, 0.5, at).to(Dtype::f64, at);
  const Tensor exact = sub(add(guess, is_large, 1, at), is_small, 1, at);
  const Tensor exponent = where(is_number, exact, 0.0, at);
  const Tensor mantissa = scaled(wide, exponent).to(input.dtype(), at);
  return {mantissa, exponent.to(Dtype::i32, at)};
}

std::tuple<Tensor, Tensor> mode(const Tensor& input, int64_t dim, bool keepdim, SourceLocation at) {
  require_defined(input, "mode", at);
  if (input.dim() == 0) return {clone(input, at), zeros({}, {.dtype = Dtype::i64}, at)};
  const int64_t along = normalize_dim(dim, input.dim());
  const Int size = input.size(static_cast<int>(along));
  if (size < 1) throw UserError(text::cat("mode: dimension ", dim, " has no elements"), at);
  const auto [ordered, indices] = sort(movedim(input, along, -1, at), -1, false, true, at);
  const Tensor positions = expand(arange(size, {}, at), ordered.shape(), at);
  const Tensor before = narrow(ordered, -1, 0, size - 1, at), after = narrow(ordered, -1, 1, size - 1, at);
  const Tensor is_start = constant_pad_nd(ne(after, before, at), {1, 0}, true, at);
  const Tensor starts = std::get<0>(cummax(where(is_start, positions, 0, at), -1, at));
  const Tensor chosen = argmax(sub(positions, starts, 1, at), -1, true,
                               at);  // the end of the first longest run
  const Tensor value = movedim(gather(ordered, -1, chosen, at), -1, along, at);
  const Tensor index = movedim(gather(indices, -1, chosen, at), -1, along, at);
  if (keepdim) return {value, index};
  return {squeeze(value, {along}, at), squeeze(index, {along}, at)};
}

Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate, SourceLocation at) {
  require_defined(input, "put", at);
  require_integers(index, "put", at);
  require_defined(source, "put", at);
  if (source.numel() != index.numel())
    throw UserError(text::cat("put: there are ", index.numel(), " indices and ", source.numel(), " elements"), at);
  if (source.dtype() != input.dtype())
    throw UserError(text::cat("put: source must be ", input.dtype(), ", not ", source.dtype()), at);
  const Tensor flat = reshape(input, {-1}, at), values = reshape(source, {-1}, at);
  const Tensor positions = from_front(reshape(index, {-1}, at), input.numel(), at);
  return reshape(index_put(flat, {positions}, values, accumulate, at), input.shape(), at);
}

std::tuple<Tensor, Tensor> histogram(const Tensor& input, int64_t bins, const HistogramOptions& o, SourceLocation at) {
  const Tensor values = flat_values(input, o, at);
  if (bins < 1) throw UserError(text::cat("histogram: bins must be at least 1, not ", bins), at);
  if (o.range.first > o.range.second)
    throw UserError(text::cat("histogram: the range must ascend: ", o.range.first, " and ", o.range.second), at);
  const bool is_given = o.range.first != o.range.second;
  const Tensor steps = linspace(0.0, 1.0, bins + 1, {.dtype = Dtype::f64}, at);
  if (is_given || input.numel() == 0) {
    const double start = is_given ? o.range.first : 0, length = is_given ? o.range.second - start : 1;
    return counted(values, add(mul(steps, length, at), start, 1, at).to(input.dtype(), at), o, at);
  }
  const Tensor least = amin(values, {}, false, at).to(Dtype::f64, at),
               most = amax(values, {}, false, at).to(Dtype::f64, at);
  const Tensor is_point = eq(least, most, at);
  const Tensor before = sub(least, 0.5, 1, at), after = add(most, 0.5, 1, at);
  const Tensor start = where(is_point, before, least, at), end = where(is_point, after, most, at);
  const Tensor length = sub(end, start, 1, at);
  const Tensor ends = add(mul(steps, length, at), start, 1, at);
  return counted(values, ends.to(input.dtype(), at), o, at);
}

std::tuple<Tensor, Tensor> histogram(const Tensor& input, const Tensor& bins, const HistogramOptions& o,
                                     SourceLocation at) {
  const Tensor values = flat_values(input, o, at);
  if (!bins.defined() || bins.dim() != 1 || bins.size(0) < 2 || bins.dtype() != input.dtype())
    throw UserError(text::cat("histogram: bins must be at least two ", input.dtype(), " numbers in a vector"), at);
  return counted(values, bins, o, at);
}

std::vector<Tensor> gradient(const Tensor& input, const std::vector<double>& spacing, const Dims& dim,
                             int64_t edge_order, SourceLocation at) {
  require_floating(input, "gradient", at);
  if (edge_order != 1 && edge_order != 2)
    throw UserError(text::cat("gradient: edge_order must be 1 or 2, not ", edge_order), at);
  std::vector<int64_t> dims;
  for (const Int d : dim) dims.push_back(normalize_dim(d.hint(), input.dim()));
  if (dim.empty())
    for (int64_t d = 0; d < input.dim(); ++d) dims.push_back(d);
  if (spacing.size() != 1 && spacing.size() != dims.size())
    throw UserError(text::cat("gradient: spacing must be 1 or ", dims.size(), " numbers, not ", spacing.size()), at);
  std::vector<Tensor> out;
  for (size_t i = 0; i < dims.size(); ++i)
    out.push_back(differences(input, dims[i], edge_order, spacing.size() == 1 ? spacing[0] : spacing[i], at));
  return out;
}

Tensor poisson(const Tensor& input, const GeneratorOption& generator, SourceLocation at) {
  require_floating(input, "poisson", at);
  const NoGrad no_grad;
  if (input.numel() == 0) return clone(input, at);
  const Tensor rates = input.detach(at).to(Dtype::f64, at);
  if (!all(ge(rates, 0, at), {}, false, at).item<bool>(at))
    throw UserError("poisson: the rates must not be negative", at);
  const double largest = amax(rates, {}, false, at).item<double>(at);
  if (largest > 1e6) throw UserError(text::cat("poisson: rates above 1e6 are not supported: ", largest), at);
  // Arrivals in a time of this rate: far more than there can be, to one part in
  // 10^20.
  const auto count = static_cast<int64_t>(largest + 10 * std::sqrt(largest) + 50);
  Tensor time = zeros_like(rates, {}, at), arrivals = zeros_like(rates, {}, at);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor wait = exponential_(empty_like(rates, {}, at), 1, generator, at);
    time = add(time, wait, 1, at);
    arrivals = add(arrivals, le(time, rates, at).to(Dtype::f64, at), 1, at);
  }
  return arrivals.to(input.dtype(), at);
}

}  // namespace fulgurite
