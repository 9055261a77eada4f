#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/activation_layers.h>
#include <fulgurite/functional_options.h>
#include <fulgurite/nn.h>
#include <fulgurite/normalization_layers.h>
#include <fulgurite/sequential.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Lists and maps of parameters and of layers by PyTorch's names; keys are in the order of the alphabet.
using ParameterList = std::vector<Tensor>;
using ParameterDict = std::map<std::string, Tensor>;
using ModuleDict = std::map<std::string, AnyLayer>;
/// LocalResponseNorm by its older name.
using CrossMapLRN2d = LocalResponseNorm;

/// Options of AdaptiveLogSoftmaxWithLoss; members are given in this order.
struct AdaptiveLogSoftmaxOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double div_value = 4;  // by which each cluster's projection is narrower than the one before
  bool head_bias = false;
  std::optional<Dtype> dtype = {};
};

/// A softmax over many classes in clusters by frequency (Grave et al. 2016): the first `cutoffs[0]` classes have scores
/// of their own, the others a score for their cluster and one within it, from a narrower projection. Classes are sorted
/// by falling frequency. (torch.nn.AdaptiveLogSoftmaxWithLoss)
struct AdaptiveLogSoftmaxWithLoss {
  /// The logarithm of the probability of each sample's class, [N] or [], and the mean of their negatives.
  struct Result {
    Tensor output, loss;
  };
  Linear head;
  std::vector<Sequential> tail;
  std::vector<int64_t> cutoffs;  // the last one is the number of classes
  AdaptiveLogSoftmaxWithLoss() = default;
  /// UserError unless cutoffs ascend from above 0 to below n_classes.
  AdaptiveLogSoftmaxWithLoss(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs,
                             const AdaptiveLogSoftmaxOptions& options = {}, SourceLocation at = SourceLocation::here());
  /// Inputs [N, features] and classes [N], or [features] and [].
  Result operator()(const Tensor& input, const Tensor& target, SourceLocation at = SourceLocation::here()) const;
  /// The logarithms of all classes' probabilities, [N, classes].
  Tensor log_prob(const Tensor& input, SourceLocation at = SourceLocation::here()) const;
  /// The class of the highest probability of each sample.
  Tensor predict(const Tensor& input, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("head", layer.head);
    member("tail", layer.tail);
    member("cutoffs", layer.cutoffs);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
