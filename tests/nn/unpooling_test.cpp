#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.

TEST("max_unpool2d returns maxima to their indices, in a chosen size") {
  const Tensor x = wave({1, 2, 4, 5}).detach().requires_grad_();
  const auto [pooled, indices] = nn::MaxPool2d(2).forward_with_indices(x);
  const Tensor back = nn::MaxUnpool2d(2)(pooled, indices, {4, 5});
  expect_near(values(back),
              {0,
               0.6442176872,
               0.98544973,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.9881682339,
               0.8545989081,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.9906073557,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.6819636201,
               0,
               0.8366556385,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.9946447739,
               0},
              1e-9);
  expect_equal(values(nn::max_unpool2d(pooled, indices, 2, {}, 0, {1, 2, 4, 5})), values(back));
  sum(back * wave({1, 2, 4, 5}, 0.3)).backward();
  expect_near(values(x.grad()),
              {0,
               0.8414709848,
               0.9916648105,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.9893582466,
               0.6629692301,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.9867719643,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.8676441006,
               0,
               0.6374225962,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0.9807632477,
               0},
              1e-9);
}

TEST("max_unpool1d and max_unpool3d do so in other dimensions") {
  const auto [lines, line_indices] = nn::MaxPool1d(3, {.stride = 2}).forward_with_indices(wave({2, 7}));
  expect_near(values(nn::MaxUnpool1d(3, {.stride = 2})(lines, line_indices)),
              {0, 0, 0.98544973, 0, 0.3349881502, 0, 0, 0, 0, 0.01681390048, 0, 0.9881682339, 0, 0}, 1e-9);
  const auto [volumes, indices] = nn::MaxPool3d(2).forward_with_indices(wave({1, 1, 2, 4, 2}));
  expect_near(values(nn::MaxUnpool3d(2)(volumes, indices)),
              {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.9881682339, 0.8545989081, 0, 0, 0}, 1e-9);
}

TEST("max_unpool2d passes gradcheck, takes strided and empty inputs, and has its eager values in jit") {
  const Tensor indices = tensor({{{5, 7}, {13, 15}}}), x = wave({1, 2, 2}).transpose(1, 2).detach().requires_grad_();
  const auto unpool = [&](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{nn::max_unpool2d(inputs[0], indices, 2)};
  };
  expect_equal(gradcheck(unpool, {x}), "");
  const auto jitted = jit([](const Tensor& input, const Tensor& at) { return nn::max_unpool2d(input, at, 2); });
  expect_equal(values(jitted(x, indices)), values(nn::max_unpool2d(x, indices, 2)));
  const Tensor nothing = empty({0, 2, 2, 2}), no_indices = empty({0, 2, 2, 2}, {.dtype = Dtype::i64});
  expect_equal(nn::max_unpool2d(nothing, no_indices, 2).shape(), Shape{0, 2, 4, 4});
  expect_equal(nn::max_unpool2d(x.to(Dtype::bf16), indices, 2).dtype(), Dtype::bf16);
}

TEST("unpooling's errors say what does not fit") {
  const Tensor x = wave({1, 2, 2}), indices = tensor({{{5, 7}, {13, 15}}});
  expect_error(
      [&] {
        nn::max_unpool2d(x, indices, 2, {}, 0, {7, 4});
      },
      "max_unpool2d: size 0 of output_size must be between 2 and 6, not 7");
  expect_error([&] { nn::max_unpool2d(x, indices, 2, {}, 0, {4}); },
               "max_unpool2d: output_size must have 2 sizes, not 1");
  expect_error([&] { nn::max_unpool2d(x, x, 2); },
               "max_unpool2d: indices must be i64 in the shape of the input, [1, 2, 2], not cpu f64[1, 2, 2]");
  expect_error([&] { nn::max_unpool3d(x, indices, 2); },
               "max_unpool3d: the input has 4 or 5 dimensions, not cpu f64[1, 2, 2]");
  expect_error(
      [&] {
        nn::max_unpool2d(x, indices, {2, 2, 2});
      },
      "max_unpool2d: kernel_size must be 1 or 2 numbers, not 3");
  expect_error([&] { nn::max_unpool2d(Tensor(), indices, 2); },
               "max_unpool2d: the input or indices are an undefined tensor");
}

TEST("LPPool1d to LPPool3d are layers of lp_pool") {
  expect_near(values(nn::LPPool1d(3, 2)(wave({2, 7}))),
              {0.6442176872, 1.169652121, NAN, NAN, 0.6569902696, 1.166937759}, 1e-8);
  const Tensor images = wave({1, 2, 4, 5});
  const auto pooled = values(nn::LPPool2d(2, 2, {.stride = 1})(images));
  expect_equal(pooled.size(), 24u);
  expect_near(pooled[0], 1.139170588, 1e-8);
  expect_near(pooled[23], 1.849200455, 1e-8);
  expect_near(values(nn::LPPool3d(2, 2)(wave({1, 1, 2, 4, 2}))), {1.984476287, 1.923657464}, 1e-8);
  const auto third = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{nn::lp_pool3d(x[0], 2, 2)}; };
  expect_equal(gradcheck(third, {(wave({1, 1, 2, 4, 2}) + 2).detach().requires_grad_()}), "");
}

TEST("fractional_max_pool2d pools windows at the distances that samples choose") {
  const Tensor samples = tensor({{{0.1, 0.8}, {0.55, 0.3}}}, {.dtype = Dtype::f64});
  const Tensor images = wave({1, 2, 7, 6}).detach().requires_grad_();
  const auto [pooled, indices] = nn::fractional_max_pool2d_with_indices(images, {2, 3}, {3, 2}, samples);
  expect_near(values(pooled),
              {0.98544973, 0.9881682339, 0.9906073557, 0.8457468311, 0.9946447739, 0.8273279006, 0.8177662545,
               0.9962419288, 0.7979521167, 0.9985908724, 0.9993419971, 0.9998105806},
              1e-9);
  expect_equal(indices.to_vector<int64_t>(), std::vector<int64_t>{2, 11, 20, 21, 38, 39, 6, 5, 24, 23, 32, 41});
  expect_near(
      values(nn::fractional_max_pool2d(images, 2, {1, 4}, samples)),
      {0.8366556385, 0.9946447739, 0.9946447739, 0.2709057883, 0.7409726108, 0.9993419971, 0.787705227, 0.9998105806},
      1e-9);
  const auto pool = [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{nn::fractional_max_pool2d(x[0], {2, 3}, {3, 2}, samples)};
  };
  expect_equal(gradcheck(pool, {images}), "");
  expect_equal(nn::fractional_max_pool2d(images(0), 2, 3).shape(), Shape{2, 3, 3});
  expect_error(
      [&] {
        nn::fractional_max_pool2d(images, 3, {6, 2});
      },
      "fractional_max_pool2d: 6 windows of 3 do not fit into a size of 7");
  expect_error([&] { nn::fractional_max_pool2d(images, 2, 3, samples(0)); },
               "fractional_max_pool2d: samples must be [1, 2, 2], not cpu f64[2, 2]");
}

TEST("fractional_max_pool3d pools windows of volumes") {
  const Tensor samples = tensor({{{0.1, 0.8, 0.4}, {0.55, 0.3, 0.9}}}, {.dtype = Dtype::f64});
  const Tensor volumes = wave({1, 2, 4, 5, 3}).detach().requires_grad_();
  const auto [pooled, indices] = nn::fractional_max_pool3d_with_indices(volumes, {2, 2, 1}, {2, 3, 2}, samples);
  expect_near(values(pooled),
              {0.863209366649, 0.990607355695, 0.863209366649, 0.990607355695, 0.854598908088, 0.992766405836,
               0.836655638536, 0.996241928755, 0.817766254526, 0.994644773878, 0.827327900595, 0.997557418908,
               0.787705226984, 0.998590872412, 0.797952116723, 0.999810580553, 0.777235631526, 0.999341997081,
               0.766546290389, 0.999996490346, 0.766546290389, 0.999520158581, 0.755640225739, 0.999899673897},
              1e-9);
  expect_equal(indices.to_vector<int64_t>(), std::vector<int64_t>{3,  20, 3, 20, 12, 29, 30, 47, 48, 38, 39, 56,
                                                                  15, 5,  6, 23, 24, 14, 33, 32, 33, 50, 42, 41});
  const auto pool = [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{nn::fractional_max_pool3d(x[0], 2, {2, 3, 2}, samples)};
  };
  expect_equal(gradcheck(pool, {volumes}), "");
  const nn::FractionalMaxPool3d layer(2, {.output_ratio = {0.5, 0.6, 0.7}});
  expect_equal(layer(volumes).shape(), Shape{1, 2, 2, 3, 2});
  expect_error([&] { nn::fractional_max_pool3d(volumes(0, 0), 2, 2); },
               "fractional_max_pool3d: the input must be floating, [N, C, D, H, W] or [C, D, H, W]");
  expect_error(
      [&] {
        nn::fractional_max_pool3d(volumes, 2, {3, 5, 2}, samples);
      },
      "fractional_max_pool3d: 5 windows of 2 do not fit into a size of 5");
  expect_error(
      [] {
        nn::FractionalMaxPool3d(2, {.output_ratio = {0.5, 0.6}});
      },
      "fractional_max_pool3d: output_ratio must be 1 or 3 numbers, not 2");
}

TEST("RReLU draws slopes in training and takes their mean otherwise") {
  const Tensor x = wave({7});
  expect_near(values(nn::rrelu(x, 0.1, 0.3)),
              {0, 0.6442176872, 0.98544973, 0.8632093666, 0.3349881502, -0.07015664554, -0.1743151545}, 1e-9);
  manual_seed(3);
  nn::RReLU layer(0.1, 0.3);
  const Tensor negative = full({1000}, -1.0, {.requires_grad = true}), out = layer(negative);
  expect(max(out).item<double>() <= -0.1 && min(out).item<double>() >= -0.3);
  expect_near(mean(out).item<double>(), -0.2, 0.02);
  expect_greater(out.std().item<double>(), 0.05);
  sum(out).backward();
  expect_equal(values(negative.grad()), values(-out));
  nn::eval(layer);
  expect_near(values(layer(negative))[0], -0.2, 1e-6);
  expect_error([&] { nn::rrelu(x, 0.5, 0.3); }, "rrelu: lower must not be above upper: 0.5 and 0.3");
  expect_error([&] { nn::rrelu(tensor({1, 2})); }, "rrelu: the input must be a floating tensor");
}
