// Products that read the codes of weights of few bits.
#include <sstream>

#include <fulgurite/fulgurite.h>

#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

nn::Linear quantized_layer(int64_t in, int64_t out, nn::Codes codes) {
  nn::Linear layer(in, out);
  layer.quantized = nn::quantize(layer.weight, codes);
  layer.weight = Tensor();
  layer.bias = layer.bias.detach();
  return layer;
}

JitOptions checked() { return {.executors = {"eager"}, .debug = {.check_traces = true}}; }

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}
std::string last_text(const auto& jitted) { return last_traces(jitted).back().cpp({.time = false, .source = false}); }
// The ops without their decompositions.
std::string ops_of(const Trace& trace) {
  std::istringstream text(trace.cpp({.time = false, .source = false}));
  std::string out;
  for (std::string line; std::getline(text, line);)
    if (!line.starts_with("    ")) out += line + "\n";
  return out;
}

}  // namespace

TEST("linear reads the codes of a dequantized weight") {
  manual_seed(1);
  const nn::Linear layer = quantized_layer(64, 32, nn::Codes::q8_0);
  const Tensor x = randn({3, 64});
  const auto jitted = jit([](nn::Linear l, Tensor input) { return l(input); }, checked());
  const NoGrad no_grad;
  expect(equal(jitted(layer, x), layer(x)));
  expect_text(last_text(jitted), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_weight_codes, Tensor t_weight_scales, Tensor t_bias, Tensor t_0) {
  // t_weight_codes: "cpu i8[32, 64]"
  // t_weight_scales: "cpu f16[32, 2]"
  // t_bias: "cpu f32[32]"
  // t_0: "cpu f32[3, 64]"
  auto t6 = prims::linear_of_codes(t_0, t_weight_codes, t_weight_scales, {}, t_bias);  // t6: "cpu f32[3, 32]"
    // t12 = prims::dequantize(t_weight_codes, t_weight_scales, {}, Dtype::f32)  // t12: "cpu f32[32, 64]"
      // t7 = prims::reshape(t_weight_codes, {32, 2, 32})  // t7: "cpu i8[32, 2, 32]"
      // t8 = prims::convert_element_type(t7, Dtype::f32)  // t8: "cpu f32[32, 2, 32]"
      // t9 = prims::convert_element_type(t_weight_scales, Dtype::f32)  // t9: "cpu f32[32, 2]"
      // t10 = prims::unsqueeze(t9, -1)  // t10: "cpu f32[32, 2, 1]"
      // t11 = prims::mul(t8, t10)  // t11: "cpu f32[32, 2, 32]"
      // t12 = prims::reshape(t11, {32, 64})  // t12: "cpu f32[32, 64]"
    // t6 = prims::linear(t_0, t12, t_bias)  // t6: "cpu f32[3, 32]"
  del(t_0, t_weight_codes, t_weight_scales, t_bias);
  return t6;
}
)");
}

TEST("a gradient inside of a program dequantizes a weight where its backward reads it") {
  manual_seed(1);
  const nn::Linear first = quantized_layer(64, 64, nn::Codes::q8_0), second = quantized_layer(64, 64, nn::Codes::q8_0);
  const Tensor x = randn({3, 64});
  const auto gradient = grad([&](Tensor input) {
    const Tensor inner = tanh(first(input));
    return sum(second(inner));
  });
  const auto jitted = jit(gradient, checked());
  expect(equal(jitted(x), gradient(x)));
  expect_text(ops_of(last_traces(jitted).back()), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1, Tensor t_2, Tensor t_3, Tensor t_4, Tensor t_5, Tensor t_6) {
  // t_0: "cpu f32[3, 64]"
  // t_1: "cpu i8[64, 64]"
  // t_2: "cpu f16[64, 2]"
  // t_3: "cpu f32[64]"
  // t_4: "cpu i8[64, 64]"
  // t_5: "cpu f16[64, 2]"
  // t_6: "cpu f32[64]"
  auto t6 = prims::linear_of_codes(t_0, t_1, t_2, {}, t_3);  // t6: "cpu f32[3, 64]"
  del(t_0, t_3);
  auto t7 = tanh(t6);  // t7: "cpu f32[3, 64]"
  del(t6);
  auto t14 = prims::linear_of_codes(t7, t_4, t_5, {}, t_6);  // t14: "cpu f32[3, 64]"
  del(t_6);
  auto t15 = sum(t14);  // t15: "cpu f32[]"
  del(t14);
  auto t16 = ones_like(t15);  // t16: "cpu f32[]"
  del(t15);
  auto t17 = reshape(t16, {1, 1});  // t17: "cpu f32[1, 1]"
  del(t16);
  auto t18 = expand(t17, {3, 64});  // t18: "cpu f32[3, 64]"
  del(t17);
  auto t24 = prims::dequantize(t_4, t_5, {}, Dtype::f32);  // t24: "cpu f32[64, 64]"
  del(t_4, t_5);
  auto t25 = matmul(t18, t24);  // t25: "cpu f32[3, 64]"
  del(t18, t24);
  auto t26 = mul(t7, t7);  // t26: "cpu f32[3, 64]"
  del(t7);
  auto t27 = sub(1, t26);  // t27: "cpu f32[3, 64]"
  del(t26);
  auto t28 = mul(t25, t27);  // t28: "cpu f32[3, 64]"
  del(t25, t27);
  auto t34 = prims::dequantize(t_1, t_2, {}, Dtype::f32);  // t34: "cpu f32[64, 64]"
  del(t_1, t_2);
  auto t35 = matmul(t28, t34);  // t35: "cpu f32[3, 64]"
  del(t28, t34);
  return t35;
}
)");
}

TEST("codes are saved for a backward of its own, not the numbers") {
  manual_seed(1);
  for (const nn::Codes codes : {nn::Codes::q8_0, nn::Codes::q4_0, nn::Codes::q4_1}) {
    const nn::Linear layer = quantized_layer(64, 32, codes);
    const Tensor x = randn({3, 64}).requires_grad_();
    const auto jitted = jit([](nn::Linear l, Tensor input) { return l(input); }, checked());
    sum(jitted(layer, x)).backward();
    const Tensor gradient = x.grad();
    x.set_grad({});
    sum(layer(x)).backward();
    expect(equal(gradient, x.grad()));
    const std::string forward = ops_of(last_traces(jitted).back());
    expect_equal(count(forward, "linear_of_codes("), 1);
    expect_equal(count(forward, "dequantize("), 0);
    const std::string backward = ops_of(last_backward_traces(jitted).back());
    expect_equal(count(backward, "dequantize("), 1);
    expect_equal(count(backward, "f32[32, 64]"), 1);  // the numbers are not an argument
  }
}

TEST("autocast rounds the numbers of codes as a part of the dequantization") {
  manual_seed(1);
  const nn::Linear layer = quantized_layer(64, 32, nn::Codes::q4_0);
  const Tensor x = randn({3, 64});
  const auto step = [](nn::Linear l, Tensor input) {
    const AutocastScope scope(Dtype::bf16);
    return l(input);
  };
  const auto jitted = jit(step, checked());
  const NoGrad no_grad;
  const Tensor found = jitted(layer, x);
  expect_equal(found.dtype(), Dtype::bf16);
  expect(equal(found, step(layer, x)));
  const std::string ops = ops_of(last_traces(jitted).back());
  expect_equal(count(ops, "linear_of_codes("), 1);
  expect_equal(count(ops, "dequantize("), 0);
}

TEST("numbers that are returned, or read by other operators too, keep their values") {
  manual_seed(1);
  const nn::Linear layer = quantized_layer(64, 64, nn::Codes::q4_1);
  const Tensor x = randn({3, 64});
  const auto several = [](nn::Linear l, Tensor input) {
    const Tensor numbers = l.quantized->dequantized();
    const Tensor first = nn::linear(input, numbers);
    const Tensor second = matmul(first, numbers);
    const Tensor third = sum(numbers * 2, {0});
    return std::vector<Tensor>{second + third, numbers};
  };
  const auto jitted = jit(several, checked());
  const NoGrad no_grad;
  const std::vector<Tensor> found = jitted(layer, x), expected = several(layer, x);
  for (size_t i = 0; i < found.size(); ++i) expect(equal(found[i], expected[i]));
  expect_equal(count(ops_of(last_traces(jitted).back()), "linear_of_codes("), 1);
}

TEST("codes that are written in between are dequantized before") {
  manual_seed(1);
  const nn::QuantizedWeight weight = nn::quantize(randn({8, 32}), nn::Codes::q8_0);
  const auto step = [](nn::QuantizedWeight w, Tensor input) {
    const Tensor numbers = w.dequantized();
    zero_(w.codes);
    const Tensor y = nn::linear(input, numbers);
    return std::vector<Tensor>{y, w.dequantized()};
  };
  const NoGrad no_grad;
  const auto run = [&](const auto& function) {
    const nn::QuantizedWeight own{weight.codes.clone(), weight.scales.clone(), {}};
    return function(own, ones({2, 32}));
  };
  const std::vector<Tensor> expected = run(step), found = run(jit(step, checked()));
  for (size_t i = 0; i < found.size(); ++i) expect(equal(found[i], expected[i]));
  expect(!equal(found[0], zeros_like(found[0])));
}

TEST("symbolic sizes") {
  manual_seed(1);
  const nn::Linear layer = quantized_layer(64, 32, nn::Codes::q8_0);
  JitOptions options = checked();
  options.cache = Cache::symbolic_values;
  const auto jitted = jit([](nn::Linear l, Tensor input) { return l(input); }, options);
  const NoGrad no_grad;
  for (const int64_t rows : {1, 3, 20}) {
    const Tensor x = randn({rows, 64});
    expect(equal(jitted(layer, x), layer(x)));
  }
}
