#include <fulgurite/image_transforms.h>

#include <algorithm>
#include <cmath>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/random.h>

#include "data/image_checks.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::data::transforms {

void check_image(const Tensor& image, const char* name) {
  if (!image.defined() || image.ndim() < 3 || !is_floating(image.dtype()))
    throw UserError(text::cat(name, ": an image is a floating tensor [channels, rows, columns], not ",
                              image.defined() ? type_text(image) : "undefined"));
}
void check_share(double p, const char* name, SourceLocation at) {
  if (!(p >= 0 && p <= 1)) throw UserError(text::cat(name, ": p is from 0 to 1, not ", p), at);
}

double drawn(Generator& generator) { return rand({}, {.dtype = Dtype::f64, .generator = generator}).item<double>(); }
double drawn_between(double low, double high, Generator& generator) { return low + (high - low) * drawn(generator); }
int64_t drawn_place(int64_t most, Generator& generator) {
  return std::min<int64_t>(static_cast<int64_t>(drawn(generator) * static_cast<double>(most + 1)), most);
}

namespace {

void check_size(const std::array<int64_t, 2>& size, const char* name, SourceLocation at) {
  if (size[0] < 1 || size[1] < 1)
    throw UserError(text::cat(name, ": rows and columns must be at least 1, not ", size[0], " and ", size[1]), at);
}
struct Box {
  int64_t row, column, rows, columns;
};
Tensor cut(const Tensor& image, const Box& box) {
  return narrow(narrow(image, -2, box.row, box.rows), -1, box.column, box.columns);
}
Tensor padded(const Tensor& image, int64_t left, int64_t right, int64_t top, int64_t bottom) {
  return nn::pad(image, {left, right, top, bottom});
}

// Numbers for channels, shaped to broadcast with an image.
Tensor per_channel(const std::vector<double>& numbers, const Tensor& image, const char* name) {
  if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != image.size(-3))
    throw UserError(text::cat(name, ": ", numbers.size(), " numbers for ", image.size(-3), " channels"));
  return tensor(numbers, {.dtype = image.dtype()}).reshape({-1, 1, 1});
}

Tensor brightness_of(const Tensor& image, const char* name) {
  if (image.size(-3) != 3) throw UserError(text::cat(name, ": an image has 3 channels, not ", image.size(-3)));
  const Tensor weights = tensor(std::vector<double>{0.2989, 0.587, 0.114}, {.dtype = image.dtype()}).reshape({3, 1, 1});
  return sum(mul(image, weights), {-3}, true);
}

// Between another image and this one, or beyond it.
Tensor blended(const Tensor& image, const Tensor& other, double share) {
  return clamp(add(mul(image, share), other, 1 - share), 0.0, 1.0);
}

}  // namespace

Tensor Compose::operator()(const Tensor& image, Generator& generator) const {
  Tensor out = image;
  for (const Transform& transform : transforms_) out = transform(out, generator);
  return out;
}

Normalize::Normalize(std::vector<double> mean, std::vector<double> std, SourceLocation at)
    : mean_(std::move(mean)), std_(std::move(std)) {
  if (mean_.empty() || std_.empty() || std::any_of(std_.begin(), std_.end(), [](double x) { return !(x > 0); }))
    throw UserError("Normalize: there are a mean and a std above 0 for each channel, or one of each", at);
}
Tensor Normalize::operator()(const Tensor& image, Generator&) const {
  check_image(image, "Normalize");
  const Tensor centred = sub(image, per_channel(mean_, image, "Normalize"));
  return div(centred, per_channel(std_, image, "Normalize"));
}

Resize::Resize(std::array<int64_t, 2> size, SourceLocation at) : size_(size) { check_size(size, "Resize", at); }
Tensor Resize::operator()(const Tensor& image, Generator&) const {
  check_image(image, "Resize");
  const Tensor batch = image.ndim() == 3 ? unsqueeze(image, 0) : image;
  const Tensor resized = nn::interpolate(batch, {size_[0], size_[1]}, {}, "bilinear", false, {}, true);
  return image.ndim() == 3 ? squeeze(resized, 0) : resized;
}

CenterCrop::CenterCrop(std::array<int64_t, 2> size, SourceLocation at) : size_(size) {
  check_size(size, "CenterCrop", at);
}
Tensor CenterCrop::operator()(const Tensor& image, Generator&) const {
  check_image(image, "CenterCrop");
  const int64_t more_rows = std::max<int64_t>(size_[0] - image.size(-2), 0);
  const int64_t more_columns = std::max<int64_t>(size_[1] - image.size(-1), 0);
  const Tensor whole = padded(image, more_columns / 2, (more_columns + 1) / 2, more_rows / 2, (more_rows + 1) / 2);
  const auto middle = [](int64_t size, int64_t part) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(size - part) / 2));
  };
  return cut(whole, {middle(whole.size(-2), size_[0]), middle(whole.size(-1), size_[1]), size_[0], size_[1]});
}

RandomCrop::RandomCrop(std::array<int64_t, 2> size, const RandomCropOptions& options, SourceLocation at)
    : size_(size), padding_(options.padding) {
  check_size(size, "RandomCrop", at);
  if (padding_ < 0) throw UserError(text::cat("RandomCrop: padding must not be negative: ", padding_), at);
}
Tensor RandomCrop::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomCrop");
  const Tensor whole = padding_ == 0 ? image : padded(image, padding_, padding_, padding_, padding_);
  if (whole.size(-2) < size_[0] || whole.size(-1) < size_[1])
    throw UserError(text::cat("RandomCrop: a part of ", size_[0], " x ", size_[1], " of an image of ", whole.size(-2),
                              " x ", whole.size(-1), "; give more padding"));
  const int64_t row = drawn_place(whole.size(-2) - size_[0], generator);
  const int64_t column = drawn_place(whole.size(-1) - size_[1], generator);
  return cut(whole, {row, column, size_[0], size_[1]});
}

RandomResizedCrop::RandomResizedCrop(std::array<int64_t, 2> size, const RandomResizedCropOptions& options,
                                     SourceLocation at)
    : resize_(size, at), options_(options) {
  const auto& [low, high] = options.scale;
  const auto& [narrow_ratio, wide_ratio] = options.ratio;
  if (!(low > 0 && low <= high && high <= 1) || !(narrow_ratio > 0 && narrow_ratio <= wide_ratio))
    throw UserError("RandomResizedCrop: scale is a range within 0 to 1, ratio a range above 0", at);
}
Tensor RandomResizedCrop::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomResizedCrop");
  const int64_t rows = image.size(-2), columns = image.size(-1);
  constexpr int attempts = 10;  // as torchvision tries, before the whole image is taken
  for (int i = 0; i < attempts; ++i) {
    const double area =
        static_cast<double>(rows * columns) * drawn_between(options_.scale[0], options_.scale[1], generator);
    const double ratio = std::exp(drawn_between(std::log(options_.ratio[0]), std::log(options_.ratio[1]), generator));
    const auto width = static_cast<int64_t>(std::lround(std::sqrt(area * ratio)));
    const auto height = static_cast<int64_t>(std::lround(std::sqrt(area / ratio)));
    if (width < 1 || height < 1 || width > columns || height > rows) continue;
    const int64_t row = drawn_place(rows - height, generator);
    const int64_t column = drawn_place(columns - width, generator);
    return resize_(cut(image, {row, column, height, width}), generator);
  }
  return resize_(image, generator);
}

RandomHorizontalFlip::RandomHorizontalFlip(double p, SourceLocation at) : p_(p) {
  check_share(p, "RandomHorizontalFlip", at);
}
Tensor RandomHorizontalFlip::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomHorizontalFlip");
  return drawn(generator) < p_ ? flip(image, {-1}) : image;
}

RandomVerticalFlip::RandomVerticalFlip(double p, SourceLocation at) : p_(p) {
  check_share(p, "RandomVerticalFlip", at);
}
Tensor RandomVerticalFlip::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "RandomVerticalFlip");
  return drawn(generator) < p_ ? flip(image, {-2}) : image;
}

ColorJitter::ColorJitter(const ColorJitterOptions& options, SourceLocation at) : options_(options) {
  for (const double change : {options.brightness, options.contrast, options.saturation})
    if (!(change >= 0)) throw UserError(text::cat("ColorJitter: changes must not be negative: ", change), at);
}
Tensor ColorJitter::operator()(const Tensor& image, Generator& generator) const {
  check_image(image, "ColorJitter");
  const auto factor = [&](double change) { return drawn_between(std::max(1 - change, 0.0), 1 + change, generator); };
  Tensor out = image;
  if (options_.brightness > 0) out = blended(out, zeros_like(out), factor(options_.brightness));
  if (options_.contrast > 0) {
    const Tensor average = mean(brightness_of(out, "ColorJitter"), {-3, -2, -1}, true);
    out = blended(out, average, factor(options_.contrast));
  }
  if (options_.saturation > 0) out = blended(out, brightness_of(out, "ColorJitter"), factor(options_.saturation));
  return out;
}

Grayscale::Grayscale(int64_t channels, SourceLocation at) : channels_(channels) {
  if (channels != 1 && channels != 3)
    throw UserError(text::cat("Grayscale: the result has 1 or 3 channels, not ", channels), at);
}
Tensor Grayscale::operator()(const Tensor& image, Generator&) const {
  check_image(image, "Grayscale");
  const Tensor gray = brightness_of(image, "Grayscale");
  return channels_ == 1 ? gray : cat({gray, gray, gray}, -3);
}

}  // namespace fulgurite::data::transforms
