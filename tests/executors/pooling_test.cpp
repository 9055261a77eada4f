#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fulgurite/fulgurite.h>

#include "executors/fused.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Pooling {
  int64_t rows, columns, kernel, stride, padding, dilation;
};

/// The largest element of each window of one plane, the first of equal ones, and a NaN the last of all.
struct Max {
  std::vector<double> values;
  std::vector<int64_t> places;
};
Max by_definition(const std::vector<double>& plane, const Pooling& p, int64_t result_rows, int64_t result_columns) {
  Max all;
  for (int64_t y = 0; y < result_rows; ++y)
    for (int64_t x = 0; x < result_columns; ++x) {
      double largest = -std::numeric_limits<double>::infinity();
      int64_t place = -1;
      for (int64_t i = 0; i < p.kernel; ++i)
        for (int64_t j = 0; j < p.kernel; ++j) {
          const int64_t row = y * p.stride - p.padding + i * p.dilation,
                        column = x * p.stride - p.padding + j * p.dilation;
          if (row < 0 || row >= p.rows || column < 0 || column >= p.columns) continue;
          const int64_t here = row * p.columns + column;
          const double value = plane[static_cast<size_t>(here)];
          if (place >= 0 && !(value > largest) && !std::isnan(value)) continue;
          largest = value;
          place = here;
        }
      all.values.push_back(largest);
      all.places.push_back(place);
    }
  return all;
}

void expect_pooled(const Pooling& p, Dtype dtype) {
  // Few different values, so that windows have equal ones; one NaN.
  const Tensor x = floor(make({2, 3, p.rows, p.columns}, Dtype::f32, -3, 3, 1)).to(dtype);
  x(1, 2, p.rows / 2, p.columns / 2).fill_(std::nan(""));
  const auto [values, places] = nn::max_pool2d_with_indices(x, p.kernel, p.stride, p.padding, p.dilation);
  const auto rows = static_cast<int64_t>(values.size(2)), columns = static_cast<int64_t>(values.size(3));
  const std::vector<double> given = elements(x), result = elements(values);
  const std::vector<int64_t> chosen = places.to_vector<int64_t>();
  for (int64_t plane = 0; plane < 6; ++plane) {
    const auto first = given.begin() + plane * p.rows * p.columns;
    const Max expected = by_definition({first, first + p.rows * p.columns}, p, rows, columns);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const auto here = static_cast<size_t>(plane * rows * columns + i), there = static_cast<size_t>(i);
      expect(result[here] == expected.values[there] ||
             (std::isnan(result[here]) && std::isnan(expected.values[there])));
      expect_equal(chosen[here], expected.places[there]);
    }
  }
}

}  // namespace

TEST("largest elements of windows of every width, stride and dilation, with equal ones and a NaN") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64})
    for (const int64_t columns : {5, 8, 14, 28, 31, 32, 33, 64, 70})
      for (const Pooling& p : {Pooling{6, columns, 2, 2, 0, 1},
                               {7, columns, 3, 2, 1, 1},
                               {5, columns, 3, 1, 1, 1},
                               {9, columns, 2, 3, 1, 1},
                               {7, columns, 2, 2, 0, 3},
                               {7, columns, 2, 1, 0, 4}})
        expect_pooled(p, dtype);
}

TEST("maxima without indices are those with them: the first of equal zeros, and NaN") {
  std::vector<float> elements(static_cast<size_t>(3 * 5 * 28 * 30));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = i % 7 == 0 ? std::nanf("") : i % 5 == 4 ? 0.0F : i % 11 == 3 ? -0.0F : -static_cast<float>(i % 3);
  const Tensor x = tensor(elements).reshape({3, 5, 28, 30});
  for (const int64_t kernel : {2, 3})
    for (const int64_t stride : {1, 2, 3}) {
      const auto compiled = jit([=](Tensor t) { return nn::max_pool2d(t, kernel, stride); });
      const std::vector<float> values = compiled(x).to_vector<float>(),
                               expected =
                                   std::get<0>(nn::max_pool2d_with_indices(x, kernel, stride)).to_vector<float>();
      const auto is_same = [](float a, float b) {
        return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
      };
      expect(std::ranges::equal(values, expected, is_same), "a value differs");
    }
}
