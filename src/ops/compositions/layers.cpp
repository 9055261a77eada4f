// Functions of layers, as compositions of operators.
#include <cmath>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

void require_share(double p, const char* name, SourceLocation at) {
  if (!(p >= 0 && p <= 1)) throw UserError(text::cat(name, ": p is from 0 to 1, not ", p), at);
}

/// The root of order p of `mean_of_powers` times the size of a window.
Tensor root_of_powers(const Tensor& mean_of_powers, double count, double p, SourceLocation at) {
  const Tensor sums = mul(mean_of_powers, count, at);
  const Tensor sizes = mul(sign(sums, at), relu(abs(sums, at), at), at);
  return pow(sizes, 1 / p, at);
}

Tensor channel_dropout(const Tensor& input, double p, bool training, int least, int most, const char* name,
                       SourceLocation at) {
  if (!input.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
  require_share(p, name, at);
  if (input.ndim() < least || input.ndim() > most)
    throw UserError(text::cat(name, ": the input has ", least, " to ", most, " dimensions, not ", type_text(input)),
                    at);
  if (!training || p == 0) return mul(input, 1, at);
  std::vector<int64_t> sizes(static_cast<size_t>(input.ndim()), 1);
  const int kept =
      input.ndim() == least && least < most ? 1 : 2;  // without a batch the first dimension is the channels
  for (int d = 0; d < kept; ++d) sizes[static_cast<size_t>(d)] = input.size(d);
  const Tensor mask = dropout(ones(sizes, {.dtype = input.dtype()}, at), p, true, false, at);
  return mul(input, mask, at);
}

}  // namespace

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim, SourceLocation at) {
  if (!logits.defined()) throw UserError("gumbel_softmax: the logits are an undefined tensor", at);
  // From an exponential draw; rand is below 1, and 1 - rand above 0.
  const Tensor uniform = rand_like(logits, {}, at), exponential = neg(log1p(neg(uniform, at), at), at);
  const Tensor tiny = clamp_min(exponential, 1e-30, at), noise = neg(log(tiny, at), at);
  Tensor noisy = div(add(logits, noise, 1, at), tau, {}, at), relaxed = softmax(noisy, dim, {}, at);
  if (!hard) return relaxed;
  const Tensor index = argmax(relaxed, dim, true, at),
               ones_at = scatter(zeros_like(relaxed, {}, at), dim, index, 1.0, at);
  const Tensor difference = sub(ones_at, relaxed.detach(at), 1, at);
  return add(difference, relaxed, 1, at);
}

Tensor lp_pool1d(const Tensor& input, double norm_type, int64_t kernel_size, std::optional<int64_t> stride,
                 bool ceil_mode, SourceLocation at) {
  const Tensor powers = pow(input, norm_type, at);
  const Tensor means = avg_pool1d(powers, kernel_size, stride ? Dims(*stride) : Dims(), 0, ceil_mode, true, at);
  return root_of_powers(means, static_cast<double>(kernel_size), norm_type, at);
}
Tensor lp_pool2d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride, bool ceil_mode,
                 SourceLocation at) {
  const Tensor powers = pow(input, norm_type, at);
  const Tensor means = avg_pool2d(powers, kernel_size, stride, 0, ceil_mode, true, {}, at);
  const auto sizes = Shape(kernel_size).to_vector();
  const int64_t count = sizes.size() == 1 ? sizes[0] * sizes[0] : sizes[0] * sizes[1];
  return root_of_powers(means, static_cast<double>(count), norm_type, at);
}

Tensor feature_dropout(const Tensor& input, double p, bool training, SourceLocation at) {
  return channel_dropout(input, p, training, 2, 8, "feature_dropout", at);
}
Tensor dropout1d(const Tensor& input, double p, bool training, SourceLocation at) {
  return channel_dropout(input, p, training, 2, 3, "dropout1d", at);
}
Tensor dropout2d(const Tensor& input, double p, bool training, SourceLocation at) {
  return channel_dropout(input, p, training, 3, 4, "dropout2d", at);
}
Tensor dropout3d(const Tensor& input, double p, bool training, SourceLocation at) {
  return channel_dropout(input, p, training, 4, 5, "dropout3d", at);
}

namespace {

/// alpha_dropout where `mask`, random numbers from 0 to 1 that broadcast, is below p.
Tensor saturated(const Tensor& input, const Tensor& mask, double p, SourceLocation at) {
  constexpr double saturation = -1.7580993408473766;  // SELU's limit at minus infinity
  const double scale = 1 / std::sqrt((1 - p) * (1 + p * saturation * saturation)), shift = -scale * p * saturation;
  const Tensor chosen = where(ge(mask, p, at), input, saturation, at);
  return add(mul(chosen, scale, at), shift, 1, at);
}

}  // namespace

Tensor alpha_dropout(const Tensor& input, double p, bool training, SourceLocation at) {
  if (!input.defined()) throw UserError("alpha_dropout: the input is an undefined tensor", at);
  require_share(p, "alpha_dropout", at);
  if (!training || p == 0) return mul(input, 1, at);
  if (p == 1) return mul(input, 0, at);
  return saturated(input, rand_like(input, {}, at), p, at);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool training, SourceLocation at) {
  if (!input.defined()) throw UserError("feature_alpha_dropout: the input is an undefined tensor", at);
  require_share(p, "feature_alpha_dropout", at);
  if (input.ndim() < 2)
    throw UserError(text::cat("feature_alpha_dropout: the input is [N, C, ...], not ", type_text(input)), at);
  if (!training || p == 0) return mul(input, 1, at);
  if (p == 1) return mul(input, 0, at);
  Shape sizes{input.size(0), input.size(1)};
  for (int64_t d = 2; d < input.ndim(); ++d) sizes.push_back(1);
  return saturated(input, rand(Dims(sizes), {.dtype = input.dtype()}, at), p, at);
}

Tensor pdist(const Tensor& input, double p, SourceLocation at) {
  if (!input.defined() || input.ndim() != 2) throw UserError("pdist: the input is a matrix", at);
  const Tensor pairs = triu_indices(input.size(0), input.size(0), 1, at);
  const Tensor first = index_select(input, 0, select(pairs, 0, 0, at), at);
  const Tensor second = index_select(input, 0, select(pairs, 0, 1, at), at);
  const Tensor differences = sub(first, second, 1, at);
  return linalg::vector_norm(differences, p, {-1}, false, {}, at);
}

}  // namespace fulgurite::nn
