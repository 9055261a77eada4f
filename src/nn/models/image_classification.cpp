#include <fulgurite/error.h>
#include <fulgurite/models/image_classification.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

std::string_view problem_of(const Tensor& logits, const Tensor& labels) {
  if (logits.size(1) == 1) return "regression";
  return is_floating(labels.dtype()) ? "multi_label_classification" : "single_label_classification";
}

}  // namespace

Tensor image_classification_loss(const Tensor& logits, const Tensor& labels, std::string_view problem_type) {
  const std::string_view problem = problem_type.empty() ? problem_of(logits, labels) : problem_type;
  if (problem == "single_label_classification") return nn::cross_entropy(logits, labels);
  const Tensor targets = labels.to(logits.dtype());
  if (problem == "multi_label_classification") return nn::binary_cross_entropy_with_logits(logits, targets);
  if (problem == "regression") return nn::mse_loss(logits, reshape(targets, logits.shape()));
  throw UserError(text::cat("the problem type \"", problem,
                            "\" is not supported; there are single_label_classification, multi_label_classification "
                            "and regression"));
}

}  // namespace fulgurite::models
