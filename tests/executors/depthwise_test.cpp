// Depthwise convolutions have a kernel of their own; every case here is compared with a convolution without groups,
// whose weight is zero between channels of different groups.
#include <limits>

#include "executors/fused.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Case {
  Shape input, weight;  // of a depthwise convolution of input[1] groups
  Dims stride, padding, dilation;
};

const std::vector<Case> cases() {
  return {{{2, 3, 14, 14}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
          {{3, 5, 9, 21}, {5, 1, 5, 3}, {2, 1}, {2, 0}, {1, 3}},
          {{2, 2, 12, 33}, {6, 1, 2, 4}, {1, 3}, {0, 5}, {3, 1}},  // three results for each channel; padding past taps
          {{1, 4, 20, 7}, {4, 1, 11, 11}, {3, 2}, {5, 5}, {1, 1}},
          {{2, 3, 1, 1}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
          {{2, 4, 50}, {4, 1, 9}, {1}, {4}, {1}},
          {{2, 2, 31}, {4, 1, 3}, {4}, {2}, {2}}};
}

/// The weight of the same convolution in one group.
Tensor dense_weight(const Tensor& w, int64_t channels) {
  Shape sizes = w.shape();
  const int64_t results = static_cast<int64_t>(sizes[0]) / channels;
  sizes[1] = channels;
  Tensor dense = zeros(sizes, {.dtype = w.dtype()});
  for (int64_t i = 0; i < channels * results; ++i) dense(i, i / results).copy_(w(i, 0));
  return dense;
}
/// The elements of a dense weight that a depthwise one has.
Tensor depthwise_part(const Tensor& dense, const Tensor& w, int64_t channels) {
  const int64_t results = static_cast<int64_t>(w.size(0)) / channels;
  Tensor part = zeros(w.shape(), {.dtype = w.dtype()});
  for (int64_t i = 0; i < channels * results; ++i) part(i, 0).copy_(dense(i, i / results));
  return part;
}

Tensor forward(const Case& c, const Tensor& x, const Tensor& w, const Tensor& bias, int64_t groups) {
  return prims::convolution(x, w, bias, c.stride, c.padding, c.dilation, false, 0, groups);
}
Tensor of_input(const Case& c, const Tensor& g, const Tensor& w, const Tensor& x, int64_t groups) {
  Dims rest;
  for (size_t d = 0; d < c.stride.size(); ++d) {
    const auto at = static_cast<int>(d) + 2;
    rest.push_back(static_cast<int64_t>(x.size(at)) - (static_cast<int64_t>(g.size(at)) - 1) * c.stride[d] +
                   2 * c.padding[d] - c.dilation[d] * (static_cast<int64_t>(w.size(at)) - 1) - 1);
  }
  return prims::convolution(g, w, {}, c.stride, c.padding, c.dilation, true, rest, groups);
}
Tensor of_weight(const Case& c, const Tensor& g, const Tensor& x, const Tensor& w, int64_t groups) {
  Dims kernel;
  for (size_t d = 0; d < c.stride.size(); ++d) kernel.push_back(static_cast<int64_t>(w.size(static_cast<int>(d) + 2)));
  return prims::convolution_weight(g, x, kernel, c.stride, c.padding, c.dilation, groups);
}

Tensor turned(const Tensor& t) {
  const int last = static_cast<int>(t.ndim()) - 1;
  return transpose(transpose(t, 1, last).contiguous(), 1, last);
}

}  // namespace

TEST("depthwise convolutions and their gradients are those of a dense weight") {
  for (const Case& c : cases())
    for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const auto channels = static_cast<int64_t>(c.input[1]);
      const Tensor x = make(c.input.to_vector(), dtype, -1, 1, 1), w = make(c.weight.to_vector(), dtype, -1, 1, 2);
      const Tensor bias = make({static_cast<int64_t>(c.weight[0])}, dtype, -1, 1, 3), dense = dense_weight(w, channels);
      const double bound = is_floating(dtype) ? std::max(tolerance_of(dtype) * 16, 1e-12) : 0;
      const Tensor y = forward(c, x, w, bias, channels), g = make(y.shape().to_vector(), dtype, -1, 1, 4);
      expect_near(elements(y), elements(forward(c, x, dense, bias, 1)), bound);
      expect_near(elements(of_input(c, g, w, x, channels)), elements(of_input(c, g, dense, x, 1)), bound);
      expect_near(elements(of_weight(c, g, x, w, channels)),
                  elements(depthwise_part(of_weight(c, g, x, dense, 1), w, channels)), bound * 8);
      // Other strides of the operands change no bit.
      expect_equal(elements(forward(c, turned(x), turned(w), bias, channels)), elements(y));
      expect_equal(elements(of_weight(c, turned(g), turned(x), w, channels)),
                   elements(of_weight(c, g, x, w, channels)));
    }
}

TEST("elements that a depthwise convolution does not read do not reach its gradients") {
  // With stride 3 the last two columns are not read.
  const Tensor x = make({1, 2, 5, 12}, Dtype::f32, -1, 1, 1);
  narrow(x, 3, 10, 2).fill_(std::numeric_limits<double>::infinity());
  const Tensor g = ones({1, 2, 3, 4});
  const Tensor grad = prims::convolution_weight(g, x, {3, 1}, {1, 3}, {0, 0}, {1, 1}, 2);
  expect(isfinite(grad).all().item<bool>(), "the gradient is finite");
}
