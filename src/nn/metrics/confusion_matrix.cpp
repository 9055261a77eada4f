#include <algorithm>
#include <numeric>
#include <string_view>

#include <fulgurite/error.h>
#include <fulgurite/metrics.h>

#include "nn/metrics/classes.h"
#include "support/text/text.h"

namespace fulgurite::metrics {

namespace {

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// The matrix of a whole set. Predicted classes are as many as the highest number needs, at least 2.
ConfusionMatrix matrix_of(std::string_view function, const Tensor& scores_or_classes, const Tensor& classes,
                          SourceLocation at) {
  const auto predicted = predicted_classes(function, scores_or_classes, at);
  const auto expected = true_classes(function, classes, predicted.size(), at);
  int64_t count = is_floating(scores_or_classes.dtype()) ? static_cast<int64_t>(scores_or_classes.size(1)) : 2;
  for (const auto* list : {&predicted, &expected})
    for (const int64_t number : *list) count = std::max(count, number + 1);
  ConfusionMatrix matrix(count, at);
  matrix.update(tensor(predicted), tensor(expected), at);
  return matrix;
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(int64_t classes, SourceLocation at) : classes_(classes) {
  if (classes < 1) throw UserError(text::cat("ConfusionMatrix: there are ", classes, " classes"), at);
  reset();
}

void ConfusionMatrix::update(const Tensor& scores_or_classes, const Tensor& classes, SourceLocation at) {
  const auto predicted = predicted_classes("ConfusionMatrix", scores_or_classes, at);
  const auto expected = true_classes("ConfusionMatrix", classes, predicted.size(), at);
  for (const auto* list : {&predicted, &expected})
    for (const int64_t number : *list)
      if (number < 0 || number >= classes_)
        throw UserError(text::cat("ConfusionMatrix: class ", number, " is out of range; there are ", classes_), at);
  for (size_t i = 0; i < predicted.size(); ++i) ++counts_[static_cast<size_t>(expected[i] * classes_ + predicted[i])];
}

Tensor ConfusionMatrix::matrix() const { return tensor(counts_).view({classes_, classes_}); }
int64_t ConfusionMatrix::samples() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }
void ConfusionMatrix::reset() { counts_.assign(static_cast<size_t>(classes_ * classes_), 0); }

int64_t ConfusionMatrix::sum_of_row(int64_t row) const {
  int64_t sum = 0;
  for (int64_t c = 0; c < classes_; ++c) sum += at(row, c);
  return sum;
}
int64_t ConfusionMatrix::sum_of_column(int64_t column) const {
  int64_t sum = 0;
  for (int64_t r = 0; r < classes_; ++r) sum += at(r, column);
  return sum;
}

double ConfusionMatrix::accuracy() const {
  int64_t right = 0;
  for (int64_t c = 0; c < classes_; ++c) right += at(c, c);
  return ratio(static_cast<double>(right), static_cast<double>(samples()));
}

std::vector<double> ConfusionMatrix::precision() const {
  std::vector<double> out;
  for (int64_t c = 0; c < classes_; ++c)
    out.push_back(ratio(static_cast<double>(at(c, c)), static_cast<double>(sum_of_column(c))));
  return out;
}
std::vector<double> ConfusionMatrix::recall() const {
  std::vector<double> out;
  for (int64_t c = 0; c < classes_; ++c)
    out.push_back(ratio(static_cast<double>(at(c, c)), static_cast<double>(sum_of_row(c))));
  return out;
}
std::vector<double> ConfusionMatrix::f1() const {
  std::vector<double> out;
  for (int64_t c = 0; c < classes_; ++c)
    out.push_back(ratio(2 * static_cast<double>(at(c, c)), static_cast<double>(sum_of_row(c) + sum_of_column(c))));
  return out;
}
std::vector<double> ConfusionMatrix::intersection_over_union() const {
  std::vector<double> out;
  for (int64_t c = 0; c < classes_; ++c)
    out.push_back(
        ratio(static_cast<double>(at(c, c)), static_cast<double>(sum_of_row(c) + sum_of_column(c) - at(c, c))));
  return out;
}

double ConfusionMatrix::mean_of(const std::vector<double>& values, Average average) const {
  if (average == Average::micro) return accuracy();
  if (average == Average::binary) {
    if (classes_ != 2)
      throw UserError(text::cat("metrics: Average::binary needs two classes, there are ", classes_), SourceLocation());
    return values[1];
  }
  double sum = 0, count = 0;
  for (int64_t c = 0; c < classes_; ++c) {
    if (sum_of_row(c) + sum_of_column(c) == 0) continue;
    sum += values[static_cast<size_t>(c)];
    ++count;
  }
  return ratio(sum, count);
}
double ConfusionMatrix::precision(Average average) const { return mean_of(precision(), average); }
double ConfusionMatrix::recall(Average average) const { return mean_of(recall(), average); }
double ConfusionMatrix::f1(Average average) const { return mean_of(f1(), average); }

double precision(const Tensor& scores_or_classes, const Tensor& classes, Average average, SourceLocation at) {
  return matrix_of("precision", scores_or_classes, classes, at).precision(average);
}
double recall(const Tensor& scores_or_classes, const Tensor& classes, Average average, SourceLocation at) {
  return matrix_of("recall", scores_or_classes, classes, at).recall(average);
}
double f1_score(const Tensor& scores_or_classes, const Tensor& classes, Average average, SourceLocation at) {
  return matrix_of("f1_score", scores_or_classes, classes, at).f1(average);
}

}  // namespace fulgurite::metrics
