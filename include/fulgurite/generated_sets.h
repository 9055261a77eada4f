#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <utility>

#include <fulgurite/random.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data {

// Small sets of points for examples and tests (sklearn.datasets): features f32 [n, 2 or more], and classes i64 [n] or
// targets f32 [n, 1]. Samples are in random order.

/// Members are given in this order.
struct GeneratedOptions {
  double noise = 0.1;  // the standard deviation of normal numbers that are added
  GeneratorOption generator = {};
};

/// Two half circles that interleave.
std::pair<Tensor, Tensor> make_moons(int64_t n, const GeneratedOptions& options = {},
                                     SourceLocation at = SourceLocation::here());
/// A circle of radius 0.5 inside one of radius 1.
std::pair<Tensor, Tensor> make_circles(int64_t n, const GeneratedOptions& options = {},
                                       SourceLocation at = SourceLocation::here());
/// Two spirals that wind around each other one and a half times, within radius 1.
std::pair<Tensor, Tensor> make_spirals(int64_t n, const GeneratedOptions& options = {},
                                       SourceLocation at = SourceLocation::here());

/// Members are given in this order.
struct BlobsOptions {
  int64_t classes = 3;
  int64_t features = 2;
  double spread = 1;   // the standard deviation around a centre
  double extent = 10;  // centres are drawn from -extent to extent
  GeneratorOption generator = {};
};
/// Normal points around random centres.
std::pair<Tensor, Tensor> make_blobs(int64_t n, const BlobsOptions& options = {},
                                     SourceLocation at = SourceLocation::here());

/// Members are given in this order.
struct RegressionOptions {
  int64_t features = 10;
  double noise = 0.1;
  GeneratorOption generator = {};
};
/// Normal features, and a random linear function of them.
std::pair<Tensor, Tensor> make_regression(int64_t n, const RegressionOptions& options = {},
                                          SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::data
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
