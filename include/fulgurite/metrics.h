#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <vector>

#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::metrics {

// Measures of predictions. Functions take a whole set; classes collect batches: update() each, then value(). `scores`
// are floating [n, classes]; `predicted` and `classes` are integers [n]. None has a gradient.

/// The share of samples whose class has the highest score; of integers, the share of equal ones.
double accuracy(const Tensor& scores_or_classes, const Tensor& classes, SourceLocation at = SourceLocation::here());
/// The share of samples whose class is among the k highest scores. Throws UserError unless scores are [n, classes] with
/// at least k classes.
double top_k_accuracy(const Tensor& scores, const Tensor& classes, int64_t k,
                      SourceLocation at = SourceLocation::here());
/// The area under the curve of true positives over false positives: the share of pairs in which the sample of class 1
/// has the higher score, ties half. Throws UserError unless both classes occur.
double roc_auc(const Tensor& scores, const Tensor& is_positive, SourceLocation at = SourceLocation::here());
/// The mean of the squared, and of the absolute differences, in f64.
double mean_squared_error(const Tensor& predicted, const Tensor& target, SourceLocation at = SourceLocation::here());
double mean_absolute_error(const Tensor& predicted, const Tensor& target, SourceLocation at = SourceLocation::here());
/// 1 - squared error / variance of the targets (the coefficient of determination).
double r2_score(const Tensor& predicted, const Tensor& target, SourceLocation at = SourceLocation::here());

/// A weighted mean of numbers: losses of batches with the batches' sizes as weights.
class Mean {
 public:
  void update(double value, double weight = 1) {
    sum_ += value * weight;
    weight_ += weight;
  }
  /// NaN before the first update.
  double value() const { return sum_ / weight_; }
  double weight() const { return weight_; }
  void reset() { *this = Mean(); }

 private:
  double sum_ = 0, weight_ = 0;
};

/// The exponential of the mean loss of a token.
class Perplexity {
 public:
  /// The mean loss of a batch, and its number of tokens.
  void update(double mean_loss, int64_t tokens) { mean_.update(mean_loss, static_cast<double>(tokens)); }
  double value() const;
  void reset() { mean_.reset(); }

 private:
  Mean mean_;
};

/// The share of samples whose class was predicted.
class Accuracy {
 public:
  void update(const Tensor& scores_or_classes, const Tensor& classes, SourceLocation at = SourceLocation::here());
  /// NaN before the first update.
  double value() const { return mean_.value(); }
  void reset() { mean_.reset(); }

 private:
  Mean mean_;
};

/// The weights of a mean over classes: equal ones for classes, equal ones for samples, or class 1 of two alone.
enum class Average { macro, micro, binary };
/// True positives over all predictions of a class, over all its samples, and the harmonic mean of both; 0 for a
/// division by 0. Batches are collected by ConfusionMatrix, which gives the numbers of each class too.
double precision(const Tensor& scores_or_classes, const Tensor& classes, Average average = Average::macro,
                 SourceLocation at = SourceLocation::here());
double recall(const Tensor& scores_or_classes, const Tensor& classes, Average average = Average::macro,
              SourceLocation at = SourceLocation::here());
double f1_score(const Tensor& scores_or_classes, const Tensor& classes, Average average = Average::macro,
                SourceLocation at = SourceLocation::here());

/// Counts of samples by their class (row) and the predicted class (column).
class ConfusionMatrix {
 public:
  /// Throws UserError unless there is at least one class.
  explicit ConfusionMatrix(int64_t classes, SourceLocation at = SourceLocation::here());
  /// Adds a batch: scores [n, classes] or predicted classes, and the classes. Throws UserError for a class out of
  /// range, and the matrix is unchanged.
  void update(const Tensor& scores_or_classes, const Tensor& classes, SourceLocation at = SourceLocation::here());
  /// i64 [classes, classes].
  Tensor matrix() const;
  int64_t samples() const;
  double accuracy() const;
  /// By class: true positives over all predictions of the class, over all its samples, and the harmonic mean of both;
  /// 0 for a division by 0.
  std::vector<double> precision() const;
  std::vector<double> recall() const;
  std::vector<double> f1() const;
  /// The mean over the classes that occur among samples or predictions; `micro` is the accuracy, `binary` the number
  /// of class 1, for a matrix of two classes.
  double precision(Average average) const;
  double recall(Average average) const;
  double f1(Average average) const;
  /// True positives over samples and predictions of the class together, by class (the Jaccard index).
  std::vector<double> intersection_over_union() const;
  void reset();

 private:
  int64_t at(int64_t row, int64_t column) const { return counts_[static_cast<size_t>(row * classes_ + column)]; }
  int64_t sum_of_row(int64_t row) const;
  int64_t sum_of_column(int64_t column) const;
  double mean_of(const std::vector<double>& values, Average average) const;
  int64_t classes_;
  std::vector<int64_t> counts_;
};

}  // namespace fulgurite::metrics
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
