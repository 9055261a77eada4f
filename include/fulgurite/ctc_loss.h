#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string>
#include <vector>
#include <utility>

#include <fulgurite/detail/given.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Options of ctc_loss and CTCLoss; members are given in this order.
struct CTCLossOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t blank = 0;               // the label that stands for no symbol
  std::string reduction = "mean";  // of the losses divided by the target lengths; "sum" or "none"
  bool zero_infinity = false;      // targets longer than their input give 0, not infinity
};
/// The negative log-likelihood of targets under all their alignments (Graves et al. 2006). log_probs [steps, batch,
/// labels] or [steps, labels], results of log_softmax; targets i64 [batch, length], or one behind the other in a
/// vector; lengths i64 [batch] or []. The gradient of log_probs is PyTorch's, exp(log_probs) minus the labels'
/// posteriors: through log_softmax it is that of the loss. In a traced function targets in a vector cause a graph
/// break, as item() does. Throws UserError for other shapes and lengths. (torch.nn.functional.ctc_loss)
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossOptions& options = {},
                SourceLocation at = SourceLocation::here());
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const std::vector<int64_t>& input_lengths,
                const std::vector<int64_t>& target_lengths, const CTCLossOptions& options = {},
                SourceLocation at = SourceLocation::here());

/// ctc_loss as a layer.
struct CTCLoss {
  CTCLossOptions options;
  CTCLoss() = default;
  CTCLoss(CTCLossOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths, SourceLocation at = SourceLocation::here()) const;
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const std::vector<int64_t>& input_lengths,
                    const std::vector<int64_t>& target_lengths, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("blank", layer.options.blank);
    member("reduction", layer.options.reduction);
    member("zero_infinity", layer.options.zero_infinity);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
