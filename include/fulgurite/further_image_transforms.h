#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstdint>
#include <vector>

#include <fulgurite/generator.h>
#include <fulgurite/image_transforms.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data::transforms {

/// Members are given in this order.
struct PadOptions {
  double fill = 0;                // of "constant"
  const char* mode = "constant";  // or "reflect", "replicate", "circular"
};
/// Rows and columns around an image: {left, top, right, bottom}.
class Pad : public transform_detail::Callable<Pad> {
 public:
  /// UserError for a negative number.
  explicit Pad(std::array<int64_t, 4> padding, const PadOptions& options = {},
               SourceLocation at = SourceLocation::here());
  explicit Pad(int64_t padding, const PadOptions& options = {}, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::array<int64_t, 4> padding_;
  PadOptions options_;
};

/// Rotates by a random angle between two, in degrees, counterclockwise around the middle: to the nearest pixel, zeros
/// from outside.
class RandomRotation : public transform_detail::Callable<RandomRotation> {
 public:
  /// UserError unless the angles ascend.
  explicit RandomRotation(std::array<double, 2> degrees, SourceLocation at = SourceLocation::here());
  /// From -degrees to degrees.
  explicit RandomRotation(double degrees, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::array<double, 2> degrees_;
};

/// Members are given in this order.
struct RandomErasingOptions {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};  // of the image's area
  std::array<double, 2> ratio = {0.3, 3.3};    // rows to columns
  double value = 0;
};
/// A rectangle of random size, shape and place replaced by a value, with probability p.
class RandomErasing : public transform_detail::Callable<RandomErasing> {
 public:
  /// UserError for a p outside of 0 to 1, and for ranges that do not ascend or are not above 0.
  explicit RandomErasing(const RandomErasingOptions& options = {}, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  RandomErasingOptions options_;
};

/// A blurred image: the weights of neighbours are those of a normal distribution, of a random standard deviation in
/// pixels between two; edges are reflected.
class GaussianBlur : public transform_detail::Callable<GaussianBlur> {
 public:
  /// UserError for an even size of the kernel, and unless the deviations ascend and are above 0.
  explicit GaussianBlur(int64_t kernel_size, std::array<double, 2> sigma = {0.1, 2.0},
                        SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  int64_t kernel_size_;
  std::array<double, 2> sigma_;
};

/// Grayscale of as many channels as the image has, with probability p.
class RandomGrayscale : public transform_detail::Callable<RandomGrayscale> {
 public:
  explicit RandomGrayscale(double p = 0.1, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  double p_;
};

/// Other changes, all or none, with probability p.
class RandomApply : public transform_detail::Callable<RandomApply> {
 public:
  explicit RandomApply(std::vector<Transform> transforms, double p = 0.5, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  Compose transforms_;
  double p_;
};

}  // namespace fulgurite::data::transforms
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
