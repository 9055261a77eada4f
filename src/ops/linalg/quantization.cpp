// Weights of few bits: codes in groups of 32 along the last dimension, and a scale for each group, as in the types
// Q8_0, Q4_0 and Q4_1 of GGUF.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/linalg/operation_counts.h"

namespace fulgurite {
namespace {

constexpr int64_t group = 32;

bool is_packed(const Tensor& codes) { return codes.dtype() == Dtype::u8; }

/// The shape of the numbers that codes stand for.
Shape dequantized_shape(const Tensor& codes) {
  Shape shape = codes.shape();
  if (is_packed(codes)) shape.back() = shape.back() * 2;
  return shape;
}

/// Checks codes, scales and minima.
void check_codes(const Tensor& codes, const Tensor& scales, const Tensor& minima) {
  require(codes.dtype() == Dtype::i8 || is_packed(codes), "codes must be i8, or u8 for two codes in a byte; they are ",
          codes.dtype());
  require(codes.ndim() >= 1, "codes need at least 1 dimension");
  require(is_floating(scales.dtype()), "scales must be floating-point numbers; they are ", scales.dtype());
  Shape shape = dequantized_shape(codes);
  require(shape.back() % group == 0, "the last dimension has ", shape.back().hint(),
          " codes, which is not a multiple of the group of ", group);
  shape.back() = shape.back() / group;
  require(scales.shape() == shape, "scales have shape ", scales.shape(), ", one for each group of ", group, " is ",
          shape);
  if (!minima.defined()) return;
  require(is_packed(codes), "minima are for codes of u8; these are i8");
  require(minima.dtype() == scales.dtype(), "minima are ", minima.dtype(), ", the scales ", scales.dtype());
  require(minima.shape() == shape, "minima have shape ", minima.shape(), ", the scales ", shape);
}

Dtype wanted_dtype(const Argument& dtype) { return dtype.is_none() ? Dtype::f32 : dtype.dtype(); }

/// The codes as numbers, with a dimension for the groups: [..., groups, 32].
Tensor codes_by_group(const Tensor& codes, Shape shape, Dtype dtype, SourceLocation at) {
  if (!is_packed(codes)) return as_dtype(reshape(codes, Dims(shape), at), dtype, at);
  // Byte j of a group has the code of element j in its lower half and that of element j + 16 in its upper half.
  Shape halves = shape;
  halves.back() = 1;
  halves.push_back(group / 2);
  const Tensor bytes = reshape(codes, Dims(halves), at);
  const Tensor one_and_16 = arange(1, 17, 15, {.dtype = Dtype::u8}, at);
  const Tensor divisors = reshape(one_and_16, {2, 1}, at);
  const Tensor shifted = div(bytes, divisors, "floor", at);
  const Tensor each = bitwise_and(shifted, 15, at);
  return as_dtype(reshape(each, Dims(shape), at), dtype, at);
}

constexpr std::string_view dequantize_python =
    "def dequantize(codes, scales, minima, dtype=None):\n"
    "  dtype = dtype or torch.float32\n"
    "  computed = torch.float64 if dtype == torch.float64 else torch.float32\n"
    "  groups = scales.shape + (32,)\n"
    "  if codes.dtype == torch.int8:\n"
    "    numbers = codes.reshape(groups).to(computed)\n"
    "  else:\n"
    "    halves = codes.reshape(scales.shape + (16,))\n"
    "    numbers = torch.cat([halves & 15, halves >> 4], -1).to(computed)\n"
    "    numbers = numbers - 8 if minima is None else numbers\n"
    "  numbers = numbers * scales.to(computed).unsqueeze(-1)\n"
    "  if minima is not None:\n"
    "    numbers = numbers + minima.to(computed).unsqueeze(-1)\n"
    "  return numbers.flatten(-2).to(dtype)\n";

}  // namespace

constinit const Symbol prims_dequantize_symbol{
    .signature = "prims.dequantize(Tensor codes, Tensor scales, Tensor? minima=None, *, Dtype? dtype=None) -> Tensor",
    .documentation =
        "The numbers that quantized ones stand for, in groups of 32 along the last dimension, with one of "
        "scales, and perhaps of minima, for each group. Codes of i8 [..., n]: code * scale (Q8_0 of GGUF). "
        "Codes of u8 [..., n / 2] hold two codes in a byte: byte j of a group's 16 has that of element j in "
        "its lower half, that of j + 16 in its upper half; (code - 8) * scale without minima (Q4_0), code * "
        "scale + minimum with them (Q4_1). Computed in f32, in f64 for a result of f64, and rounded once to "
        "dtype, which is f32 by default.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          check_codes(a[0].tensor(), a[1].tensor(), a[2].tensor_or_none());
          const Dtype dtype = wanted_dtype(a[3]);
          require(is_floating(dtype), "dtype must be a floating-point dtype, it is ", dtype);
          out.push_back({dequantized_shape(a[0].tensor()), dtype, a[0].tensor().device()});
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &codes = a[0].tensor(), &scales = a[1].tensor(), minima = a[2].tensor_or_none();
          const Dtype dtype = wanted_dtype(a[3]), computed = compute_dtype(dtype);
          const Shape shape = dequantized_shape(codes);
          Shape groups = scales.shape();
          groups.push_back(group);
          Tensor numbers = codes_by_group(codes, groups, computed, at);
          if (is_packed(codes) && !minima.defined()) numbers = sub(numbers, 8, 1, at);
          const Tensor wide_scales = as_dtype(scales, computed, at);
          const Tensor each_scale = unsqueeze(wide_scales, -1, at);
          numbers = mul(numbers, each_scale, at);
          if (minima.defined()) {
            const Tensor wide_minima = as_dtype(minima, computed, at);
            const Tensor each_minimum = unsqueeze(wide_minima, -1, at);
            numbers = add(numbers, each_minimum, 1, at);
          }
          const Tensor joined = reshape(numbers, Dims(shape), at);
          out.push_back(as_dtype(joined, dtype, at));
        },
    .python = "dequantize({0}, {1}, {2}, dtype={3})",
    .python_definition = dequantize_python,
    .semantics = {.dequantization = true},
};

constinit const Symbol prims_linear_of_codes_symbol{
    .signature =
        "prims.linear_of_codes(Tensor input, Tensor codes, Tensor scales, Tensor? minima=None, Tensor? bias=None) -> "
        "Tensor",
    .documentation =
        "linear with the weight dequantize(codes, scales, minima) [out, in] in the dtype of the input: its kernel "
        "dequantizes the rows of the weight that it multiplies.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &codes = a[1].tensor(), bias = a[4].tensor_or_none();
          require(is_floating(input.dtype()), "input must be of floating-point numbers; it is ", input.dtype());
          check_codes(codes, a[2].tensor(), a[3].tensor_or_none());
          require(codes.ndim() == 2, "codes must have 2 dimensions, got ", codes.ndim());
          const Shape weight = dequantized_shape(codes);
          Shape shape = input.shape();
          require(!shape.empty(), "input needs at least 1 dimension");
          require(shape.back() == weight.back(), "input has ", shape.back().hint(), " features, the codes take ",
                  weight.back().hint());
          shape.back() = weight[0];
          if (bias.defined()) {
            require(bias.dtype() == input.dtype(), "bias is ", bias.dtype(), ", the input ", input.dtype());
            require(bias.ndim() <= 1, "bias must have 1 dimension, got ", bias.ndim());
            require(broadcast_shapes(shape, bias.shape()) == shape, "bias of shape ", bias.shape(), " does not fit ",
                    shape);
          }
          out.push_back({shape, input.dtype(), input.device()});
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          const Tensor weight =
              prims::dequantize(a[1].tensor(), a[2].tensor(), a[3].tensor_or_none(), input.dtype(), at);
          out.push_back(nn::linear(input, weight, a[4].tensor_or_none(), at));
        },
    .cost = count_matmul,
    .python = "torch.nn.functional.linear({0}, dequantize({1}, {2}, {3}, dtype={0}.dtype), {4})",
    .python_definition = dequantize_python,
    .traits = {.matmul = true},
    .semantics = {.autocast = AutocastPolicy::inside},
};

std::span<const Symbol* const> quantization_symbols() {
  static constexpr const Symbol* all[] = {&prims_dequantize_symbol, &prims_linear_of_codes_symbol};
  return all;
}

}  // namespace fulgurite
