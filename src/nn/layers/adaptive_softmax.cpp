#include <fulgurite/adaptive_softmax.h>

#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

void check_cutoffs(const std::vector<int64_t>& cutoffs, int64_t n_classes, SourceLocation at) {
  int64_t before = 0;
  for (const int64_t cutoff : cutoffs) {
    if (cutoff <= before || cutoff >= n_classes) before = n_classes;
    else before = cutoff;
  }
  if (cutoffs.empty() || before >= n_classes)
    throw UserError("AdaptiveLogSoftmaxWithLoss: the cutoffs ascend, from above 0 to below n_classes", at);
}

Tensor as_rows(const Tensor& input, int64_t features, SourceLocation at) {
  if (!input.defined() || input.ndim() < 1 || input.ndim() > 2 || input.size(-1) != features)
    throw UserError(text::cat("AdaptiveLogSoftmaxWithLoss: the input is [N, ", features, "] or [", features, "], not ",
                              input.defined() ? type_text(input) : "undefined"),
                    at);
  return input.ndim() == 1 ? unsqueeze(input, 0, at) : input;
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(int64_t in_features, int64_t n_classes,
                                                       std::vector<int64_t> given,
                                                       const AdaptiveLogSoftmaxOptions& options, SourceLocation at)
    : cutoffs(std::move(given)) {
  check_cutoffs(cutoffs, n_classes, at);
  const int64_t clusters = static_cast<int64_t>(cutoffs.size());
  cutoffs.push_back(n_classes);
  head = Linear(in_features, cutoffs[0] + clusters, {.bias = options.head_bias, .dtype = options.dtype});
  for (int64_t i = 0; i < clusters; ++i) {
    const auto width = static_cast<int64_t>(static_cast<double>(in_features) /
                                            std::pow(options.div_value, static_cast<double>(i + 1)));
    const int64_t classes = cutoffs[static_cast<size_t>(i) + 1] - cutoffs[static_cast<size_t>(i)];
    if (width < 1)
      throw UserError(text::cat("AdaptiveLogSoftmaxWithLoss: div_value leaves no feature for the cluster ", i), at);
    const Linear narrow_features(in_features, width, {.bias = false, .dtype = options.dtype});
    const Linear scores(width, classes, {.bias = false, .dtype = options.dtype});
    tail.emplace_back(Sequential(narrow_features, scores));
  }
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& input, SourceLocation at) const {
  const Tensor rows = as_rows(input, head.weight.size(1), at);
  const Tensor first = log_softmax(head(rows, at), 1, {}, at);
  std::vector<Tensor> parts{narrow(first, 1, 0, cutoffs[0], at)};
  for (size_t i = 0; i < tail.size(); ++i) {
    const Tensor within = log_softmax(tail[i](rows, at), 1, {}, at);
    const Tensor cluster = narrow(first, 1, cutoffs[0] + static_cast<int64_t>(i), 1, at);
    parts.push_back(add(within, cluster, 1, at));
  }
  return cat(parts, 1, at);
}

AdaptiveLogSoftmaxWithLoss::Result AdaptiveLogSoftmaxWithLoss::operator()(const Tensor& input, const Tensor& target,
                                                                          SourceLocation at) const {
  const Tensor all = log_prob(input, at);
  if (!target.defined() || target.ndim() != input.ndim() - 1 || !is_integer(target.dtype()))
    throw UserError(
        text::cat("AdaptiveLogSoftmaxWithLoss: the classes of ", type_text(input), " are integers [",
                  input.ndim() == 1 ? "" : "N", "], not ", target.defined() ? type_text(target) : "undefined"),
        at);
  const Tensor column = reshape(target.to(Dtype::i64, at), {-1, 1}, at);
  const Tensor chosen = squeeze(gather(all, 1, column, at), {1}, at);
  const Tensor output = input.ndim() == 1 ? squeeze(chosen, {0}, at) : chosen;
  return {output, neg(mean(chosen, {}, false, {}, at), at)};
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& input, SourceLocation at) const {
  const Tensor classes = argmax(log_prob(input, at), 1, false, at);
  return input.ndim() == 1 ? squeeze(classes, {0}, at) : classes;
}

}  // namespace fulgurite::nn
