#include <fulgurite/further_image_transforms.h>

#include <cmath>
#include <numbers>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "data/image_checks.h"
#include "support/text/text.h"

namespace fulgurite::data::transforms {

namespace {

void check_range(const std::array<double, 2>& range, double low, const char* name, SourceLocation at) {
  if (!(range[0] > low && range[0] <= range[1]))
    throw UserError(text::cat(name, ": a range ascends from above ", low, ", not ", range[0], " to ", range[1]), at);
}

// One image, or a batch of them, as [images, channels, rows, columns].
Tensor as_batch(const Tensor& image) {
  return reshape(image, {Int(-1), image.size(-3), image.size(-2), image.size(-1)});
}

}  // namespace

Pad::Pad(std::array<int64_t, 4> padding, const PadOptions& options, SourceLocation at)
    : padding_(padding), options_(options) {
  for (const int64_t size : padding)
    if (size < 0) throw UserError(text::cat("Pad: a number of rows or columns is negative: ", size), at);
}
Pad::Pad(int64_t padding, const PadOptions& options, SourceLocation at)
    : Pad(std::array<int64_t, 4>{padding, padding, padding, padding}, options, at) {}
Tensor Pad::operator()(const Tensor& image, Generator&) const {
  check_image(image, "Pad");
  const Tensor padded =
      nn::pad(as_batch(image), {padding_[0], padding_[2], padding_[1], padding_[3]}, options_.mode, options_.fill);
  Shape shape = image.shape();
  shape[shape.size() - 2] = padded.size(-2);
  shape[shape.size() - 1] = padded.size(-1);
  return reshape(padded, Dims(shape));
}

RandomRotation::RandomRotation(std::array<double, 2> degrees, SourceLocation at) : degrees_(degrees) {
  if (!(degrees[0] <= degrees[1]))
    throw UserError(text::cat("RandomRotation: angles ascend, not ", degrees[0], " to ", degrees[1]), at);
}
RandomRotation::RandomRotation(double degrees, SourceLocation at)
    : RandomRotation(std::array<double, 2>{-degrees, degrees}, at) {}
Tensor RandomRotation::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomRotation");
  const double angle = drawn_between(degrees_[0], degrees_[1], generator) * std::numbers::pi / 180;
  const double rows = static_cast<double>(image.size(-2).hint()), columns = static_cast<double>(image.size(-1).hint());
  const std::vector<double> matrix = {
      std::cos(angle), -std::sin(angle) * rows / columns, 0, std::sin(angle) * columns / rows, std::cos(angle), 0};
  const Tensor batch = as_batch(image);
  const Tensor theta = tensor(matrix, {.dtype = image.dtype()}).reshape({1, 2, 3});
  const Tensor grid = nn::affine_grid(expand(theta, {batch.size(0), 2, 3}), Dims(batch.shape()), false);
  return reshape(nn::grid_sample(batch, grid, "nearest", "zeros", false), Dims(image.shape()));
}

RandomErasing::RandomErasing(const RandomErasingOptions& options, SourceLocation at) : options_(options) {
  check_share(options.p, "RandomErasing", at);
  check_range(options.scale, 0, "RandomErasing", at);
  check_range(options.ratio, 0, "RandomErasing", at);
}
Tensor RandomErasing::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomErasing");
  if (drawn(generator) >= options_.p) return image;
  const int64_t rows = image.size(-2).hint(), columns = image.size(-1).hint();
  constexpr int attempts = 10;
  for (int i = 0; i < attempts; ++i) {
    const double area =
        static_cast<double>(rows * columns) * drawn_between(options_.scale[0], options_.scale[1], generator);
    const double ratio = std::exp(drawn_between(std::log(options_.ratio[0]), std::log(options_.ratio[1]), generator));
    const auto height = static_cast<int64_t>(std::llround(std::sqrt(area * ratio)));
    const auto width = static_cast<int64_t>(std::llround(std::sqrt(area / ratio)));
    if (height < 1 || width < 1 || height >= rows || width >= columns) continue;
    const int64_t row = drawn_place(rows - height, generator), column = drawn_place(columns - width, generator);
    Tensor out = image.clone();
    narrow(narrow(out, -2, row, height), -1, column, width).fill_(options_.value);
    return out;
  }
  return image;
}

GaussianBlur::GaussianBlur(int64_t kernel_size, std::array<double, 2> sigma, SourceLocation at)
    : kernel_size_(kernel_size), sigma_(sigma) {
  if (kernel_size < 1 || kernel_size % 2 == 0)
    throw UserError(text::cat("GaussianBlur: the size of the kernel is odd, not ", kernel_size), at);
  check_range(sigma, 0, "GaussianBlur", at);
}
Tensor GaussianBlur::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "GaussianBlur");
  const double sigma = drawn_between(sigma_[0], sigma_[1], generator);
  const int64_t reach = kernel_size_ / 2;
  std::vector<double> weights;
  double total = 0;
  for (int64_t i = -reach; i <= reach; ++i) {
    weights.push_back(std::exp(-0.5 * static_cast<double>(i * i) / (sigma * sigma)));
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  const Tensor kernel = tensor(weights, {.dtype = image.dtype()});
  const Tensor planes = reshape(image, {Int(-1), Int(1), image.size(-2), image.size(-1)});
  const Tensor padded = nn::pad(planes, {reach, reach, reach, reach}, "reflect");
  const Tensor down = nn::conv2d(padded, kernel.reshape({1, 1, -1, 1}));
  const Tensor across = nn::conv2d(down, kernel.reshape({1, 1, 1, -1}));
  return reshape(across, Dims(image.shape()));
}

RandomGrayscale::RandomGrayscale(double p, SourceLocation at) : p_(p) { check_share(p, "RandomGrayscale", at); }
Tensor RandomGrayscale::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomGrayscale");
  return drawn(generator) < p_ ? Grayscale(3)(image, generator) : image;
}

RandomApply::RandomApply(std::vector<Transform> transforms, double p, SourceLocation at)
    : transforms_(std::move(transforms)), p_(p) {
  check_share(p, "RandomApply", at);
}
Tensor RandomApply::operator()(const Tensor& image, Generator& generator) const {
  return drawn(generator) < p_ ? transforms_(image, generator) : image;
}

}  // namespace fulgurite::data::transforms
