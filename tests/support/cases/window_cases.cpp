// Convolutions, pooling, sliding windows, interpolation and grids.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

using Keywords = OperatorCase::Keywords;

void add_convolution_cases(std::vector<OperatorCase>& out) {
  const auto conv = [&](int count, std::vector<int64_t> input, std::vector<int64_t> weight, Keywords options = {},
                        bool bias = false) {
    const std::string name = "torch.nn.functional.conv" + std::to_string(count) + "d";
    const int64_t rows = weight[0];
    if (bias)
      out.push_back({name, {floats(std::move(input)), floats(std::move(weight)), floats({rows})}, std::move(options)});
    else out.push_back({name, {floats(std::move(input)), floats(std::move(weight))}, std::move(options)});
  };
  conv(1, {2, 2, 5}, {3, 2, 3}, {}, true);
  conv(1, {2, 7}, {3, 2, 2}, {{"stride", 3}, {"padding", 1}}, true);
  conv(1, {1, 2, 6}, {2, 1, 3}, {{"groups", 2}, {"dilation", 2}, {"padding", "same"}});
  conv(1, {1, 2, 5}, {1, 2, 2}, {{"padding", "same"}});
  conv(1, {1, 1, 5}, {1, 1, 2}, {{"padding", "valid"}, {"stride", {2}}});
  conv(1, {0, 2, 5}, {3, 2, 3}, {}, true);
  conv(2, {2, 2, 4, 5}, {3, 2, 2, 3}, {}, true);
  conv(2, {1, 4, 4, 4}, {4, 2, 3, 2}, {{"stride", {2, 1}}, {"padding", {1, 0}}, {"dilation", {1, 2}}, {"groups", 2}},
       true);
  conv(2, {2, 4, 4}, {2, 1, 2, 2}, {{"groups", 2}, {"padding", 1}, {"stride", 2}});
  conv(2, {2, 3, 2, 2}, {2, 3, 1, 1}, {}, true);
  conv(2, {1, 1, 3, 4}, {1, 1, 2, 3}, {{"padding", "same"}});
  conv(3, {1, 2, 3, 2, 3}, {2, 2, 2, 1, 2}, {{"stride", {1, 1, 2}}, {"padding", {1, 0, 1}}}, true);
  conv(3, {1, 3, 2, 3}, {2, 1, 2, 2, 2}, {{"padding", "same"}});

  const auto transposed = [&](int count, std::vector<int64_t> input, std::vector<int64_t> weight, int64_t rows,
                              Keywords options = {}) {
    const std::string name = "torch.nn.functional.conv_transpose" + std::to_string(count) + "d";
    out.push_back({name, {floats(std::move(input)), floats(std::move(weight)), floats({rows})}, std::move(options)});
  };
  transposed(1, {2, 2, 3}, {2, 3, 3}, 3);
  transposed(1, {2, 4}, {2, 1, 3}, 1, {{"stride", 2}, {"padding", 1}, {"output_padding", 1}});
  transposed(1, {1, 2, 3}, {2, 2, 2}, 4, {{"groups", 2}, {"stride", 2}, {"dilation", 3}, {"output_padding", 1}});
  transposed(2, {1, 2, 2, 3}, {2, 2, 3, 2}, 2, {{"stride", {3, 2}}, {"padding", {1, 0}}, {"output_padding", {2, 1}}});
  transposed(2, {2, 3, 2}, {2, 1, 2, 2}, 2, {{"groups", 2}, {"dilation", {2, 1}}});
  transposed(3, {3, 1, 2, 2, 2}, {1, 2, 2, 1, 2}, 2, {{"stride", {1, 2, 2}}});

  const auto ones = [](size_t count) { return std::vector<int64_t>(count, 1); };
  const auto zeros = [](size_t count) { return std::vector<int64_t>(count, 0); };
  out.push_back({"prims.convolution",
                 {floats({2, 2, 4}), floats({3, 2, 2}), floats({3}), ones(1), {1}, {2}, false, zeros(1), 1}});
  out.push_back({"prims.convolution",
                 {floats({1, 2, 3, 2}), floats({2, 1, 2, 3}), None, {3, 2}, {1, 2}, {4, 4}, true, {2, 1}, 2}});
  out.push_back(
      {"prims.convolution_weight", {floats({2, 3, 3}), floats({2, 2, 4}), {2}, ones(1), zeros(1), ones(1), 1}});
  out.push_back(
      {"prims.convolution_weight", {floats({1, 4, 2, 2}), floats({1, 2, 4, 6}), {2, 3}, {2, 3}, {1, 1}, {2, 1}, 2}});
  out.push_back(
      {"prims.convolution_weight", {floats({0, 3, 3}), floats({0, 2, 4}), {2}, ones(1), zeros(1), ones(1), 1}});
}

void add_pooling_cases(std::vector<OperatorCase>& out) {
  const auto name = [](const char* kind, int count, const char* rest = "") {
    return "torch.nn.functional." + std::string(kind) + std::to_string(count) + "d" + rest;
  };
  const auto line = [] { return floats({2, 2, 7}); };
  const auto image = [] { return floats({2, 2, 5, 6}); };
  const auto volume = [] { return floats({1, 2, 3, 4, 3}); };
  for (const char* rest : {"", "_with_indices"}) {
    out.push_back({name("max_pool", 1, rest), {line(), 3}});
    out.push_back({name("max_pool", 1, rest),
                   {floats({2, 6}), 2},
                   {{"stride", 1}, {"padding", 1}, {"dilation", 2}, {"ceil_mode", true}}});
    out.push_back({name("max_pool", 2, rest), {image(), 2}, {{"ceil_mode", true}}});
    out.push_back({name("max_pool", 2, rest),
                   {floats({2, 5, 4}), {3, 2}},
                   {{"stride", {1, 2}}, {"padding", {1, 1}}, {"dilation", {2, 1}}}});
    out.push_back({name("max_pool", 3, rest), {volume(), {2, 2, 1}}, {{"stride", 1}}});
    out.push_back({name("adaptive_max_pool", 1, rest), {line(), 3}});
    out.push_back({name("adaptive_max_pool", 2, rest), {image(), {3, 4}}});
    out.push_back({name("adaptive_max_pool", 2, rest), {floats({2, 3, 4}), {-1, 2}}});
    out.push_back({name("adaptive_max_pool", 3, rest), {volume(), 2}});
  }
  out.push_back({name("avg_pool", 1), {line(), 3}});
  out.push_back({name("avg_pool", 1),
                 {floats({2, 6}), 4},
                 {{"stride", 3}, {"padding", 2}, {"ceil_mode", true}, {"count_include_pad", false}}});
  out.push_back({name("avg_pool", 2), {image(), 2}, {{"ceil_mode", true}}});
  out.push_back({name("avg_pool", 2),
                 {floats({2, 5, 4}), {3, 2}},
                 {{"stride", {2, 1}}, {"padding", {1, 1}}, {"count_include_pad", false}}});
  out.push_back({name("avg_pool", 2), {image(), 3}, {{"padding", 1}, {"divisor_override", 5}}});
  out.push_back({name("avg_pool", 3), {volume(), 2}, {{"stride", 1}, {"padding", 1}}});
  out.push_back({name("adaptive_avg_pool", 1), {line(), 3}});
  out.push_back({name("adaptive_avg_pool", 1), {floats({2, 3}), 5}});
  out.push_back({name("adaptive_avg_pool", 2), {image(), {3, 4}}});
  out.push_back({name("adaptive_avg_pool", 2), {image(), 1}});
  out.push_back({name("adaptive_avg_pool", 2), {floats({2, 3, 4}), {-1, 2}}});
  out.push_back({name("adaptive_avg_pool", 3), {volume(), {2, 3, 1}}});

  out.push_back({"prims.max_pool", {floats({2, 4, 5}), {2, 3}, {2, 1}, {1, 1}, {1, 1}, true}});
  out.push_back({"prims.adaptive_max_pool", {floats({2, 4, 5}), {2, 3}}});
  out.push_back({"prims.avg_pool", {floats({2, 4, 5}), {2, 3}, {2, 1}, {1, 1}, true, false, None}});
  out.push_back({"prims.avg_pool", {floats({2, 5}), {2}, {2}, {0}, true, true, -3}});
  out.push_back({"prims.avg_pool_backward", {floats({2, 3, 5}), {4, 5}, {2, 3}, {2, 1}, {1, 1}, true, false, None}});
  out.push_back({"prims.avg_pool_backward", {floats({2, 2}), {5}, {2}, {2}, {0}, false, true, 3}});
  out.push_back({"prims.adaptive_avg_pool", {floats({2, 4, 5}), {2, 3}}});
  out.push_back({"prims.adaptive_avg_pool_backward", {floats({2, 2, 3}), {4, 5}}});
  out.push_back({"prims.adaptive_avg_pool_backward", {floats({2, 2}), {5}}});
}

void add_folding_cases(std::vector<OperatorCase>& out) {
  const char* unfold = "torch.nn.functional.unfold";
  out.push_back({unfold, {floats({2, 2, 4, 5}), 2}});
  out.push_back({unfold, {floats({1, 5, 6}), {2, 3}}, {{"dilation", {2, 1}}, {"padding", {1, 0}}, {"stride", {1, 2}}}});
  const char* fold = "torch.nn.functional.fold";
  out.push_back({fold, {floats({2, 8, 12}), {4, 5}, 2}});
  out.push_back(
      {fold, {floats({6, 10}), {5, 6}, {2, 3}}, {{"dilation", {2, 1}}, {"padding", {1, 0}}, {"stride", {1, 2}}}});
  out.push_back({"torch.channel_shuffle", {floats({2, 6, 2}), 3}});
}

void add_interpolation_cases(std::vector<OperatorCase>& out) {
  const char* op = "torch.nn.functional.interpolate";
  const auto line = [] { return floats({2, 2, 4}); };
  const auto image = [] { return floats({1, 2, 3, 4}); };
  for (const char* mode : {"nearest", "nearest-exact", "area"}) {
    out.push_back({op, {line(), 6}, {{"mode", mode}}});
    out.push_back({op, {image(), {5, 3}}, {{"mode", mode}}});
    out.push_back({op, {image()}, {{"scale_factor", {1.7, 0.6}}, {"mode", mode}}});
    out.push_back(
        {op, {floats({1, 1, 2, 3, 2})}, {{"scale_factor", 1.6}, {"mode", mode}, {"recompute_scale_factor", true}}});
  }
  for (const bool align_corners : {false, true}) {
    out.push_back({op, {line(), 6}, {{"mode", "linear"}, {"align_corners", align_corners}}});
    out.push_back(
        {op, {floats({1, 1, 2, 3, 2}), {3, 2, 4}}, {{"mode", "trilinear"}, {"align_corners", align_corners}}});
    for (const char* mode : {"bilinear", "bicubic"}) {
      out.push_back({op, {image(), {5, 3}}, {{"mode", mode}, {"align_corners", align_corners}}});
      out.push_back({op, {image()}, {{"scale_factor", 1.7}, {"mode", mode}, {"align_corners", align_corners}}});
      out.push_back({op,
                     {floats({1, 1, 7, 5}), {3, 6}},
                     {{"mode", mode}, {"align_corners", align_corners}, {"antialias", true}}});
    }
  }
  out.push_back({op, {line(), 4}, {{"mode", "linear"}}});
  out.push_back({op, {line(), 4}});
}

void add_grid_cases(std::vector<OperatorCase>& out) {
  const char* op = "torch.nn.functional.grid_sample";
  // No point is on an element's edge or middle, where slopes change.
  for (const char* mode : {"bilinear", "nearest", "bicubic"})
    for (const char* outside : {"zeros", "border", "reflection"})
      for (const bool align_corners : {false, true}) {
        // Points reflected between the corners are never outside them: add_kinks has points on the corners.
        if (align_corners && std::string(mode) == "bilinear" && std::string(outside) == "reflection") continue;
        out.push_back({op,
                       {floats({1, 2, 3, 4}), floats({1, 4, 6, 2}, -2.3, 2.3)},
                       {{"mode", mode}, {"padding_mode", outside}, {"align_corners", align_corners}}});
      }
  out.push_back({op, {floats({1, 1, 3, 3, 4}), floats({1, 2, 3, 4, 3}, -0.9, 0.9)}});
  out.push_back({"torch.nn.functional.affine_grid", {floats({2, 2, 3}), {2, 1, 3, 2}}});
  out.push_back({"torch.nn.functional.affine_grid", {floats({1, 3, 4}), {1, 1, 2, 1, 3}}, {{"align_corners", true}}});
}

// The first of equal elements is the largest; on a bound of the sampled range there is no slope.
void add_kinks(std::vector<OperatorCase>& out) {
  const auto at = [&](const char* op, std::vector<Arg> args, std::vector<std::vector<double>> gradients,
                      Keywords options = {}) {
    out.push_back(OperatorCase(op, std::move(args), std::move(options)).with_gradients(std::move(gradients)));
  };
  const auto row = [](std::vector<double> numbers, Shape shape) {
    return tensor(numbers).reshape(shape).requires_grad_();
  };
  at("torch.nn.functional.max_pool1d", {row({1, 3, 3, 3, 0, 0}, {1, 6}), 2, 1}, {{0, 2, 1, 1, 1, 0}});
  at("torch.nn.functional.adaptive_max_pool1d", {row({2, 2, 1, 1}, {1, 4}), 2}, {{1, 0, 1, 0}});
  at("torch.nn.functional.grid_sample",
     {row({1, 2, 4, 3, 5, 9, 2, 8, 7}, {1, 1, 3, 3}),
      row({-1, 0.25, 1.5, 1, -1.25, -1, 0.25, -1.5, 0.25, 0.75, -3.25, 1.5, 0.5, 3.5, 1, -0.5}, {1, 1, 8, 2})},
     {{0.75, 0.875, 0.875, 0.75, 0.9375, 1.3125, 0.25, 1.1875, 1.0625},
      {0, -1, 1, 0, -1, 0, 3, -3.5, 0.25, 1.75, 1.5, 0.75, 3, 4, 0, 5}},
     {{"padding_mode", "reflection"}, {"align_corners", true}});
}

}  // namespace

void add_window_cases(std::vector<OperatorCase>& out) {
  add_convolution_cases(out);
  add_pooling_cases(out);
  add_folding_cases(out);
  add_interpolation_cases(out);
  add_grid_cases(out);
  add_kinks(out);
}

}  // namespace fulgurite::test
