#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

// Comparisons of distributions with numbers of torch.distributions in f64.

namespace fulgurite::distributions {

struct Expected {
  std::vector<double> log_prob, mean, variance, entropy, cdf, icdf;
};

inline Tensor row(const std::vector<double>& numbers) { return tensor(numbers); }
inline const std::vector<double> shares{0.1, 0.5, 0.95};

inline void expect_close(const Tensor& actual, const std::vector<double>& expected,
                         SourceLocation at = SourceLocation::here()) {
  const std::vector<double> numbers = actual.contiguous().to_vector<double>();
  if (!expect_equal(numbers.size(), expected.size(), at)) return;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isinf(expected[i])) expect_equal(numbers[i], expected[i], at);
    else expect_near(numbers[i], expected[i], 1e-12, at);
}

inline void expect_close_if_any(const std::function<Tensor()>& actual, const std::vector<double>& expected,
                                const std::string& name, SourceLocation at) {
  if (expected.empty()) expect_error([&] { actual(); }, "has no " + name + "()", at);
  else expect_close(actual(), expected, at);
}

inline void check(const char* name, const Distribution& d, const std::vector<double>& values, const Expected& expected,
                  SourceLocation at = SourceLocation::here()) {
  expect(d.batch_shape() == Shape{3} && d.event_shape().empty(), name, at);
  expect_close(d.log_prob(row(values)), expected.log_prob, at);
  expect_close(d.mean(), expected.mean, at);
  expect_close(d.variance(), expected.variance, at);
  expect_close_if_any([&] { return d.entropy(); }, expected.entropy, "entropy", at);
  expect_close_if_any([&] { return d.cdf(row(values)); }, expected.cdf, "cdf", at);
  expect_close_if_any([&] { return d.icdf(row(shares)); }, expected.icdf, "icdf", at);
}

/// The moments of many draws are those of the distribution, within six standard errors.
inline void check_draws(const Distribution& d, double tolerance = 6, SourceLocation at = SourceLocation::here()) {
  const int64_t count = 40000;
  const Generator g(11);
  const Tensor drawn = d.sample({count}, g, at);
  expect(!drawn.requires_grad(), "draws have no history", at);
  expect(drawn.dtype() == d.dtype(), "the dtype is that of the parameters", at);
  const Tensor centred = sub(drawn, d.mean());
  const std::vector<double> means = mean(centred, 0).to(Dtype::f64).contiguous().to_vector<double>();
  const std::vector<double> squares = mean(square(centred), 0).to(Dtype::f64).contiguous().to_vector<double>();
  const std::vector<double> fourth = mean(pow(centred, 4), 0).to(Dtype::f64).contiguous().to_vector<double>();
  const std::vector<double> variance = d.variance().to(Dtype::f64).contiguous().to_vector<double>();
  for (size_t i = 0; i < means.size(); ++i) {
    expect(std::abs(means[i]) < tolerance * std::sqrt(variance[i] / count) + 1e-12,
           "the mean of element " + std::to_string(i) + " is off by " + std::to_string(means[i]), at);
    const double error = std::sqrt(std::max(fourth[i] - variance[i] * variance[i], 1e-12) / count);
    expect(std::abs(squares[i] - variance[i]) < tolerance * error + 1e-12,
           "the variance of element " + std::to_string(i) + " is " + std::to_string(squares[i]), at);
  }
}

inline const Tensor a = row({0.5, -1.2, 2.0}), s = row({0.7, 1.5, 0.2}), p = row({0.3, 0.6, 0.9}), q = row(shares),
                    b = row({2.5, 0.4, 1.3}), c = row({0.6, 3.0, 1.1});
inline const Tensor m = row({0.2, 0.5, 0.3, 0.1, 0.1, 0.8}).reshape({2, 3}),
                    n = row({0.4, 0.4, 0.2, 0.3, 0.6, 0.1}).reshape({2, 3});
inline const Tensor lower = row({1.0, 0.0, 0.5, 0.8}).reshape({2, 2}),
                    lower2 = row({0.7, 0.0, -0.2, 1.1}).reshape({2, 2});
inline const Tensor mu = row({0.3, -0.4}), mu2 = row({-0.1, 0.2});

}  // namespace fulgurite::distributions
