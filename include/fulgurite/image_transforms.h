#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstdint>
#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include <fulgurite/generator.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data::transforms {

// Changes of images before training (torchvision.transforms): floating tensors [channels, rows, columns], or batches
// [..., channels, rows, columns], which change alike. Each is a function of an image and a generator, which a loader
// passes: `Compose({RandomCrop({32, 32}, {.padding = 4}), RandomHorizontalFlip(), Normalize({0.5}, {0.25})})`. Without
// a generator they draw from the one that manual_seed() seeds.

/// A change of an image: a function of the image and a generator, or of the image alone.
class Transform {
 public:
  template <std::invocable<const Tensor&, Generator&> F>
  Transform(F function) : function_(std::move(function)) {}
  template <std::invocable<const Tensor&> F>
  requires(!std::invocable<F, const Tensor&, Generator&>) Transform(F function)
      : function_([function = std::move(function)](const Tensor& image, Generator&) { return function(image); }) {}
  Tensor operator()(const Tensor& image, Generator& generator) const { return function_(image, generator); }

 private:
  std::function<Tensor(const Tensor& image, Generator& generator)> function_;
};

namespace transform_detail {
/// Functions of an image and a generator, callable without a generator.
template <class Self>
struct Callable {
  Tensor operator()(const Tensor& image) const {
    Generator generator = default_generator();
    return static_cast<const Self&>(*this)(image, generator);
  }
};
}  // namespace transform_detail

/// Several changes, one after the other.
class Compose : public transform_detail::Callable<Compose> {
 public:
  Compose(std::vector<Transform> transforms) : transforms_(std::move(transforms)) {}
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::vector<Transform> transforms_;
};

/// (image - mean) / std, with a number for each channel or one for all.
class Normalize : public transform_detail::Callable<Normalize> {
 public:
  /// UserError for a std that is not above 0.
  Normalize(std::vector<double> mean, std::vector<double> std, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::vector<double> mean_, std_;
};

/// Another size, {rows, columns}, by linear interpolation with anti-aliasing.
class Resize : public transform_detail::Callable<Resize> {
 public:
  explicit Resize(std::array<int64_t, 2> size, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::array<int64_t, 2> size_;
};

/// The middle of an image, of size {rows, columns}; zeros around a smaller one.
class CenterCrop : public transform_detail::Callable<CenterCrop> {
 public:
  explicit CenterCrop(std::array<int64_t, 2> size, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::array<int64_t, 2> size_;
};

/// Members are given in this order.
struct RandomCropOptions {
  int64_t padding = 0;  // zeros on each side before
};

/// A part of an image at a random place, of size {rows, columns}.
class RandomCrop : public transform_detail::Callable<RandomCrop> {
 public:
  explicit RandomCrop(std::array<int64_t, 2> size, const RandomCropOptions& options = {},
                      SourceLocation at = SourceLocation::here());
  using Callable::operator();
  /// UserError for an image that is smaller.
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  std::array<int64_t, 2> size_;
  int64_t padding_;
};

/// Members are given in this order.
struct RandomResizedCropOptions {
  std::array<double, 2> scale = {0.08, 1};        // of the image's area
  std::array<double, 2> ratio = {0.75, 4.0 / 3};  // columns to rows
};

/// A part of random size, shape and place, resized to {rows, columns}.
class RandomResizedCrop : public transform_detail::Callable<RandomResizedCrop> {
 public:
  explicit RandomResizedCrop(std::array<int64_t, 2> size, const RandomResizedCropOptions& options = {},
                             SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  Resize resize_;
  RandomResizedCropOptions options_;
};

/// The image with left and right exchanged, with probability p.
class RandomHorizontalFlip : public transform_detail::Callable<RandomHorizontalFlip> {
 public:
  explicit RandomHorizontalFlip(double p = 0.5, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  double p_;
};

/// The image with top and bottom exchanged, with probability p.
class RandomVerticalFlip : public transform_detail::Callable<RandomVerticalFlip> {
 public:
  explicit RandomVerticalFlip(double p = 0.5, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  double p_;
};

/// Members are given in this order; each is the largest change, 0.2 for factors from 0.8 to 1.2.
struct ColorJitterOptions {
  double brightness = 0, contrast = 0, saturation = 0;
};

/// Random brightness, contrast and saturation of images from 0 to 1 with three channels.
class ColorJitter : public transform_detail::Callable<ColorJitter> {
 public:
  explicit ColorJitter(const ColorJitterOptions& options, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  ColorJitterOptions options_;
};

/// Brightness of three channels as one channel, or as three equal ones: 0.299 red + 0.587 green + 0.114 blue.
class Grayscale : public transform_detail::Callable<Grayscale> {
 public:
  explicit Grayscale(int64_t channels = 1, SourceLocation at = SourceLocation::here());
  using Callable::operator();
  Tensor operator()(const Tensor& image, Generator& generator) const;

 private:
  int64_t channels_;
};

}  // namespace fulgurite::data::transforms
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
