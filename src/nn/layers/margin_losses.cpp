#include <fulgurite/margin_losses.h>

#include <fulgurite/error.h>
#include <fulgurite/loss_layers.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::nn {

namespace {

Tensor reduced(const Tensor& losses, const std::string& reduction, const char* function, SourceLocation at) {
  if (reduction == "none") return losses;
  if (reduction == "sum") return sum(losses, {}, false, {}, at);
  if (reduction == "mean") return mean(losses, {}, false, {}, at);
  throw UserError(text::cat(function, ": reduction must be \"mean\", \"sum\" or \"none\", not \"", reduction, "\""),
                  at);
}

void check_dimensions(const Tensor& input, const Tensor& target, int64_t less, const char* function,
                      SourceLocation at) {
  const int64_t dimensions = input.dim();
  if ((dimensions == 1 || dimensions == 2) && target.dim() == dimensions - less) return;
  throw UserError(text::cat(function, ": input must be [batch, classes] or [classes] and target ",
                            less == 1 ? "[batch] or []" : "of the same sizes", ", they have ", dimensions, " and ",
                            target.dim(), " dimensions"),
                  at);
}

}  // namespace

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingOptions& options, SourceLocation at) {
  return CosineEmbeddingLoss({.margin = options.margin, .reduction = options.reduction})(input1, input2, target, at);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const std::string& reduction, SourceLocation at) {
  return SoftMarginLoss({.reduction = reduction})(input, target, at);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultiLabelSoftMarginOptions& options, SourceLocation at) {
  return MultiLabelSoftMarginLoss({.weight = options.weight, .reduction = options.reduction})(input, target, at);
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginOptions& options,
                         SourceLocation at) {
  check_dimensions(input, target, 1, "multi_margin_loss", at);
  if (options.p != 1 && options.p != 2)
    throw UserError(text::cat("multi_margin_loss: p must be 1 or 2, it is ", options.p), at);
  const Tensor index = unsqueeze(target, -1, at);
  const Tensor own = gather(input, -1, index, at);
  const Tensor gap = sub(add(input, options.margin, 1, at), own, 1, at);
  Tensor excess = clamp_min(gap, 0.0, at);
  if (options.p == 2) excess = mul(excess, excess, at);
  if (options.weight.defined()) {
    const Tensor flat = reshape(target, {-1}, at);
    const Tensor weights = reshape(index_select(options.weight, 0, flat, at), index.shape(), at);
    excess = mul(excess, weights, at);
  }
  const Tensor is_other = ne(arange(input.size(-1)), index, at);
  const Tensor losses = mean(where(is_other, excess, 0.0, at), {-1}, false, {}, at);
  return reduced(losses, options.reduction, "multi_margin_loss", at);
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const std::string& reduction,
                              SourceLocation at) {
  check_dimensions(input, target, 0, "multilabel_margin_loss", at);
  const Tensor is_index = ge(target, 0, at).to(Dtype::i64);
  const Tensor is_given = cumprod(is_index, -1, {}, at);  // 1 before the first -1 of a row
  const Tensor index = mul(target, is_given, at);
  const Tensor own = gather(input, -1, index, at);
  const Tensor counts = scatter_add(zeros_like(is_given), -1, index, is_given, at);
  const Tensor gap = add(sub(unsqueeze(input, -2, at), unsqueeze(own, -1, at), 1, at), 1.0, 1, at);
  const Tensor is_pair = logical_and(unsqueeze(ne(is_given, 0, at), -1, at), unsqueeze(eq(counts, 0, at), -2, at), at);
  const Tensor excess = where(is_pair, clamp_min(gap, 0.0, at), 0.0, at);
  const Tensor losses = div(sum(excess, {-2, -1}, false, {}, at), input.size(-1), {}, at);
  return reduced(losses, reduction, "multilabel_margin_loss", at);
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceOptions& options, SourceLocation at) {
  constexpr const char* function = "triplet_margin_with_distance_loss";
  if (!anchor.defined() || !positive.defined() || !negative.defined())
    throw UserError(text::cat(function, ": an input is an undefined tensor"), at);
  if (!(options.margin > 0))
    throw UserError(text::cat(function, ": margin must be greater than 0, not ", options.margin), at);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return options.distance_function ? options.distance_function(a, b) : pairwise_distance(a, b, 2.0, 1e-6, false, at);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative), at);
  const Tensor gap = add(sub(near, far, 1, at), options.margin, 1, at);
  return reduced(clamp_min(gap, 0.0, at), options.reduction, function, at);
}

Tensor TripletMarginWithDistanceLoss::operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                                 SourceLocation at) const {
  return triplet_margin_with_distance_loss(anchor, positive, negative, options, at);
}

Tensor MultiMarginLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return multi_margin_loss(input, target, options, at);
}

Tensor MultiLabelMarginLoss::operator()(const Tensor& input, const Tensor& target, SourceLocation at) const {
  return multilabel_margin_loss(input, target, options.reduction, at);
}

}  // namespace fulgurite::nn
