#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor counted(const Shape& shape) { return reshape(arange(0, shape.numel(), 1, {.dtype = Dtype::f32}), shape); }

}  // namespace

TEST("convolutions take numbers, \"same\" and \"valid\"") {
  const Tensor x = counted({1, 1, 4}), w = tensor({{{1.0, 10.0}}});
  expect_near(nn::conv1d(x, w).to_vector<float>(), {10, 21, 32});
  expect_near(nn::conv1d(x, w, {}, 1, "valid").to_vector<float>(), {10, 21, 32});
  expect_near(nn::conv1d(x, w, {}, 1, "same").to_vector<float>(), {10, 21, 32, 3});
  expect_near(nn::conv1d(x, w, tensor({0.5}), 2, 1).to_vector<float>(), {0.5, 21.5, 3.5});
  expect_near(nn::conv1d(x, w, {}, 1, 0, 3).to_vector<float>(), {30});
  expect_near(nn::conv_transpose1d(x, w, {}, 2).to_vector<float>(), {0, 0, 1, 10, 2, 20, 3, 30});
  expect_equal(nn::conv2d(counted({1, 4, 4}), ones({2, 1, 3, 3})).shape(), Shape({2, 2, 2}));
}

TEST("convolutions refuse what does not fit") {
  const Tensor x = ones({1, 4, 6, 6}), w = ones({2, 4, 3, 3});
  expect_error([&] { nn::conv2d(x, ones({2, 3, 3, 3})); }, "has 4 channels, weight of shape [2, 3, 3, 3] takes 3");
  expect_error([&] { nn::conv2d(x, w, {}, 0); }, "stride must be positive, got [0, 0]");
  expect_error([&] { nn::conv2d(x, w, {}, 1, -1); }, "padding must be 0 or more, got [-1, -1]");
  expect_error([&] { nn::conv2d(x, w, {}, {1, 2, 3}); }, "stride must have 1 or 2 numbers, got [1, 2, 3]");
  expect_error(
      [&] {
        nn::conv2d(x, ones({2, 4, 9, 3}));
      },
      "a window of [9, 3] with dilation [1, 1] does not fit into [6, 6] padded by [0, 0]");
  expect_error([&] { nn::conv2d(x, w, {}, 1, 0, 1, 3); }, "the 2 rows of weight are not a multiple of groups = 3");
  expect_error([&] { nn::conv2d(x, w, ones({3})); }, "bias must have shape [2], got [3]");
  expect_error([&] { nn::conv2d(x, w.to(Dtype::f64)); }, "input is f32, weight is f64");
  expect_error([&] { nn::conv2d(x, ones({2, 4, 3})); }, "weight must have 4 dimensions, got shape [2, 4, 3]");
  expect_error(
      [&] {
        nn::conv2d(ones({6, 6}), w);
      },
      "input must have 3 or, with a batch, 4 dimensions, got shape [6, 6]");
  expect_error([&] { nn::conv2d(x, w, {}, 2, "same"); }, "padding=\"same\" needs a stride of 1, got [2, 2]");
  expect_error([&] { nn::conv2d(x, w, {}, 1, "some"); },
               "padding must be numbers, \"same\" or \"valid\", got \"some\"");
  expect_error(
      [&] {
        nn::conv_transpose2d(x, ones({4, 2, 3, 3}), {}, 1, 0, 1);
      },
      "output_padding [1, 1] must be smaller than the stride [1, 1] or the dilation [1, 1]");
  expect_error(
      [&] {
        nn::conv_transpose2d(x, ones({4, 2, 1, 1}), {}, 1, 3);
      },
      "the result of an input of size [6, 6] with kernel [1, 1] would be empty");
}

TEST("pooling takes windows of every kind") {
  const Tensor x = tensor({{1.0, 5.0, 2.0, 7.0, 3.0}});
  expect_near(nn::max_pool1d(x, 2).to_vector<float>(), {5, 7});
  expect_near(nn::max_pool1d(x, 2, {}, 0, 1, true).to_vector<float>(), {5, 7, 3});
  const auto [values, places] = nn::max_pool1d_with_indices(x, 3, 1, 1, 2);
  expect_near(values.to_vector<float>(), {7, 3, 7});
  expect_equal(places.to_vector<int64_t>(), std::vector<int64_t>{3, 4, 3});
  expect_near(nn::avg_pool1d(x, 2).to_vector<float>(), {3, 4.5});
  expect_near(nn::avg_pool1d(x, 3, 2, 1).to_vector<float>(), {2, 14.0 / 3, 10.0 / 3});
  expect_near(nn::avg_pool1d(x, 3, 2, 1, false, false).to_vector<float>(), {3, 14.0 / 3, 5});
  expect_near(nn::adaptive_avg_pool1d(x, 2).to_vector<float>(), {8.0 / 3, 4});
  expect_near(nn::adaptive_max_pool1d(x, 3).to_vector<float>(), {5, 7, 7});
  expect_equal(nn::adaptive_avg_pool2d(ones({2, 3, 4}), {-1, 2}).shape(), Shape({2, 3, 2}));
  const Value both = call("nn.functional.max_pool1d", {x, 2}, {{"return_indices", true}});
  expect_equal(both.list().size(), 2u);
  expect(call("nn.functional.max_pool1d", {x, 2}, {{"return_indices", false}}).is_tensor());
  expect_equal(Tensor(call("nn.functional.adaptive_avg_pool2d", {ones({1, 3, 4}), {None, 2}})).shape(),
               Shape({1, 3, 2}));
}

TEST("pooling refuses what does not fit") {
  const Tensor x = ones({1, 4, 6, 6});
  expect_error([&] { nn::max_pool2d(x, 3, {}, 2); },
               "padding [2, 2] must be at most half of the kernel's reach, kernel_size [3, 3] with dilation [1, 1]");
  expect_error([&] { nn::max_pool2d(x, 7); }, "does not fit into [6, 6]");
  expect_error(
      [&] {
        nn::max_pool2d(ones({1, 0, 6, 6}), 2);
      },
      "input may be empty in the batch alone, got shape [1, 0, 6, 6]");
  expect_error([&] { nn::max_pool2d(x, 2, 0); }, "stride must be positive, got [0, 0]");
  expect_error([&] { nn::max_pool2d(x, {2, 2, 2}); }, "kernel_size must have 1 or 2 numbers, got [2, 2, 2]");
  expect_error([&] { nn::max_pool1d(ones({6}), 2); },
               "input must have 2 or, with a batch, 3 dimensions, got shape [6]");
  expect_error([&] { nn::avg_pool2d(x, 2, {}, 0, false, true, 0); }, "divisor_override must not be 0");
  expect_error([&] { nn::adaptive_avg_pool2d(x, -2); }, "output_size must be 0 or more, got [-2, -2]");
  expect_error([&] { nn::adaptive_avg_pool2d(x.to(Dtype::i64), 2); }, "needs a floating dtype, not i64");
}

TEST("unfold and fold cut into windows and add them up") {
  const Tensor x = counted({3, 4});
  expect_equal(unfold(x, 1, 2, 1).shape(), Shape({3, 3, 2}));
  expect_near(select(unfold(x, 1, 2, 1), 0, 0).to_vector<float>(), {0, 1, 1, 2, 2, 3});
  expect_error([&] { unfold(x, 1, 5, 1); }, "a window of size 5 is longer than the dimension, 4");
  expect_error([&] { unfold(x, 1, 2, 0); }, "step must be positive, got 0");
  const Tensor columns = nn::unfold(counted({1, 1, 3, 3}), 2);
  expect_equal(columns.shape(), Shape({1, 4, 4}));
  expect_near(select(select(columns, 0, 0), 1, 0).to_vector<float>(), {0, 1, 3, 4});
  expect_near(nn::fold(ones({1, 4, 4}), {3, 3}, 2).to_vector<float>(), {1, 2, 1, 2, 4, 2, 1, 2, 1});
  expect_error([&] { nn::fold(ones({1, 4, 5}), {3, 3}, 2); }, "input has 5 columns, there are 2 * 2 windows");
  expect_error(
      [&] {
        nn::fold(ones({1, 3, 4}), {3, 3}, 2);
      },
      "the 3 rows are not a multiple of the kernel's 4 elements");
}

TEST("interpolation takes sizes and factors") {
  const Tensor x = tensor({{{0.0, 4.0}}});
  expect_near(nn::interpolate(x, 4).to_vector<float>(), {0, 0, 4, 4});
  expect_near(nn::interpolate(x, {}, 2.0, "linear").to_vector<float>(), {0, 1, 3, 4});
  expect_near(nn::interpolate(x, 3, {}, "linear", true).to_vector<float>(), {0, 2, 4});
  expect_equal(nn::interpolate(ones({1, 1, 2, 3}), {}, {2.0, 1.5}).shape(), Shape({1, 1, 4, 4}));
  expect_near(nn::interpolate(x, 1, {}, "area").to_vector<float>(), {2});
  expect_error([&] { nn::interpolate(x); }, "takes either size or scale_factor");
  expect_error([&] { nn::interpolate(x, 3, 2.0); }, "takes either size or scale_factor");
  expect_error([&] { nn::interpolate(x, 3, {}, "bilinear"); },
               "mode \"bilinear\" takes inputs of 4 dimensions, got shape [1, 1, 2]");
  expect_error([&] { nn::interpolate(x, 3, {}, "nearest", true); },
               "align_corners has no meaning for mode \"nearest\"");
  expect_error([&] { nn::interpolate(x, 3, {}, "fast"); },
               "mode must be nearest, nearest-exact, area, linear, bilinear, bicubic or trilinear");
  expect_error([&] { nn::interpolate(x, 0); }, "the result's sizes must be positive, got [0]");
}

TEST("grids read between elements") {
  const Tensor x = counted({1, 1, 2, 2});
  expect_near(nn::grid_sample(x, zeros({1, 1, 1, 2})).to_vector<float>(), {1.5});
  const Tensor corners = nn::affine_grid(tensor({{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}}), {1, 1, 2, 2}, true);
  expect_near(corners.to_vector<float>(), {-1, -1, 1, -1, -1, 1, 1, 1});
  expect_near(nn::grid_sample(x, corners, "bilinear", "zeros", true).to_vector<float>(), {0, 1, 2, 3});
  const double nan = NAN, infinity = HUGE_VAL;
  const Tensor strange = tensor({nan, 0.0, infinity, -infinity, 1e30, -1e30}).reshape({1, 1, 3, 2});
  for (const char* mode : {"bilinear", "nearest", "bicubic"})
    for (const char* outside : {"zeros", "border", "reflection"})
      expect_equal(nn::grid_sample(x, strange, mode, outside).shape(), Shape({1, 1, 1, 3}));
  expect_error([&] { nn::grid_sample(x, zeros({2, 1, 1, 2})); }, "have different batch sizes");
  expect_error([&] { nn::grid_sample(x, zeros({1, 1, 1, 3})); }, "the last dimension of grid must have size 2");
  expect_error(
      [&] {
        nn::grid_sample(x, zeros({1, 1, 1, 2}), "cubic");
      },
      "mode must be \"bilinear\", \"nearest\" or \"bicubic\", not \"cubic\"");
  expect_error(
      [&] {
        nn::affine_grid(ones({2, 2, 3}), {1, 1, 2, 2});
      },
      "theta has shape [2, 2, 3], expected [1, 2, 3]");
}

TEST("on a bound of what is sampled there is no slope") {
  const auto gradients = [](std::vector<double> image, Shape shape, std::vector<double> places, const char* outside) {
    const auto leaf = [](const std::vector<double>& numbers, const Shape& sizes) {
      return reshape(tensor(numbers), sizes).detach().requires_grad_();
    };
    const auto count = static_cast<int64_t>(places.size()) / 2;
    const Tensor x = leaf(image, shape), grid = leaf(places, {1, 1, count, 2});
    sum(nn::grid_sample(x, grid, "bilinear", outside, true)).backward();
    return std::pair(x.grad().to_vector<double>(), grid.grad().to_vector<double>());
  };
  const auto three = [&](const char* outside) {
    return gradients({1, 2, 4}, {1, 1, 1, 3}, {-1, 0, 0, 0, 1, 0}, outside);
  };
  for (const char* outside : {"zeros", "border", "reflection"}) expect_near(three(outside).first, {1, 1, 1});
  expect_near(three("zeros").second, {1, 0, 2, 0, -4, 0});
  expect_near(three("border").second, {0, 0, 2, 0, 0, 0});
  expect_near(three("reflection").second, {0, 0, 2, 0, 0, 0});
  // A single element, whose middle is both corners.
  const auto [image, places] = gradients({1, 2}, {1, 1, 1, 2}, {-0.5, 0.3, 0.4, -0.2}, "reflection");
  expect_near(image, {1.05, 0.95});
  expect_near(places, {0.5, 0, 0.5, 0});
}

TEST("a convolution's trace runs on PyTorch") {
  const Trace trace = record({f32({1, 2, 5}), parameter({3, 2, 2})}, [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{nn::max_pool1d(nn::conv1d(in[0], in[1], {}, 1, "same"), 2)};
  });
  expect_python(trace, R"(
import torch

@torch.no_grad()
def computation(t_0, t_1):
  # t_0: "cpu f32[1, 2, 5]"
  # t_1: "cpu f32[3, 2, 2]"
  t1 = torch.nn.functional.conv1d(t_0, t_1, None, (1,), 'same')  # t1: "cpu f32[1, 3, 5]"
    # t0 = prims.pad(t_0, (0, 0, 0), (0, 0, 1), 0.0)  # t0: "cpu f32[1, 2, 6]"
    # t1 = prims.convolution(t0, t_1, None, (1,), (0,), (1,), False, (0,), 1)  # t1: "cpu f32[1, 3, 5]"
  t2 = torch.nn.functional.max_pool1d(t1, (2,))  # t2: "cpu f32[1, 3, 2]"
    # (t2, t3) = prims.max_pool(t1, (2,), (2,), (0,), (1,), False)  # t2: "cpu f32[1, 3, 2]", t3: "cpu i64[1, 3, 2]"
  return t2
)");
}
