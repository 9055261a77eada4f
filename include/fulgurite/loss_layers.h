#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string>
#include <utility>

#include <fulgurite/activation_layers.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

// Losses as layers, with the arguments of PyTorch's: `nn::CrossEntropyLoss loss({.label_smoothing = 0.1}); loss(scores,
// classes)`. `reduction` is "mean", "sum" or "none". Each computes the function of its name in nn::.

/// Options of CrossEntropyLoss; members are given in this order.
struct CrossEntropyLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor weight = {};
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  double label_smoothing = 0;
};
/// The loss CrossEntropyLoss, as PyTorch's.
struct CrossEntropyLoss {
  CrossEntropyLossOptions options;
  CrossEntropyLoss() = default;
  CrossEntropyLoss(CrossEntropyLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.options.weight);
    member("ignore_index", layer.options.ignore_index);
    member("reduction", layer.options.reduction);
    member("label_smoothing", layer.options.label_smoothing);
  }
};

/// Options of NLLLoss; members are given in this order.
struct NLLLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor weight = {};
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};
/// The loss NLLLoss, as PyTorch's.
struct NLLLoss {
  NLLLossOptions options;
  NLLLoss() = default;
  NLLLoss(NLLLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.options.weight);
    member("ignore_index", layer.options.ignore_index);
    member("reduction", layer.options.reduction);
  }
};

/// Options of MSELoss; members are given in this order.
struct MSELossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";
};
/// The loss MSELoss, as PyTorch's.
struct MSELoss {
  MSELossOptions options;
  MSELoss() = default;
  MSELoss(MSELossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("reduction", layer.options.reduction); }
};

/// Options of L1Loss; members are given in this order.
struct L1LossLayerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";
};
/// The loss L1Loss, as PyTorch's.
struct L1Loss {
  L1LossLayerOptions options;
  L1Loss() = default;
  L1Loss(L1LossLayerOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("reduction", layer.options.reduction); }
};

/// Options of SmoothL1Loss; members are given in this order.
struct SmoothL1LossLayerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";
  double beta = 1;
};
/// The loss SmoothL1Loss, as PyTorch's.
struct SmoothL1Loss {
  SmoothL1LossLayerOptions options;
  SmoothL1Loss() = default;
  SmoothL1Loss(SmoothL1LossLayerOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("reduction", layer.options.reduction);
    member("beta", layer.options.beta);
  }
};

/// Options of HuberLoss; members are given in this order.
struct HuberLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";
  double delta = 1;
};
/// The loss HuberLoss, as PyTorch's.
struct HuberLoss {
  HuberLossOptions options;
  HuberLoss() = default;
  HuberLoss(HuberLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("reduction", layer.options.reduction);
    member("delta", layer.options.delta);
  }
};

/// Options of BCELoss; members are given in this order.
struct BCELossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor weight = {};
  std::string reduction = "mean";
};
/// The loss BCELoss, as PyTorch's.
struct BCELoss {
  BCELossOptions options;
  BCELoss() = default;
  BCELoss(BCELossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.options.weight);
    member("reduction", layer.options.reduction);
  }
};

/// Options of BCEWithLogitsLoss; members are given in this order.
struct BCEWithLogitsLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor weight = {};
  std::string reduction = "mean";
  Tensor pos_weight = {};
};
/// The loss BCEWithLogitsLoss, as PyTorch's.
struct BCEWithLogitsLoss {
  BCEWithLogitsLossOptions options;
  BCEWithLogitsLoss() = default;
  BCEWithLogitsLoss(BCEWithLogitsLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.options.weight);
    member("reduction", layer.options.reduction);
    member("pos_weight", layer.options.pos_weight);
  }
};

/// Options of KLDivLoss; members are given in this order.
struct KLDivLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";
  bool log_target = false;
};
/// The loss KLDivLoss, as PyTorch's.
struct KLDivLoss {
  KLDivLossOptions options;
  KLDivLoss() = default;
  KLDivLoss(KLDivLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("reduction", layer.options.reduction);
    member("log_target", layer.options.log_target);
  }
};

/// Options of PoissonNLLLoss; members are given in this order.
struct PoissonNLLLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool log_input = true;
  bool full = false;
  double eps = 1e-8;
  std::string reduction = "mean";
};
/// The loss PoissonNLLLoss, as PyTorch's.
struct PoissonNLLLoss {
  PoissonNLLLossOptions options;
  PoissonNLLLoss() = default;
  PoissonNLLLoss(PoissonNLLLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("log_input", layer.options.log_input);
    member("full", layer.options.full);
    member("eps", layer.options.eps);
    member("reduction", layer.options.reduction);
  }
};

/// Options of GaussianNLLLoss; members are given in this order.
struct GaussianNLLLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool full = false;
  double eps = 1e-6;
  std::string reduction = "mean";
};
/// The loss GaussianNLLLoss, as PyTorch's.
struct GaussianNLLLoss {
  GaussianNLLLossOptions options;
  GaussianNLLLoss() = default;
  GaussianNLLLoss(GaussianNLLLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, const Tensor& var,
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("full", layer.options.full);
    member("eps", layer.options.eps);
    member("reduction", layer.options.reduction);
  }
};

/// Options of HingeEmbeddingLoss; members are given in this order.
struct HingeEmbeddingLossLayerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double margin = 1;
  std::string reduction = "mean";
};
/// The loss HingeEmbeddingLoss, as PyTorch's.
struct HingeEmbeddingLoss {
  HingeEmbeddingLossLayerOptions options;
  HingeEmbeddingLoss() = default;
  HingeEmbeddingLoss(HingeEmbeddingLossLayerOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("margin", layer.options.margin);
    member("reduction", layer.options.reduction);
  }
};

/// Options of MarginRankingLoss; members are given in this order.
struct MarginRankingLossLayerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double margin = 0;
  std::string reduction = "mean";
};
/// The loss MarginRankingLoss, as PyTorch's.
struct MarginRankingLoss {
  MarginRankingLossLayerOptions options;
  MarginRankingLoss() = default;
  MarginRankingLoss(MarginRankingLossLayerOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target,
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("margin", layer.options.margin);
    member("reduction", layer.options.reduction);
  }
};

/// Options of TripletMarginLoss; members are given in this order.
struct TripletMarginLossLayerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;
  std::string reduction = "mean";
};
/// The loss TripletMarginLoss, as PyTorch's.
struct TripletMarginLoss {
  TripletMarginLossLayerOptions options;
  TripletMarginLoss() = default;
  TripletMarginLoss(TripletMarginLossLayerOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("margin", layer.options.margin);
    member("p", layer.options.p);
    member("eps", layer.options.eps);
    member("swap", layer.options.swap);
    member("reduction", layer.options.reduction);
  }
};

/// Options of CosineEmbeddingLoss; members are given in this order.
struct CosineEmbeddingLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double margin = 0;
  std::string reduction = "mean";
};
/// The loss CosineEmbeddingLoss, as PyTorch's.
struct CosineEmbeddingLoss {
  CosineEmbeddingLossOptions options;
  CosineEmbeddingLoss() = default;
  CosineEmbeddingLoss(CosineEmbeddingLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target,
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("margin", layer.options.margin);
    member("reduction", layer.options.reduction);
  }
};

/// Options of SoftMarginLoss; members are given in this order.
struct SoftMarginLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string reduction = "mean";
};
/// The loss SoftMarginLoss, as PyTorch's.
struct SoftMarginLoss {
  SoftMarginLossOptions options;
  SoftMarginLoss() = default;
  SoftMarginLoss(SoftMarginLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("reduction", layer.options.reduction); }
};

/// Options of MultiLabelSoftMarginLoss; members are given in this order.
struct MultiLabelSoftMarginLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor weight = {};
  std::string reduction = "mean";
};
/// The loss MultiLabelSoftMarginLoss, as PyTorch's.
struct MultiLabelSoftMarginLoss {
  MultiLabelSoftMarginLossOptions options;
  MultiLabelSoftMarginLoss() = default;
  MultiLabelSoftMarginLoss(MultiLabelSoftMarginLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.options.weight);
    member("reduction", layer.options.reduction);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
