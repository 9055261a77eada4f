#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/nn.h>

#include "support/text/text.h"

namespace fulgurite::nn {

namespace {

// A parameter initialized uniformly from [-bound, bound).
Tensor uniform_parameter(const Shape& shape, double bound, TensorOptions options, SourceLocation at) {
  options.requires_grad = false;
  const Tensor parameter = empty(Dims(shape), options, at);
  uniform_(parameter, -bound, bound, at);
  return parameter.requires_grad_();
}

Tensor constant_parameter(const std::vector<int64_t>& sizes, double value, TensorOptions options, SourceLocation at) {
  options.requires_grad = true;
  return full(Dims(Shape(sizes)), value, options, at);
}

template <class Options>
TensorOptions tensor_options(const Options& options) {
  return {.dtype = options.dtype, .device = options.device};
}

Dims dims(const std::vector<int64_t>& sizes) { return Dims(Shape(sizes)); }

void check_defined(const Tensor& tensor, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, ": the tensor is undefined"), at);
}

}  // namespace

void normal_(const Tensor& tensor, double mean, double std, SourceLocation at) {
  check_defined(tensor, "normal_", at);
  const NoGrad no_grad;
  const Tensor state = prims::random_state(tensor.numel(), at);
  const Tensor drawn = prims::normal(state, Dims(tensor.shape()), mean, std, tensor.dtype(), at);
  copy_(tensor, drawn, at);
}

void uniform_(const Tensor& tensor, double low, double high, SourceLocation at) {
  check_defined(tensor, "uniform_", at);
  const NoGrad no_grad;
  const Tensor state = prims::random_state(tensor.numel(), at);
  const Tensor drawn = prims::uniform(state, Dims(tensor.shape()), low, high, tensor.dtype(), at);
  copy_(tensor, drawn, at);
}

Linear::Linear(int64_t in_features, int64_t out_features, const LinearOptions& options, SourceLocation at)
    : Linear(in_features, out_features, options.bias, tensor_options(options), at) {}

Linear::Linear(int64_t in_features, int64_t out_features, const detail::Given<bool>& has_bias,
               const TensorOptions& options, SourceLocation at) {
  const double bound = in_features > 0 ? 1 / std::sqrt(static_cast<double>(in_features)) : 0;
  weight = uniform_parameter({out_features, in_features}, bound, options, at);
  if (has_bias) bias = uniform_parameter({out_features}, bound, options, at);
}

Tensor Linear::operator()(const Tensor& x, SourceLocation at) const {
  const Tensor used = quantized ? quantized->dequantized(x.dtype(), at) : weight;
  Tensor y = linear(x, used, bias, at);
  if (!lora) return y;
  const Tensor dropped = dropout(x, lora->dropout, lora->training && lora->dropout > 0);
  const Tensor low = linear(dropped.to(lora->A.dtype()), lora->A, {}, at);
  const Tensor change = linear(low, lora->B, {}, at);
  return y + (change * lora->scale).to(y.dtype());
}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options, SourceLocation at)
    : Embedding(num_embeddings, embedding_dim, options.padding_idx, tensor_options(options), at) {
  scale_grad_by_freq = options.scale_grad_by_freq;
}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim,
                     const detail::Given<std::optional<int64_t>>& padding, SourceLocation at)
    : Embedding(num_embeddings, embedding_dim, static_cast<const std::optional<int64_t>&>(padding), TensorOptions(),
                at) {}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding,
                     const TensorOptions& options, SourceLocation at)
    : padding_idx(padding) {
  TensorOptions plain = options;
  plain.requires_grad = false;
  weight = empty({num_embeddings, embedding_dim}, plain, at);
  normal_(weight, 0, 1, at);
  if (padding_idx) {
    const Tensor row = select(weight, 0, *padding_idx, at);
    zero_(row, at);
  }
  weight.requires_grad_();
}

Tensor Embedding::operator()(const Tensor& indices, SourceLocation at) const {
  const std::optional<Int> padding = padding_idx ? std::optional<Int>(*padding_idx) : std::nullopt;
  return embedding(indices, weight, padding, {}, 2.0, scale_grad_by_freq, false, at);
}

LayerNorm::LayerNorm(const NormalizedShape& shape, const LayerNormOptions& options, SourceLocation at)
    : LayerNorm(shape, options.eps, options.elementwise_affine, options.bias, tensor_options(options), at) {}

LayerNorm::LayerNorm(const NormalizedShape& shape, const detail::Given<double>& epsilon, bool elementwise_affine,
                     bool has_bias, const TensorOptions& options, SourceLocation at)
    : normalized_shape(shape.sizes), eps(epsilon) {
  if (!elementwise_affine) return;
  weight = constant_parameter(shape.sizes, 1, options, at);
  if (has_bias) bias = constant_parameter(shape.sizes, 0, options, at);
}

Tensor LayerNorm::operator()(const Tensor& x, SourceLocation at) const {
  return layer_norm(x, dims(normalized_shape), weight, bias, eps, at);
}

RMSNorm::RMSNorm(const NormalizedShape& shape, const RMSNormOptions& options, SourceLocation at)
    : RMSNorm(shape, options.eps, options.elementwise_affine, tensor_options(options), at) {}

RMSNorm::RMSNorm(const NormalizedShape& shape, const detail::Given<std::optional<double>>& epsilon, SourceLocation at)
    : RMSNorm(shape, static_cast<const std::optional<double>&>(epsilon), true, {}, at) {}

RMSNorm::RMSNorm(const NormalizedShape& shape, std::optional<double> epsilon, bool elementwise_affine,
                 const TensorOptions& options, SourceLocation at)
    : normalized_shape(shape.sizes), eps(epsilon) {
  if (elementwise_affine) weight = constant_parameter(shape.sizes, 1, options, at);
}

Tensor RMSNorm::operator()(const Tensor& x, SourceLocation at) const {
  const std::optional<Float> epsilon = eps ? std::optional<Float>(*eps) : std::nullopt;
  return rms_norm(x, dims(normalized_shape), weight, epsilon, at);
}

Tensor Dropout::operator()(const Tensor& x, SourceLocation at) const {
  return training && p > 0 ? dropout(x, p, true, false, at) : x;
}

}  // namespace fulgurite::nn
