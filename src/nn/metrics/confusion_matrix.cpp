#include <numeric>

#include <fulgurite/error.h>
#include <fulgurite/metrics.h>

#include "nn/metrics/classes.h"
#include "support/text/text.h"

namespace fulgurite::metrics {

namespace {

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

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

}  // namespace fulgurite::metrics
