// Weights of few bits: their numbers, and products that read the codes.
#include <cmath>

#include <fulgurite/compare.h>
#include <fulgurite/jit.h>
#include <fulgurite/nn.h>
#include <fulgurite/symbol.h>

#include "executors/eager/gemm_block.h"
#include "executors/fused.h"

namespace fulgurite::kernels_emulated_pairs {
void multiply_few_rows(const GemmBlock&);
}  // namespace fulgurite::kernels_emulated_pairs
namespace fulgurite::kernels_baseline {
void multiply_codes(const GemmBlock&);
}  // namespace fulgurite::kernels_baseline
namespace fulgurite::kernels_avx2 {
void multiply_codes(const GemmBlock&);
}  // namespace fulgurite::kernels_avx2

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr nn::Codes all_codes[] = {nn::Codes::q8_0, nn::Codes::q4_0, nn::Codes::q4_1};
constexpr Dtype all_dtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64};

nn::QuantizedWeight weight_of(int64_t rows, int64_t columns, nn::Codes codes) {
  return nn::quantize(make({rows, columns}, Dtype::f32, -1, 1, 7), codes);
}
Tensor product(const Tensor& x, const nn::QuantizedWeight& w, const Tensor& bias = {}) {
  return prims::linear_of_codes(x, w.codes, w.scales, w.minima, bias);
}
Tensor product_of_numbers(const Tensor& x, const nn::QuantizedWeight& w, const Tensor& bias = {}) {
  const Tensor numbers = w.dequantized(x.dtype());
  return nn::linear(x, numbers, bias);
}
CodeMatrix matrix_of(const nn::QuantizedWeight& w) {
  CodeMatrix matrix;
  matrix.codes = w.codes.impl()->data();
  matrix.scales = w.scales.impl()->data();
  if (w.minima.defined()) matrix.minima = w.minima.impl()->data();
  matrix.is_packed = w.codes.dtype() == Dtype::u8;
  matrix.columns = w.in_features();
  return matrix;
}

}  // namespace

TEST("dequantized numbers are those of the definition, in every dtype and layout") {
  const Symbol& symbol = *find_symbol("prims.dequantize");
  for (const nn::Codes codes : all_codes)
    for (const Dtype scale_dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
      for (const Dtype dtype : all_dtypes) {
        nn::QuantizedWeight w = weight_of(67, 96, codes);
        w.scales = w.scales.to(scale_dtype);
        if (w.minima.defined()) w.minima = w.minima.to(scale_dtype);
        const auto expect_definition = [&](const Tensor& code, const Tensor& scales, const Tensor& minima) {
          const std::vector<Argument> arguments{code, scales, minima.defined() ? Argument(minima) : Argument(), dtype};
          Results kernel, definition;
          dispatch(symbol, arguments, SourceLocation::here(), kernel);
          symbol.decompose(arguments, definition, SourceLocation::here());
          expect(equal(kernel[0], definition[0]));
        };
        expect_definition(w.codes, w.scales, w.minima);
        const auto every_second = [](const Tensor& x) { return x.defined() ? prims::slice(x, 0, 0, 67, 2) : x; };
        expect_definition(every_second(w.codes), every_second(w.scales), every_second(w.minima));
        const auto turned = [](const Tensor& x) {
          return x.defined() ? contiguous(x.transpose(0, 1)).transpose(0, 1) : x;
        };
        expect_definition(turned(w.codes), turned(w.scales), turned(w.minima));
      }
}

TEST("a matmul of codes has the bits of the matmul of their values") {
  for (const nn::Codes codes : all_codes)
    for (const Dtype dtype : all_dtypes)
      for (const auto& [depth, columns] : {std::pair<int64_t, int64_t>{32, 3}, {576, 97}, {4864, 50}, {9216, 7}}) {
        const nn::QuantizedWeight w = weight_of(columns, depth, codes);
        const Tensor bias = make({columns}, dtype, -1, 1, 3);
        for (const int64_t rows : {1, 2, 3, 7, 8, 13, 16, 17, 40}) {
          const Tensor x = make({rows, depth}, dtype, -1, 1, static_cast<int>(rows));
          const Tensor of_numbers = product_of_numbers(x, w, bias), of_codes = product(x, w, bias);
          expect(equal(of_codes, of_numbers));
        }
      }
}

TEST("matmuls of codes take inputs of any layout, and empty ones") {
  const nn::QuantizedWeight w = weight_of(10, 64, nn::Codes::q4_1);
  const Tensor x = make({6, 5, 64}, Dtype::f32, -1, 1, 1);
  const auto compare = [&](const Tensor& input) {
    const Tensor of_numbers = product_of_numbers(input, w), of_codes = product(input, w);
    expect(equal(of_codes, of_numbers));
  };
  compare(x.transpose(0, 1));
  compare(prims::slice(x, 1, 0, 5, 2));
  compare(contiguous(x.transpose(0, 2)).transpose(0, 2));
  compare(select(select(x, 0, 0), 0, 0));
  compare(prims::slice(x, 0, 2, 2, 1));
  nn::QuantizedWeight part{narrow(w.codes, 0, 2, 5), narrow(w.scales, 0, 2, 5), narrow(w.minima, 0, 2, 5)};
  expect(equal(product(x, part), product_of_numbers(x, part)));
  const nn::QuantizedWeight none{narrow(w.codes, 0, 2, 0), narrow(w.scales, 0, 2, 0), narrow(w.minima, 0, 2, 0)};
  expect_equal(product(x, none).shape().text(), product_of_numbers(x, none).shape().text());
}

TEST("a row of a matmul of codes has the same bits beside any number of other rows, and with any threads") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16})
    for (const nn::Codes codes : all_codes) {
      const nn::QuantizedWeight w = weight_of(300, 896, codes);
      const Tensor x = make({16, 896}, dtype, -1, 1, 1);
      const Tensor together = product(x, w);
      for (int64_t i = 0; i < 16; ++i) expect(equal(product(narrow(x, 0, i, 1), w), narrow(together, 0, i, 1)));
      expect_same_bits([&] { return std::vector<Tensor>{product(x, w), w.dequantized(dtype)}; });
    }
}

TEST("kernels of all instruction sets multiply codes") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16})
    for (const nn::Codes codes : all_codes) {
      const nn::QuantizedWeight w = weight_of(53, 576, codes);
      const Tensor x = make({11, 576}, dtype, -1, 1, 1), y = empty({11, 53}, {.dtype = dtype});
      const CodeMatrix matrix = matrix_of(w);
      GemmBlock block;
      block.dtype = dtype;
      block.m = 11;
      block.n = 53;
      block.k = block.a_row = block.b_column = 576;
      block.a = x.impl()->data();
      block.b_row = 1;
      block.c = y.impl()->data();
      block.c_row = 53;
      block.codes = &matrix;
      const std::vector<double> expected = elements(product_of_numbers(x, w));
      const auto expect_product = [&](void (*multiply)(const GemmBlock&)) {
        multiply(block);
        expect_near(elements(y), expected, dtype == Dtype::f32 ? 1e-5 : dtype == Dtype::bf16 ? 5e-2 : 1e-2);
      };
      expect_product(kernels_baseline::multiply_codes);
#ifdef FULGURITE_PAIR_ATTENTION
      if (__builtin_cpu_supports("avx2")) expect_product(kernels_avx2::multiply_codes);
      if (__builtin_cpu_supports("avx2") && dtype == Dtype::bf16)
        expect_product(kernels_emulated_pairs::multiply_few_rows);
#endif
    }
}
