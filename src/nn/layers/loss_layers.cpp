// Losses as layers.
#include <fulgurite/loss_layers.h>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

Tensor reduced(const Tensor& losses, const std::string& reduction, const char* layer, SourceLocation at) {
  if (reduction == "none") return losses;
  if (reduction == "sum") return sum(losses, {}, false, {}, at);
  if (reduction == "mean") return mean(losses, {}, false, {}, at);
  throw UserError(text::cat(layer, ": reduction must be \"mean\", \"sum\" or \"none\", not \"", reduction, "\""), at);
}

}  // namespace

Tensor CrossEntropyLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return cross_entropy(input, target, options.weight, {}, options.ignore_index, {}, options.reduction,
                       options.label_smoothing, at);
}

Tensor NLLLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return nll_loss(input, target, options.weight, {}, options.ignore_index, {}, options.reduction, at);
}

Tensor MSELoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return mse_loss(input, target, {}, {}, options.reduction, Tensor(), at);
}

Tensor L1Loss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return l1_loss(input, target, {}, {}, options.reduction, Tensor(), at);
}

Tensor SmoothL1Loss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return smooth_l1_loss(input, target, {}, {}, options.reduction, options.beta, at);
}

Tensor HuberLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return huber_loss(input, target, options.reduction, options.delta, Tensor(), at);
}

Tensor BCELoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return binary_cross_entropy(input, target, options.weight, {}, {}, options.reduction, at);
}

Tensor BCEWithLogitsLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return binary_cross_entropy_with_logits(input, target, options.weight, {}, {}, options.reduction, options.pos_weight,
                                          at);
}

Tensor KLDivLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return kl_div(input, target, {}, {}, options.reduction, options.log_target, at);
}

Tensor PoissonNLLLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return poisson_nll_loss(input, target, options.log_input, options.full, {}, options.eps, {}, options.reduction, at);
}

Tensor GaussianNLLLoss::operator()(const Tensor& input, const Tensor& target, const Tensor& var,
                                   SourceLocation at) const {
  return gaussian_nll_loss(input, target, var, options.full, options.eps, options.reduction, at);
}

Tensor HingeEmbeddingLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return hinge_embedding_loss(input, target, options.margin, {}, {}, options.reduction, at);
}

Tensor MarginRankingLoss::operator()(const Tensor& input1, const Tensor& input2, const Tensor& target,
                                     SourceLocation at) const {
  return margin_ranking_loss(input1, input2, target, options.margin, {}, {}, options.reduction, at);
}

Tensor TripletMarginLoss::operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                     SourceLocation at) const {
  return triplet_margin_loss(anchor, positive, negative, options.margin, options.p, options.eps, options.swap, {}, {},
                             options.reduction, at);
}

// As in PyTorch, a small number under the root keeps the gradient at zero finite.
Tensor CosineEmbeddingLoss::operator()(const Tensor& input1, const Tensor& input2, const Tensor& target,
                                       SourceLocation at) const {
  constexpr double eps = 1e-12;
  const Tensor products = sum(mul(input1, input2, at), {-1}, false, {}, at);
  const Tensor first = add(sum(mul(input1, input1, at), {-1}, false, {}, at), eps, 1, at);
  const Tensor second = add(sum(mul(input2, input2, at), {-1}, false, {}, at), eps, 1, at);
  const Tensor cosine = div(products, sqrt(mul(first, second, at), at), {}, at);
  const Tensor alike = sub(1.0, cosine, 1, at), apart = clamp_min(sub(cosine, options.margin, 1, at), 0.0, at);
  const Tensor losses = where(eq(target, 1, at), alike, where(eq(target, -1, at), apart, 0.0, at), at);
  return reduced(losses, options.reduction, "CosineEmbeddingLoss", at);
}

Tensor SoftMarginLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  const Tensor margin = mul(neg(target, at), input, at);
  return reduced(log1p(exp(margin, at), at), options.reduction, "SoftMarginLoss", at);
}

Tensor MultiLabelSoftMarginLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  const Tensor present = mul(target, logsigmoid(input, at), at);
  const Tensor absent = mul(sub(1.0, target, 1, at), logsigmoid(neg(input, at), at), at);
  Tensor losses = neg(add(present, absent, 1, at), at);
  if (options.weight.defined()) losses = mul(losses, options.weight, at);
  return reduced(mean(losses, {-1}, false, {}, at), options.reduction, "MultiLabelSoftMarginLoss", at);
}

}  // namespace fulgurite::nn
