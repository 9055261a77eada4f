#include <fulgurite/quantized_weight.h>

#include <algorithm>
#include <cmath>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "runtime/threads/parallel_for.h"
#include "support/text/text.h"
#include "tensor/half.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

constexpr int64_t group = 32;

template <class Element>
Element* elements_of(const Tensor& tensor) {
  return reinterpret_cast<Element*>(tensor.impl()->data());
}

/// A group's codes and its two numbers.
struct Group {
  const float* numbers;
  uint8_t* codes;
  Float16* scale;
  Float16* minimum;
};

// 0 where the scale has no inverse.
float inverse(float scale) {
  const float inverted = 1 / scale;
  return std::isfinite(inverted) ? inverted : 0;
}
int clamped(float code) { return std::clamp(static_cast<int>(code), 0, 15); }

void pack(const int* codes, uint8_t* to) {
  for (int j = 0; j < group / 2; ++j) to[j] = static_cast<uint8_t>(codes[j] | codes[j + group / 2] << 4);
}

void quantize_q8_0(const Group& g) {
  float largest = 0;
  for (int j = 0; j < group; ++j) largest = std::max(largest, std::fabs(g.numbers[j]));
  const float scale = largest / 127, factor = inverse(scale);
  *g.scale = Float16(scale);
  for (int j = 0; j < group; ++j)
    g.codes[j] = static_cast<uint8_t>(static_cast<int8_t>(std::round(g.numbers[j] * factor)));
}

void quantize_q4_0(const Group& g) {
  float largest = 0;
  for (int j = 0; j < group; ++j)
    if (std::fabs(g.numbers[j]) > std::fabs(largest)) largest = g.numbers[j];
  const float scale = largest / -8, factor = inverse(scale);
  *g.scale = Float16(scale);
  int codes[group];
  for (int j = 0; j < group; ++j) codes[j] = clamped(g.numbers[j] * factor + 8.5f);
  pack(codes, g.codes);
}

void quantize_q4_1(const Group& g) {
  const auto [least, largest] = std::minmax_element(g.numbers, g.numbers + group);
  const float scale = (*largest - *least) / 15, factor = inverse(scale);
  *g.scale = Float16(scale);
  *g.minimum = Float16(*least);
  int codes[group];
  for (int j = 0; j < group; ++j) codes[j] = clamped((g.numbers[j] - *least) * factor + 0.5f);
  pack(codes, g.codes);
}

using Quantize = void (*)(const Group&);
Quantize function_of(Codes codes) {
  if (codes == Codes::q8_0) return &quantize_q8_0;
  return codes == Codes::q4_0 ? &quantize_q4_0 : &quantize_q4_1;
}

void check(const Tensor& weight) {
  if (!weight.defined() || weight.ndim() != 2 || !is_floating(weight.dtype()))
    throw UserError("quantize: the weight must be a matrix of floating-point numbers");
  if (weight.size(1).hint() % group != 0)
    throw UserError(
        text::cat("quantize: the weight has ", weight.size(1).hint(), " columns, which is not a multiple of ", group));
}

// Some rows at a time as f32, so that a weight of another dtype is not in memory twice.
constexpr int64_t rows_together = 4096;

}  // namespace

Tensor QuantizedWeight::dequantized(Dtype dtype, SourceLocation at) const {
  return prims::dequantize(codes, scales, minima, dtype, at);
}

QuantizedWeight quantize(const Tensor& weight, Codes codes) {
  check(weight);
  const NoGrad no_grad;
  const int64_t rows = weight.size(0).hint(), groups = weight.size(1).hint() / group;
  const bool is_packed = codes != Codes::q8_0;
  const int64_t bytes = is_packed ? group / 2 : group;
  QuantizedWeight out;
  out.codes = empty({rows, groups * bytes}, {.dtype = is_packed ? Dtype::u8 : Dtype::i8});
  out.scales = empty({rows, groups}, {.dtype = Dtype::f16});
  if (codes == Codes::q4_1) out.minima = empty({rows, groups}, {.dtype = Dtype::f16});
  auto* const to = elements_of<uint8_t>(out.codes);
  auto* const scales = elements_of<Float16>(out.scales);
  auto* const minima = codes == Codes::q4_1 ? elements_of<Float16>(out.minima) : nullptr;
  const Quantize quantize_group = function_of(codes);
  for (int64_t begin = 0; begin < rows; begin += rows_together) {
    const int64_t some = std::min(rows_together, rows - begin);
    const Tensor part = narrow(weight.detach(), 0, begin, some);
    const Tensor numbers = contiguous(part.to(Dtype::f32));
    if (!all(isfinite(numbers)).item<bool>()) throw UserError("quantize: the weight has numbers that are not finite");
    const float* const from = elements_of<float>(numbers);
    parallel_for(some * groups, 256, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t at = begin * groups + i;
        quantize_group({from + i * group, to + at * bytes, scales + at, minima == nullptr ? nullptr : minima + at});
      }
    });
  }
  return out;
}

}  // namespace fulgurite::nn
