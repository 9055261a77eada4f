#include <cmath>
#include <cstring>
#include <limits>

#include "executors/fused.h"
#include "ops/generated/symbols.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr Dtype floating[] = {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16};
const Argument none;

}  // namespace

TEST("softmax and log_softmax along any dimension") {
  for (const Dtype dtype : floating) {
    const double tolerance = tolerance_of(dtype) * 4;
    const Tensor x = make({3, 37, 21}, dtype, -5, 5, 1), g = make({3, 37, 21}, dtype, -1, 1, 2);
    const Tensor turned = transpose(make({21, 37, 3}, dtype, -5, 5, 3), 0, 2);
    for (int64_t dim = -3; dim < 3; ++dim)
      for (const Tensor& input : {x, turned}) {
        expect_as_decomposed(softmax_symbol, {input, Int(dim), none}, tolerance);
        expect_as_decomposed(log_softmax_symbol, {input, Int(dim), none}, tolerance);
        expect_as_decomposed(prims_softmax_backward_symbol, {g, softmax(input, dim), Int(dim)}, tolerance);
        expect_as_decomposed(prims_log_softmax_backward_symbol, {g, log_softmax(input, dim), Int(dim)}, tolerance * 8);
      }
    expect_as_decomposed(softmax_symbol, {make({}, dtype, 1, 2), Int(0), none}, tolerance);
    expect_as_decomposed(log_softmax_symbol, {make({5000}, dtype, -1, 1), Int(0), none}, tolerance * 4);
  }
  expect_equal(softmax(make({0, 4}, Dtype::f32, 0, 1), 1).shape(), Shape({0, 4}));
  expect_equal(softmax(make({4, 0}, Dtype::f32, 0, 1), 1).shape(), Shape({4, 0}));
  expect_near(elements(softmax(tensor(std::vector<int64_t>{1, 1, 1, 1}), 0, Dtype::f32)), {0.25, 0.25, 0.25, 0.25});
}

TEST("softmax of infinities and large numbers") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = make({3, 3}, Dtype::f32, {1000, 1001, -infinity, -infinity, 0, 0, -infinity, -infinity, -infinity});
  const std::vector<double> y = elements(softmax(x, 1));
  expect_near(y[0], 1 / (1 + std::exp(1.0)));
  expect_equal(y[2], 0.0);
  expect_equal(y[3], 0.0);
  expect_equal(y[4], 0.5);
  expect(std::isnan(y[6]));
}

TEST("layer normalization and its cotangents") {
  for (const Dtype dtype : floating) {
    const double tolerance = tolerance_of(dtype) * 8;
    for (const int64_t width : {1, 5, 16, 48, 131}) {
      const Tensor x = make({3, 40, width}, dtype, -2, 3, 1), g = make({3, 40, width}, dtype, -1, 1, 2);
      const Tensor weight = make({width}, dtype, 0.5, 2, 3), bias = make({width}, dtype, -1, 1, 4);
      const Shape shape({width});
      for (const bool weighted : {true, false}) {
        const Argument w = weighted ? Argument(weight) : none, b = weighted ? Argument(bias) : none;
        expect_as_decomposed(prims_layer_norm_symbol, {x, shape, w, b, Float(1e-2)}, tolerance);
        Results saved;
        const Argument forward[] = {x, shape, w, b, Float(1e-2)};
        dispatch(prims_layer_norm_symbol, forward, SourceLocation::here(), saved);
        const double sums = dtype == Dtype::bf16 || dtype == Dtype::f16 ? 4 : 1;  // sums of many rounded terms
        expect_as_decomposed(prims_layer_norm_backward_symbol, {g, x, saved[1], saved[2], w, shape}, tolerance * sums);
      }
    }
  }
  const Tensor x = transpose(make({6, 5, 4}, Dtype::f32, -1, 1, 5), 0, 2);
  const Shape last_two({5, 6});
  expect_as_decomposed(prims_layer_norm_symbol, {x, last_two, make({5, 6}, Dtype::f32, 0, 1, 6), none, Float(1e-5)},
                       1e-5);
  const Shape shape({7});
  const Tensor empty = make({0, 7}, Dtype::f32, 0, 1);
  const auto [dx, dweight, dbias] = prims::layer_norm_backward(empty, empty, make({0, 1}, Dtype::f32, 0, 1),
                                                               make({0, 1}, Dtype::f32, 0, 1), {}, shape);
  expect_near(elements(dweight), std::vector<double>(7, 0.0));
}

TEST("a row of one number has no gradient, not even a rounded one") {
  const Tensor x = make({20, 1}, Dtype::f32, -9, 9, 1), g = make({20, 1}, Dtype::f32, -2, 2, 2);
  const Tensor weight = make({1}, Dtype::f32, 8, 9, 3);
  const auto [y, mean, rstd] = prims::layer_norm(x, {1}, weight, {}, 1e-5);
  const auto [dx, dweight, dbias] = prims::layer_norm_backward(g, x, mean, rstd, weight, {1});
  for (const double slope : elements(dx)) expect_equal(slope, 0.0);
}

TEST("statistics that do not fit the input are refused") {
  const Tensor x = make({4, 3}, Dtype::f32, -1, 1, 1), row = make({4, 1}, Dtype::f32, 1, 2, 2);
  expect_error(
      [&] {
        prims::layer_norm_backward(x, x, make({3, 1}, Dtype::f32, 0, 1, 3), row, {}, {3});
      },
      "mean and rstd have shapes [3, 1] and [4, 1], expected [4, 1]");
  expect_error([&] { prims::layer_norm_backward(row, x, row, row, {}, {3}); },
               "grad has shape [4, 1], the input [4, 3]");
}

TEST("normalizations do not depend on the number of threads") {
  const Tensor x = make({1000, 48}, Dtype::f32, -1, 1, 1), g = make({1000, 48}, Dtype::f32, -1, 1, 2);
  const Tensor weight = make({48}, Dtype::f32, -1, 1, 3);
  expect_same_bits([&] {
    const auto [y, mean, rstd] = prims::layer_norm(x, {48}, weight, {}, 1e-5);
    const auto [dx, dweight, dbias] = prims::layer_norm_backward(g, x, mean, rstd, weight, {48});
    const Tensor rows = softmax(x, 1), columns = softmax(x, 0);
    return std::vector<Tensor>{y, dx, dweight, dbias, rows, columns, prims::softmax_backward(g, rows, 1)};
  });
}

TEST("large results, which are stored past the caches, are those of their parts") {
  const auto bits_of_part = [](const Tensor& whole, const Tensor& part) {
    const Tensor given = narrow(whole, 0, 4000, 100).contiguous(), wanted = part.contiguous();
    return std::memcmp(given.data_pointer(), wanted.data_pointer(),
                       static_cast<size_t>(given.numel().hint() * size_of(given.dtype()))) == 0;
  };
  manual_seed(1);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16})
    for (const int64_t columns : {1024, 1019}) {
      const int64_t rows = dtype == Dtype::bf16 ? 8400 : 4200;
      const Tensor x = randn({rows, columns}, {.dtype = dtype}), g = randn({rows, columns}, {.dtype = dtype});
      const Tensor w = randn({columns}, {.dtype = dtype}), b = randn({columns}, {.dtype = dtype});
      const Tensor part = narrow(x, 0, 4000, 100), part_of_g = narrow(g, 0, 4000, 100), y = softmax(x, -1),
                   log_y = log_softmax(x, -1);
      expect(bits_of_part(y, softmax(part, -1)), "softmax");
      expect(bits_of_part(log_y, log_softmax(part, -1)), "log_softmax");
      expect(bits_of_part(prims::softmax_backward(g, y, -1),
                          prims::softmax_backward(part_of_g, narrow(y, 0, 4000, 100), -1)),
             "softmax_backward");
      expect(bits_of_part(prims::log_softmax_backward(g, log_y, -1),
                          prims::log_softmax_backward(part_of_g, narrow(log_y, 0, 4000, 100), -1)),
             "log_softmax_backward");
      const auto [normal, mean, rstd] = prims::layer_norm(x, {columns}, w, b, 1e-5);
      const auto [normal_of_part, mean_of_part, rstd_of_part] = prims::layer_norm(part, {columns}, w, b, 1e-5);
      expect(bits_of_part(normal, normal_of_part), "layer_norm");
      const auto [dx, dw, db] = prims::layer_norm_backward(g, x, mean, rstd, w, {columns});
      const auto [dx_of_part, dw_of_part, db_of_part] =
          prims::layer_norm_backward(part_of_g, part, mean_of_part, rstd_of_part, w, {columns});
      expect(bits_of_part(dx, dx_of_part), "layer_norm_backward");
    }
}

TEST("the negative log likelihood and its cotangent") {
  for (const Dtype dtype : floating) {
    const Tensor input = make({4, 5, 3}, dtype, -3, 0, 1), flat = make({9, 5}, dtype, -3, 0, 2),
                 single = make({5}, dtype, -3, 0, 3);
    const Tensor target = make({4, 3}, Dtype::i64, {0, 1, 2, 3, 4, 0, 1, -100, 3, 4, 4, 2});
    const Tensor flat_target = make({9}, Dtype::i64, {0, 1, 2, 3, 4, 0, -100, 2, 2}), one = make({}, Dtype::i64, {2});
    const Tensor weight = make({5}, dtype, 0.5, 2, 4);
    const double tolerance = tolerance_of(dtype) * 4;
    for (const std::string_view reduction : {"mean", "sum", "none"})
      for (const Argument& w : {none, Argument(weight)}) {
        for (const auto& [x, t] : {std::pair(input, target), std::pair(flat, flat_target), std::pair(single, one)}) {
          expect_as_decomposed(nll_loss_symbol, {x, t, w, none, Int(-100), none, reduction}, tolerance);
          const Tensor g =
              reduction == "none" ? make(t.shape().to_vector(), dtype, -1, 1, 5) : make({}, dtype, 1, 2, 6);
          expect_as_decomposed(prims_nll_loss_backward_symbol, {g, t, w, Int(5), Int(-100), reduction}, tolerance);
        }
      }
  }
  expect_error([] { nn::nll_loss(make({2, 3}, Dtype::f32, 0, 1), tensor(std::vector<int64_t>{0, 3})); }, "3");
}

TEST("AdamW's step") {
  const Tensor step = make({}, Dtype::f32, {3}), rate = make({}, Dtype::f32, {0.01});
  for (const Dtype dtype : floating) {
    const std::vector<int64_t> shape = {5, 701};
    const Tensor p = make(shape, dtype, -1, 1, 1), g = make(shape, dtype, -1, 1, 2), m = make(shape, dtype, -1, 1, 3);
    const Tensor v = make(shape, dtype, 0, 1, 4);
    const auto arguments = [&](const Tensor& first, const Tensor& second) {
      return std::vector<Argument>{p, g, first, second, step, rate, Float(0.9), Float(0.95), Float(1e-8), Float(0.1)};
    };
    expect_as_decomposed(prims_adamw_symbol, arguments(m, v), tolerance_of(dtype) * 2);
    const Tensor wide_m = m.to(Dtype::f32), wide_v = v.to(Dtype::f32);
    expect_as_decomposed(prims_adamw_symbol, arguments(wide_m, wide_v), std::max(tolerance_of(dtype), 1e-6) * 2);
  }
}
