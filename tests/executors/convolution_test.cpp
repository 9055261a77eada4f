#include <fulgurite/autograd.h>
#include <fulgurite/jit.h>

#include "executors/fused.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Numbers2 {
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1}, output_padding[2] = {0, 0}, groups = 1;
};

Dims pair_of(const int64_t (&numbers)[2]) { return {numbers[0], numbers[1]}; }

Tensor convolve(const Tensor& x, const Tensor& w, const Tensor& bias, const Numbers2& n, bool transposed) {
  return prims::convolution(x, w, bias, pair_of(n.stride), pair_of(n.padding), pair_of(n.dilation), transposed,
                            pair_of(n.output_padding), n.groups);
}

/// A convolution of images by its definition: every number of the input times every number of the kernel, added where
/// they meet.
std::vector<double> by_definition(const Tensor& x, const Tensor& w, const Tensor& bias, const Numbers2& n,
                                  bool transposed, const Tensor& result) {
  const std::vector<double> inputs = elements(x), factors = elements(w);
  const auto size = [](const Tensor& t, int d) { return static_cast<int64_t>(t.size(d)); };
  const int64_t samples = size(x, 0), channels = size(x, 1) / n.groups, rows = size(result, 1) / n.groups;
  const int64_t kernel[2] = {size(w, 2), size(w, 3)}, from[2] = {size(x, 2), size(x, 3)},
                to[2] = {size(result, 2), size(result, 3)};
  std::vector<double> sums(static_cast<size_t>(result.numel()));
  if (bias.defined()) {
    const std::vector<double> added = elements(bias);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = added[i / static_cast<size_t>(to[0] * to[1]) % added.size()];
  }
  const int64_t(&counted)[2] = transposed ? from : to;
  const int64_t(&covered)[2] = transposed ? to : from;
  for (int64_t s = 0; s < samples; ++s)
    for (int64_t g = 0; g < n.groups; ++g)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t i = 0; i < counted[0]; ++i)
            for (int64_t j = 0; j < counted[1]; ++j)
              for (int64_t k = 0; k < kernel[0]; ++k)
                for (int64_t l = 0; l < kernel[1]; ++l) {
                  const int64_t y = i * n.stride[0] + k * n.dilation[0] - n.padding[0];
                  const int64_t z = j * n.stride[1] + l * n.dilation[1] - n.padding[1];
                  if (y < 0 || y >= covered[0] || z < 0 || z >= covered[1]) continue;
                  const int64_t row = g * rows + r, channel = g * channels + c;
                  const int64_t input = (s * channels * n.groups + channel) * from[0] * from[1] +
                                        (transposed ? i * from[1] + j : y * from[1] + z);
                  const int64_t output =
                      (s * rows * n.groups + row) * to[0] * to[1] + (transposed ? y * to[1] + z : i * to[1] + j);
                  const int64_t factor =
                      ((transposed ? channel * rows + r : row * channels + c) * kernel[0] + k) * kernel[1] + l;
                  sums[static_cast<size_t>(output)] +=
                      inputs[static_cast<size_t>(input)] * factors[static_cast<size_t>(factor)];
                }
  return sums;
}

double convolution_tolerance(Dtype dtype) {
  return is_floating(dtype) ? std::max(tolerance_of(dtype) * 4, dtype == Dtype::f32 ? 3e-5 : 0) : 0;
}

const std::vector<Numbers2> many_numbers() {
  return {{},
          {{2, 1}, {1, 2}, {1, 1}, {0, 0}, 1},
          {{1, 3}, {2, 0}, {2, 1}, {0, 0}, 2},
          {{3, 2}, {1, 1}, {1, 3}, {1, 2}, 1},
          {{2, 2}, {0, 1}, {4, 2}, {3, 1}, 2}};
}

}  // namespace

TEST("convolutions of every dtype and layout") {
  for (const Dtype dtype :
       {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8})
    for (const Numbers2& n : many_numbers())
      for (const bool transposed : {false, true}) {
        const double low = dtype == Dtype::u8 ? 0 : -2, high = size_of(dtype) == 1 ? 1 : 2;
        const Tensor x = make({2, 4, 11, 9}, dtype, low, high, 1);
        const Tensor w = make({transposed ? 4 : 6, (transposed ? 6 : 4) / n.groups, 3, 2}, dtype, low, high, 2),
                     bias = make({6}, dtype, low, high, 3);
        const Tensor turned = transpose(make({2, 4, 9, 11}, dtype, low, high, 4), 2, 3);
        const Tensor last = permute(make({2, 11, 9, 4}, dtype, low, high, 5), {0, 3, 1, 2});
        const Tensor wide =
            permute(make({w.size(2), w.size(3), w.size(1), w.size(0)}, dtype, low, high, 6), {3, 2, 0, 1});
        Numbers2 numbers = n;
        if (!transposed) numbers.output_padding[0] = numbers.output_padding[1] = 0;
        for (const Tensor& input : {x, turned, last})
          for (const Tensor& weight : {w, wide}) {
            const Tensor y = convolve(input, weight, bias, numbers, transposed);
            expect_equal(y.dtype(), dtype);
            expect_near(elements(y), by_definition(input, weight, bias, numbers, transposed, y),
                        convolution_tolerance(dtype));
          }
      }
}

TEST("convolutions of many blocks") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    // Deep: the sums of one result are cut. Wide: so are a sample's columns. Small: blocks span samples. Many rows.
    for (const auto& [input, weight] : {std::pair<Shape, Shape>{{1, 150, 7, 6}, {5, 150, 3, 3}},
                                        {{2, 3, 40, 61}, {4, 3, 3, 3}},
                                        {{30, 8, 5, 5}, {16, 8, 3, 3}},
                                        {{1, 20, 4, 4}, {200, 20, 1, 1}}}) {
      const Tensor x = make(input.to_vector(), dtype, -1, 1, 1), w = make(weight.to_vector(), dtype, -1, 1, 2);
      const Tensor y = convolve(x, w, {}, {}, false);
      expect_near(elements(y), by_definition(x, w, {}, {}, false, y), convolution_tolerance(dtype) * 4);
    }
  }
}

TEST("a weight's cotangent is what its numbers were multiplied by") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    const Tensor x = make({3, 4, 9, 8}, dtype, -1, 1, 1).requires_grad_(),
                 w = make({6, 2, 3, 2}, dtype, -1, 1, 2).requires_grad_();
    const Tensor y = nn::conv2d(x, w, {}, {2, 1}, {1, 2}, {1, 3}, 2), g = make(y.shape().to_vector(), dtype, -1, 1, 3);
    const std::vector<Tensor> grads = autograd::grad({y}, {x, w}, {g});
    // <g, conv(dx, w)> = <grad x, dx>, and the same of w.
    const auto inner = [](const Tensor& a, const Tensor& b) {
      return sum(a.detach().to(Dtype::f64) * b.detach().to(Dtype::f64)).item<double>();
    };
    const Tensor dx = make({3, 4, 9, 8}, dtype, -1, 1, 4), dw = make({6, 2, 3, 2}, dtype, -1, 1, 5);
    const double tolerance = dtype == Dtype::bf16 ? 0.3 : dtype == Dtype::f32 ? 1e-4 : 1e-10;
    expect_near(inner(grads[0], dx), inner(g, nn::conv2d(dx, w, {}, {2, 1}, {1, 2}, {1, 3}, 2)), tolerance);
    expect_near(inner(grads[1], dw), inner(g, nn::conv2d(x, dw, {}, {2, 1}, {1, 2}, {1, 3}, 2)), tolerance);
  }
}

TEST("convolutions and pooling do not depend on the number of threads") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64}) {
    const Tensor x = make({4, 16, 20, 20}, dtype, -1, 1, 1), w = make({24, 16, 3, 3}, dtype, -1, 1, 2);
    expect_same_bits([&] {
      const Tensor y = nn::conv2d(x, w, {}, 1, 1);
      const auto [largest, places] = nn::max_pool2d_with_indices(x, 3, 2, 1);
      return std::vector<Tensor>{y,
                                 nn::conv_transpose2d(y, w, {}, 2, 1, 1),
                                 prims::convolution_weight(y, x, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1),
                                 largest,
                                 places,
                                 nn::avg_pool2d(x, 3, 2, 1),
                                 prims::avg_pool_backward(x, {40, 40}, {2, 2}, {2, 2}, {0, 0}, false, true, {})};
    });
  }
}

namespace {

/// The shapes of a convolution: sizes that are cut into samples, channels and remainders in every way.
struct CutCase {
  Shape input, weight;
  Numbers2 numbers = {};
};
const std::vector<CutCase> cut_cases() {
  const auto with = [](int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
    return Numbers2{{stride, stride}, {padding, padding}, {dilation, dilation}, {0, 0}, groups};
  };
  return {{{1, 64, 24, 24}, {128, 64, 3, 3}, with(1, 1, 1, 1)},  // one sample: channels are cut
          {{1, 64, 56, 56}, {64, 64, 3, 3}, with(1, 1, 1, 1)},   // one sample of few channels: rows are cut
          {{1, 48, 61, 50}, {40, 48, 5, 3}, with(2, 2, 1, 1)},
          {{2, 32, 50, 47}, {48, 32, 3, 3}, with(1, 3, 2, 1)},   // more padding than a window's reach
          {{8, 48, 20, 20}, {48, 1, 3, 3}, with(1, 1, 1, 48)},   // many planes
          {{11, 16, 40, 40}, {32, 16, 3, 3}, with(1, 1, 1, 1)},  // some samples together, and a rest
          {{3, 512, 7, 7}, {512, 512, 3, 3}, with(1, 1, 1, 1)},  // a large weight
          {{5, 32, 30, 30}, {32, 1, 3, 3}, with(2, 1, 1, 32)},   // each channel alone
          {{3, 12, 14, 14}, {12, 1, 3, 3}, with(1, 1, 1, 12)},
          {{3, 6, 9, 21}, {12, 1, 5, 3}, with(1, 2, 1, 6)},     // two results for each channel
          {{2, 8, 13, 40}, {8, 1, 3, 4}, with(3, 0, 2, 8)},     // rows and columns that are not read
          {{4, 48, 19, 17}, {24, 16, 3, 5}, with(3, 2, 2, 3)},  // sizes that no vector divides
          {{6, 3, 33, 31}, {20, 3, 7, 7}, with(2, 3, 1, 1)},    // images
          {{5, 64, 12, 12}, {64, 64, 1, 1}, with(1, 0, 1, 1)},  // kernels of one element: matmuls
          {{3, 144, 12, 12}, {200, 144, 1, 1}, with(1, 0, 1, 1)},
          {{2, 300, 13, 11}, {136, 300, 1, 1}, with(1, 0, 1, 1)},  // more channels than are made
          {{2, 300, 24, 24}, {130, 300, 1, 1}, with(1, 0, 1, 1)},
          {{1, 40, 41, 40}, {24, 40, 1, 1}, with(1, 0, 1, 1)}};
}

std::vector<Tensor> results_and_gradients(const CutCase& c, Dtype dtype) {
  const Tensor x = make(c.input.to_vector(), dtype, -1, 1, 1), w = make(c.weight.to_vector(), dtype, -1, 1, 2);
  const Tensor y = convolve(x, w, {}, c.numbers, false);
  const Tensor g = make(y.shape().to_vector(), dtype, -1, 1, 3);
  const Dims kernel{c.weight[2], c.weight[3]}, stride = pair_of(c.numbers.stride), padding = pair_of(c.numbers.padding),
                                               dilation = pair_of(c.numbers.dilation);
  Dims rest;
  for (int d = 0; d < 2; ++d) {
    const int64_t covered = (static_cast<int64_t>(y.size(d + 2)) - 1) * c.numbers.stride[d] - 2 * c.numbers.padding[d] +
                            c.numbers.dilation[d] * (static_cast<int64_t>(c.weight[static_cast<size_t>(d) + 2]) - 1) +
                            1;
    rest.push_back(static_cast<int64_t>(x.size(d + 2)) - covered);
  }
  return {y, prims::convolution(g, w, {}, stride, padding, dilation, true, rest, c.numbers.groups),
          prims::convolution_weight(g, x, kernel, stride, padding, dilation, c.numbers.groups)};
}

/// The rounding errors of f32 grow with the root of a sum's length; AVX2 has half as many partial sums as AVX-512.
double f32_bound(const CutCase& c) {
  const auto terms = static_cast<double>(static_cast<int64_t>(c.weight[1] * c.weight[2] * c.weight[3]));
  return std::max(2e-6, std::sqrt(terms) * 0x1p-24);
}

/// The largest difference, in units of the largest element.
double largest_difference(const Tensor& value, const Tensor& exact) {
  const Tensor difference = abs(value.to(Dtype::f64) - exact), scale = abs(exact);
  return max(difference).item<double>() / max(scale).item<double>();
}

}  // namespace

TEST("convolutions and their gradients are those of f64, however they are cut") {
  for (const CutCase& c : cut_cases())
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      const std::vector<Tensor> given = results_and_gradients(c, dtype), exact = results_and_gradients(c, Dtype::f64);
      for (size_t i = 0; i < given.size(); ++i) {
        expect_equal(given[i].shape(), exact[i].shape());
        expect_less(largest_difference(given[i], exact[i]), (dtype == Dtype::f32 ? f32_bound(c) : 1e-2));
      }
    }
}

TEST("convolutions and their gradients have the same bits on any number of threads, however they are cut") {
  for (const CutCase& c : cut_cases())
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      expect_same_bits([&] { return results_and_gradients(c, dtype); });
}

TEST("compiled convolutions and their gradients have the bits of eager ones") {
  for (const CutCase& c : cut_cases())
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      const Tensor x = make(c.input.to_vector(), dtype, -1, 1, 1), w = make(c.weight.to_vector(), dtype, -1, 1, 2);
      const auto compute = [&c](const Tensor& input, const Tensor& weight) {
        return convolve(input, weight, {}, c.numbers, false);
      };
      const auto gradients = [&](auto&& f) {
        const Tensor input = x.detach().requires_grad_(), weight = w.detach().requires_grad_();
        const Tensor y = f(input, weight);
        std::vector<Tensor> all = autograd::grad({y}, {input, weight}, {make(y.shape().to_vector(), dtype, -1, 1, 3)});
        all.push_back(y.detach());
        return all;
      };
      const auto compiled = jit([compute](Tensor input, Tensor weight) { return compute(input, weight); });
      const std::vector<Tensor> expected = gradients(compute), given = gradients(compiled);
      for (size_t i = 0; i < expected.size(); ++i) expect_equal(elements(given[i]), elements(expected[i]));
    }
}

TEST("convolutions of strided and expanded tensors") {
  const Tensor w = make({8, 4, 3, 3}, Dtype::f32, -1, 1, 2);
  const Tensor whole = make({6, 8, 10, 9}, Dtype::f32, -1, 1, 1);
  for (const Tensor& x :
       {prims::slice(whole, 1, 1, 8, 2), narrow(whole, 1, 2, 4), transpose(narrow(whole, 1, 2, 4), 2, 3),
        expand(make({1, 4, 1, 9}, Dtype::f32, -1, 1, 3), {6, 4, 10, 9}), flip(narrow(whole, 1, 4, 4), {3})}) {
    const Tensor copy = x.clone(), y = convolve(copy, w, {}, {}, false), ones = expand(full({1}, 1.0), y.shape());
    expect_equal(elements(convolve(x, w, {}, {}, false)), elements(y));
    const Tensor of_view = prims::convolution_weight(ones, x, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 1);
    const Tensor of_copy = prims::convolution_weight(ones.clone(), copy, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 1);
    expect_equal(elements(of_view), elements(of_copy));
  }
}

TEST("a kernel of one element reads planes as rows, of a part of the channels too") {
  const Tensor whole = make({3, 160, 13, 12}, Dtype::f32, -1, 1, 1), x = narrow(whole, 1, 16, 130),
               w = make({140, 130, 1, 1}, Dtype::f32, -1, 1, 2), bias = make({140}, Dtype::f32, -1, 1, 3);
  const auto wide = [](const Tensor& t) { return t.to(Dtype::f64); };
  const Tensor y = convolve(x, w, {}, {}, false);
  for (const Tensor& added : {Tensor(), bias}) {
    const Tensor exact = convolve(wide(x), wide(w), added.defined() ? wide(added) : Tensor(), {}, false);
    expect_less(largest_difference(convolve(x, w, added, {}, false), exact), 2e-6);
  }
  expect_equal(elements(convolve(x.clone(), w, {}, {}, false)), elements(y));
  const Tensor of_view = prims::convolution_weight(y, x, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1);
  expect_equal(elements(prims::convolution_weight(y, x.clone(), {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1)), elements(of_view));
  const Tensor columns = transpose(x, 2, 3);  // rows of a plane are not contiguous
  expect_less(largest_difference(convolve(columns, w, {}, {}, false), transpose(y, 2, 3).to(Dtype::f64)), 2e-6);
}

TEST("convolutions of nothing, and over nothing") {
  expect_equal(nn::conv1d(make({0, 3, 5}, Dtype::f32, 0, 1), make({2, 3, 3}, Dtype::f32, 0, 1)).shape(),
               Shape({0, 2, 3}));
  const Tensor bias = make({2}, Dtype::f32, -1, 1);
  const Tensor only_bias = nn::conv1d(make({1, 0, 5}, Dtype::f32, 0, 1), make({2, 0, 3}, Dtype::f32, 0, 1), bias);
  expect_near(elements(only_bias), elements(expand(reshape(bias, {1, 2, 1}), {1, 2, 3})));
}
