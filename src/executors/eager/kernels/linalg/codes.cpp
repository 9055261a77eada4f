#include "executors/eager/kernels/linalg/code_columns.h"
#include "executors/onednn/matmul.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

// Weights of few bits: their numbers, and products of few rows with them.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// Sixteen numbers as elements of the result.
template <class Element>
void store_numbers(Element* to, const Floats& numbers) {
  store(to, numbers);
}

/// The numbers of `count` groups. Those of f64 are computed in f64.
template <CodeKind kind, class Element>
void dequantize_groups(const CodeMatrix& matrix, int64_t first, int64_t count, Element* to) {
  constexpr int64_t bytes = kind == CodeKind::bytes ? 32 : 16, block = 64;
  float scales[block], minima[block] = {};
  const auto* codes = static_cast<const unsigned char*>(matrix.codes) + first * bytes;
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t some = std::min(block, count - begin);
    widen_scales(matrix.scales, matrix.scale_dtype, first + begin, some, scales);
    if (kind == CodeKind::halves_with_minimum)
      widen_scales(matrix.minima, matrix.scale_dtype, first + begin, some, minima);
    for (int64_t g = 0; g < some; ++g, codes += bytes, to += CodeMatrix::group) {
      const CodeGroup<kind> group(codes, scales[g], minima[g]);
      store_numbers(to, group.half(std::integral_constant<int, 0>()));
      store_numbers(to + lanes, group.half(std::integral_constant<int, 1>()));
    }
  }
}

double wide_at(const void* numbers, Dtype dtype, int64_t i) {
  double out = 0;
  visit_floating(dtype, [&]<class Element>() { out = widen(static_cast<const Element*>(numbers)[i]); });
  return out;
}

template <CodeKind kind>
void dequantize_groups(const CodeMatrix& matrix, int64_t first, int64_t count, double* to) {
  const auto* codes = static_cast<const unsigned char*>(matrix.codes);
  for (int64_t g = first; g < first + count; ++g) {
    const double scale = wide_at(matrix.scales, matrix.scale_dtype, g);
    for (int64_t j = 0; j < CodeMatrix::group; ++j) {
      if constexpr (kind == CodeKind::bytes) {
        *to++ = static_cast<double>(static_cast<signed char>(codes[g * 32 + j])) * scale;
      } else {
        const int byte = codes[g * 16 + j % 16], code = j < 16 ? byte & 15 : byte >> 4;
        if constexpr (kind == CodeKind::halves) *to++ = (code - 8) * scale;
        else *to++ = code * scale + wide_at(matrix.minima, matrix.scale_dtype, g);
      }
    }
  }
}

void dequantize_range(const CodeMatrix& matrix, int64_t first, int64_t count, Dtype dtype, void* to) {
  visit_codes(matrix, [&]<CodeKind kind>(std::integral_constant<CodeKind, kind>) {
    visit_floating(dtype,
                   [&]<class Element>() { dequantize_groups<kind>(matrix, first, count, static_cast<Element*>(to)); });
  });
}

/// The matrix of a call's codes, scales and minima, and the contiguous tensors that it points to.
struct CodesOfCall {
  Tensor codes, scales, minima;
  CodeMatrix matrix;

  CodesOfCall(const Tensor& given_codes, const Tensor& given_scales, const Tensor& given_minima)
      : codes(contiguous_elements(given_codes)), scales(contiguous_elements(given_scales)) {
    matrix.codes = codes.impl()->data();
    matrix.scales = scales.impl()->data();
    if (given_minima.defined()) {
      minima = contiguous_elements(given_minima);
      matrix.minima = minima.impl()->data();
    }
    matrix.scale_dtype = scales.impl()->dtype;
    matrix.is_packed = codes.impl()->dtype == Dtype::u8;
    matrix.columns = sizes_of(scales).back() * CodeMatrix::group;
  }
};

void dequantize_kernel(Arguments arguments, std::span<const Tensor> results) {
  const CodesOfCall call(arguments[0].tensor(), arguments[1].tensor(), arguments[2].tensor_or_none());
  const Dtype dtype = results[0].impl()->dtype;
  char* const out = static_cast<char*>(results[0].impl()->data());
  const int64_t groups = results[0].impl()->numel() / CodeMatrix::group;
  parallel_for(groups, 1024, [&](int64_t begin, int64_t end) {
    dequantize_range(call.matrix, begin, end - begin, dtype, out + begin * CodeMatrix::group * size_of(dtype));
  });
}

void linear_of_codes_kernel(Arguments arguments, std::span<const Tensor> results) {
  const CodesOfCall call(arguments[1].tensor(), arguments[2].tensor(), arguments[3].tensor_or_none());
  multiply_with_codes(arguments[0].tensor(), call.matrix, sizes_of(call.codes)[0], arguments[4].tensor_or_none(),
                      results[0]);
}

}  // namespace

void dequantize_rows(const CodeMatrix& codes, int64_t first, int64_t rows, Dtype dtype, void* to) {
  dequantize_range(codes, first * codes.groups(), rows * codes.groups(), dtype, to);
}

void multiply_codes(const GemmBlock& p) {
  visit_floating(p.dtype, [&]<class Element>() {
    if constexpr (!std::is_same_v<Element, double>) multiply_code_rows<WideProducts<Element>, Element>(p);
  });
}

KernelTable quantization_kernels() {
  static constexpr KernelEntry table[] = {
      {&prims_dequantize_symbol, dequantize_kernel},
      {&prims_linear_of_codes_symbol, linear_of_codes_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
