#include <algorithm>
#include <cmath>
#include <numeric>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/metrics.h>
#include <fulgurite/operators.h>

#include "nn/metrics/classes.h"
#include "support/text/text.h"

namespace fulgurite::metrics {

namespace {

Tensor wide(const Tensor& x) { return x.detach().to(Dtype::f64); }

void check_same_shape(std::string_view function, const Tensor& predicted, const Tensor& target, SourceLocation at) {
  if (!(predicted.shape() == target.shape()))
    throw UserError(text::cat(function, ": predictions ", predicted.shape(), ", targets ", target.shape(),
                              "; the shapes must be equal"),
                    at);
}

std::vector<double> numbers_of(const Tensor& x) { return wide(x).contiguous().to_vector<double>(); }

}  // namespace

std::vector<int64_t> predicted_classes(std::string_view function, const Tensor& given, SourceLocation at) {
  const NoGrad no_grad;
  Tensor classes = given.detach();
  if (is_floating(given.dtype())) {
    if (given.ndim() != 2)
      throw UserError(text::cat(function, ": floating scores must be [n, classes], got ", given.shape()), at);
    classes = argmax(given.detach(), 1);
  }
  if (classes.ndim() != 1)
    throw UserError(text::cat(function, ": predicted classes must have one dimension, got ", given.shape()), at);
  return classes.to(Dtype::i64).contiguous().to_vector<int64_t>();
}

std::vector<int64_t> true_classes(std::string_view function, const Tensor& classes, size_t count, SourceLocation at) {
  if (is_floating(classes.dtype()) || classes.ndim() != 1 || static_cast<size_t>(int64_t(classes.numel())) != count)
    throw UserError(
        text::cat(function, ": classes must be integers [", count, "], got ", classes.dtype(), " ", classes.shape()),
        at);
  return classes.to(Dtype::i64).contiguous().to_vector<int64_t>();
}

double accuracy(const Tensor& scores_or_classes, const Tensor& classes, SourceLocation at) {
  const auto predicted = predicted_classes("accuracy", scores_or_classes, at);
  const auto expected = true_classes("accuracy", classes, predicted.size(), at);
  const auto equal = std::inner_product(predicted.begin(), predicted.end(), expected.begin(), int64_t{0}, std::plus<>(),
                                        std::equal_to<>());
  return static_cast<double>(equal) / static_cast<double>(predicted.size());
}

void Accuracy::update(const Tensor& scores_or_classes, const Tensor& classes, SourceLocation at) {
  const int64_t samples = classes.numel();
  if (samples != 0) mean_.update(accuracy(scores_or_classes, classes, at), static_cast<double>(samples));
}

double top_k_accuracy(const Tensor& scores, const Tensor& classes, int64_t k, SourceLocation at) {
  if (scores.ndim() != 2 || k < 1 || k > scores.size(1))
    throw UserError(text::cat("top_k_accuracy: k is ", k, ", scores are ", scores.shape(),
                              "; they must be [n, classes] with at least k classes"),
                    at);
  const NoGrad no_grad;
  const auto rows = static_cast<size_t>(int64_t(scores.size(0)));
  const auto expected = true_classes("top_k_accuracy", classes, rows, at);
  const auto best = std::get<1>(topk(scores.detach(), k)).contiguous().to_vector<int64_t>();
  int64_t found = 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto first = best.begin() + static_cast<int64_t>(i) * k;
    found += std::find(first, first + k, expected[i]) != first + k;
  }
  return static_cast<double>(found) / static_cast<double>(rows);
}

double roc_auc(const Tensor& scores, const Tensor& is_positive, SourceLocation at) {
  check_same_shape("roc_auc", scores, is_positive, at);
  const std::vector<double> values = numbers_of(scores), labels = numbers_of(is_positive);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  double positives = 0, negatives = 0, pairs = 0;
  for (size_t i = 0; i < order.size();) {
    double equal_positives = 0, equal_negatives = 0;
    const double value = values[order[i]];
    for (; i < order.size() && values[order[i]] == value; ++i)
      (labels[order[i]] != 0 ? equal_positives : equal_negatives) += 1;
    pairs += equal_positives * (negatives + equal_negatives / 2);
    positives += equal_positives;
    negatives += equal_negatives;
  }
  if (positives == 0 || negatives == 0)
    throw UserError("roc_auc: there must be samples of both classes, and no NaN among the scores", at);
  return pairs / (positives * negatives);
}

double mean_squared_error(const Tensor& predicted, const Tensor& target, SourceLocation at) {
  check_same_shape("mean_squared_error", predicted, target, at);
  return mean(square(wide(predicted) - wide(target))).item<double>();
}

double mean_absolute_error(const Tensor& predicted, const Tensor& target, SourceLocation at) {
  check_same_shape("mean_absolute_error", predicted, target, at);
  return mean(abs(wide(predicted) - wide(target))).item<double>();
}

double r2_score(const Tensor& predicted, const Tensor& target, SourceLocation at) {
  check_same_shape("r2_score", predicted, target, at);
  const Tensor truth = wide(target);
  const double error = sum(square(wide(predicted) - truth)).item<double>();
  return 1 - error / sum(square(truth - mean(truth))).item<double>();
}

double Perplexity::value() const { return std::exp(mean_.value()); }

}  // namespace fulgurite::metrics
