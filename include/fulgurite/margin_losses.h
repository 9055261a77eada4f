#pragma once
#include <fulgurite/detail/requirements.h>

// Losses with margins, composed of operators, with the arguments of PyTorch's functions; and those that loss_layers.h
// lacks as layers.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <fulgurite/detail/given.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Options of cosine_embedding_loss.
struct CosineEmbeddingOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double margin = 0;
  std::string reduction = "mean";  // "mean", "sum" or "none"
};
/// 1 - cosine of two vectors whose target is 1; how much the cosine of those with -1 exceeds the margin. Inputs [batch,
/// features] or [features], target [batch] or []. (torch.nn.functional.cosine_embedding_loss)
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingOptions& options = {}, SourceLocation at = SourceLocation::here());

/// log(1 + exp(-target * input)) for targets of 1 and -1. (torch.nn.functional.soft_margin_loss)
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const std::string& reduction = "mean",
                        SourceLocation at = SourceLocation::here());

/// Options of multilabel_soft_margin_loss.
struct MultiLabelSoftMarginOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor weight = {};              // [classes]
  std::string reduction = "mean";  // "mean", "sum" or "none"
};
/// The mean over classes of the cross entropies of sigmoid(input) and targets of 0 and 1.
/// (torch.nn.functional.multilabel_soft_margin_loss)
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultiLabelSoftMarginOptions& options = {},
                                   SourceLocation at = SourceLocation::here());

/// Options of multi_margin_loss and MultiMarginLoss.
struct MultiMarginOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t p = 1;  // 1 or 2
  double margin = 1;
  Tensor weight = {};              // [classes], of the target's class
  std::string reduction = "mean";  // "mean", "sum" or "none"
};
/// For each other class, how much the score of the target's class falls short of being `margin` above that class's
/// score, to the power p; the mean over all classes. Scores [batch, classes] or [classes], target i64 [batch] or [].
/// UserError for another p. (torch.nn.functional.multi_margin_loss)
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginOptions& options = {},
                         SourceLocation at = SourceLocation::here());

/// For each pair of a target class and another one, how much the target's score falls short of being 1 above the other
/// score; divided by the number of classes. The targets of a row are the indices before its first -1. Scores and
/// target (i64): [batch, classes] or [classes]. (torch.nn.functional.multilabel_margin_loss)
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const std::string& reduction = "mean",
                              SourceLocation at = SourceLocation::here());

/// multi_margin_loss as a layer.
struct MultiMarginLoss {
  MultiMarginOptions options;
  MultiMarginLoss() = default;
  MultiMarginLoss(MultiMarginOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("p", layer.options.p);
    member("margin", layer.options.margin);
    member("weight", layer.options.weight);
    member("reduction", layer.options.reduction);
  }
};

/// The distance of the vectors of two tensors [batch, features]: [batch]. Undefined: pairwise_distance.
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
/// Options of triplet_margin_with_distance_loss and TripletMarginWithDistanceLoss.
struct TripletMarginWithDistanceOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  DistanceFunction distance_function = {};
  double margin = 1;
  bool swap = false;               // the smaller of the distances of the negative to the anchor and to the positive
  std::string reduction = "mean";  // "mean", "sum" or "none"
};
/// The amount by which the distance of anchor and positive, plus the margin, exceeds that of anchor and negative.
/// (torch.nn.functional.triplet_margin_with_distance_loss)
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceOptions& options = {},
                                         SourceLocation at = SourceLocation::here());
/// triplet_margin_with_distance_loss as a layer.
struct TripletMarginWithDistanceLoss {
  TripletMarginWithDistanceOptions options;
  TripletMarginWithDistanceLoss() = default;
  TripletMarginWithDistanceLoss(TripletMarginWithDistanceOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("margin", layer.options.margin);
    member("swap", layer.options.swap);
    member("reduction", layer.options.reduction);
  }
};

/// Options of MultiLabelMarginLoss.
struct MultiLabelMarginOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";  // "mean", "sum" or "none"
};
/// multilabel_margin_loss as a layer.
struct MultiLabelMarginLoss {
  MultiLabelMarginOptions options;
  MultiLabelMarginLoss() = default;
  MultiLabelMarginLoss(MultiLabelMarginOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("reduction", layer.options.reduction); }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
