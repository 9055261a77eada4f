#include "hub/image/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fulgurite::hub {

namespace {

constexpr int64_t channels = 3;
// Weights are fixed-point numbers of so many bits, as in Pillow: 8 bits of a pixel and 2 of a sum's overshoot are left.
constexpr int precision_bits = 32 - 8 - 2;

double sinc(double x) {
  const double angle = x * std::numbers::pi;
  return x == 0 ? 1 : std::sin(angle) / angle;
}

double cubic(double x) {
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// Pillow has the constants in single precision.
double hamming(double x) {
  const double angle = x * std::numbers::pi;
  return x < 1 ? sinc(x) * (double{0.54F} + double{0.46F} * std::cos(angle)) : 0;
}

double weight_of(Filter filter, double x) {
  const double distance = std::abs(x);
  switch (filter) {
    case Filter::box: return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Filter::bilinear: return distance < 1 ? 1 - distance : 0;
    case Filter::hamming: return hamming(distance);
    case Filter::bicubic: return cubic(distance);
    case Filter::lanczos: return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Filter::nearest: break;
  }
  return 0;
}

double support_of(Filter filter) {
  switch (filter) {
    case Filter::box: return 0.5;
    case Filter::bicubic: return 2;
    case Filter::lanczos: return 3;
    default: return 1;
  }
}

// The weights of the inputs from `first` on for one output.
struct Window {
  int64_t first;
  std::vector<int32_t> weights;
};

int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << precision_bits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

Window window_of(int64_t output, int64_t in, double scale, Filter filter) {
  const double stretch = std::max(scale, 1.0), support = support_of(filter) * stretch;
  const double center = (static_cast<double>(output) + 0.5) * scale;
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
  const int64_t end = std::min(static_cast<int64_t>(center + support + 0.5), in);
  std::vector<double> weights;
  double total = 0;
  for (int64_t i = first; i < end; ++i) {
    weights.push_back(weight_of(filter, (static_cast<double>(i) - center + 0.5) * (1 / stretch)));
    total += weights.back();
  }
  Window window{first, {}};
  for (const double weight : weights) window.weights.push_back(fixed_point(total != 0 ? weight / total : weight));
  return window;
}

std::vector<Window> windows_of(int64_t in, int64_t out, Filter filter) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  std::vector<Window> windows;
  for (int64_t i = 0; i < out; ++i) windows.push_back(window_of(i, in, scale, filter));
  return windows;
}

uint8_t rounded(int64_t sum) { return static_cast<uint8_t>(std::clamp<int64_t>(sum >> precision_bits, 0, 255)); }

size_t index_of(const Image& image, int64_t row, int64_t column, int64_t channel) {
  return static_cast<size_t>((row * image.columns + column) * channels + channel);
}

Image image_of(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<uint8_t>(static_cast<size_t>(rows * columns * channels))};
}

// The sum of a window over pixels that are `step` elements apart.
uint8_t weighted(const uint8_t* pixel, int64_t step, const Window& window) {
  int64_t sum = int64_t{1} << (precision_bits - 1);
  for (const int32_t weight : window.weights) {
    sum += static_cast<int64_t>(*pixel) * weight;
    pixel += step;
  }
  return rounded(sum);
}

Image resample_columns(const Image& image, int64_t columns, Filter filter) {
  if (columns == image.columns) return image;
  const std::vector<Window> windows = windows_of(image.columns, columns, filter);
  Image out = image_of(image.rows, columns);
  size_t at = 0;
  for (int64_t row = 0; row < image.rows; ++row)
    for (const Window& window : windows)
      for (int64_t channel = 0; channel < channels; ++channel)
        out.pixels[at++] = weighted(&image.pixels[index_of(image, row, window.first, channel)], channels, window);
  return out;
}

Image resample_rows(const Image& image, int64_t rows, Filter filter) {
  if (rows == image.rows) return image;
  const int64_t row_elements = image.columns * channels;
  Image out = image_of(rows, image.columns);
  size_t at = 0;
  for (const Window& window : windows_of(image.rows, rows, filter))
    for (int64_t element = 0; element < row_elements; ++element)
      out.pixels[at++] =
          weighted(&image.pixels[static_cast<size_t>(window.first * row_elements + element)], row_elements, window);
  return out;
}

// The input of each output without a filter. Adding up the step rounds as in Pillow.
std::vector<int64_t> nearest_of(int64_t in, int64_t out) {
  const double step = static_cast<double>(in) / static_cast<double>(out);
  std::vector<int64_t> nearest;
  double at = step * 0.5;
  for (int64_t i = 0; i < out; ++i, at += step) nearest.push_back(std::min(static_cast<int64_t>(at), in - 1));
  return nearest;
}

Image resample_nearest(const Image& image, int64_t rows, int64_t columns) {
  const std::vector<int64_t> from_columns = nearest_of(image.columns, columns);
  Image out = image_of(rows, columns);
  size_t at = 0;
  for (const int64_t row : nearest_of(image.rows, rows))
    for (const int64_t column : from_columns)
      for (int64_t channel = 0; channel < channels; ++channel)
        out.pixels[at++] = image.pixels[index_of(image, row, column, channel)];
  return out;
}

// The order of the passes changes the rounding. It is Pillow 13's; earlier versions always resample columns first.
bool are_rows_first(const Image& image, const std::array<int64_t, 2>& size) {
  const int64_t fewer_rows = image.rows - size[0];
  return fewer_rows > 0 && fewer_rows > 2 * (image.columns - size[1]);
}

// The begin of the middle `wanted` of `size` elements: rounded down inside, and away from the edge outside.
int64_t middle(int64_t size, int64_t wanted) {
  return size >= wanted ? (size - wanted) / 2 : -((wanted - size + 1) / 2);
}

}  // namespace

Image resample(const Image& image, const std::array<int64_t, 2>& size, Filter filter) {
  if (size[0] == image.rows && size[1] == image.columns) return image;
  if (filter == Filter::nearest) return resample_nearest(image, size[0], size[1]);
  if (are_rows_first(image, size)) return resample_columns(resample_rows(image, size[0], filter), size[1], filter);
  return resample_rows(resample_columns(image, size[1], filter), size[0], filter);
}

Image center_crop(const Image& image, const std::array<int64_t, 2>& size) {
  const int64_t top = middle(image.rows, size[0]), left = middle(image.columns, size[1]);
  const int64_t begin = std::max<int64_t>(left, 0), end = std::min(left + size[1], image.columns);
  Image out = image_of(size[0], size[1]);
  for (int64_t row = std::max<int64_t>(top, 0); row < std::min(top + size[0], image.rows); ++row) {
    const auto from = image.pixels.begin() + static_cast<std::ptrdiff_t>(index_of(image, row, begin, 0));
    const auto to = out.pixels.begin() + static_cast<std::ptrdiff_t>(index_of(out, row - top, begin - left, 0));
    std::copy(from, from + (end - begin) * channels, to);
  }
  return out;
}

}  // namespace fulgurite::hub
