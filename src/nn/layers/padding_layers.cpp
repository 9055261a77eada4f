#include <fulgurite/padding_layers.h>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

constexpr const char* name_of(PaddingFill fill) {
  switch (fill) {
    case PaddingFill::reflect: return "reflect";
    case PaddingFill::replicate: return "replicate";
    case PaddingFill::circular: return "circular";
    case PaddingFill::constant: break;
  }
  return "constant";
}

}  // namespace

template <int dims, PaddingFill fill>
Tensor PaddingLayer<dims, fill>::operator()(const Tensor& x, SourceLocation at) const {
  if (padding.size() != size_t{2} * dims)
    throw UserError(text::cat("a padding of ", dims, " dimensions has ", 2 * dims, " widths, not ", padding.size()),
                    at);
  if (fill == PaddingFill::constant) return pad(x, padding, name_of(fill), value, at);
  return pad(x, padding, name_of(fill), {}, at);
}
template struct PaddingLayer<1, PaddingFill::constant>;
template struct PaddingLayer<2, PaddingFill::constant>;
template struct PaddingLayer<3, PaddingFill::constant>;
template struct PaddingLayer<1, PaddingFill::reflect>;
template struct PaddingLayer<2, PaddingFill::reflect>;
template struct PaddingLayer<3, PaddingFill::reflect>;
template struct PaddingLayer<1, PaddingFill::replicate>;
template struct PaddingLayer<2, PaddingFill::replicate>;
template struct PaddingLayer<3, PaddingFill::replicate>;
template struct PaddingLayer<1, PaddingFill::circular>;
template struct PaddingLayer<2, PaddingFill::circular>;
template struct PaddingLayer<3, PaddingFill::circular>;

template <int dims>
Tensor ChannelDropout<dims>::operator()(const Tensor& x, SourceLocation at) const {
  if constexpr (dims == 1) return dropout1d(x, p, training, at);
  else if constexpr (dims == 2) return dropout2d(x, p, training, at);
  else return dropout3d(x, p, training, at);
}
template struct ChannelDropout<1>;
template struct ChannelDropout<2>;
template struct ChannelDropout<3>;

Tensor AlphaDropout::operator()(const Tensor& x, SourceLocation at) const { return alpha_dropout(x, p, training, at); }
Tensor FeatureAlphaDropout::operator()(const Tensor& x, SourceLocation at) const {
  return feature_alpha_dropout(x, p, training, at);
}

Tensor Fold::operator()(const Tensor& x, SourceLocation at) const {
  return fold(x, output_size, kernel_size, options.dilation, options.padding, options.stride, at);
}
Tensor Unfold::operator()(const Tensor& x, SourceLocation at) const {
  return unfold(x, kernel_size, options.dilation, options.padding, options.stride, at);
}
Tensor CosineSimilarity::operator()(const Tensor& x1, const Tensor& x2, SourceLocation at) const {
  return cosine_similarity(x1, x2, dim, eps, at);
}
Tensor PairwiseDistance::operator()(const Tensor& x1, const Tensor& x2, SourceLocation at) const {
  return pairwise_distance(x1, x2, p, eps, keepdim, at);
}

}  // namespace fulgurite::nn
