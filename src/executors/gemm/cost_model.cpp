#include "executors/gemm/cost_model.h"

#include <algorithm>
#include <limits>

#include <fulgurite/symbol.h>

#include "codegen/gemm/gemm_kernel.h"
#include "ops/generated/symbols.h"

namespace fulgurite::fused_gemm {

namespace {

/// Minimum sizes for which a generated GEMM was measured to be faster than oneDNN's.
struct Sizes {
  int64_t rows, columns, depth;  // at least
  int64_t max_depth = std::numeric_limits<int64_t>::max();

  bool hold(int64_t m, int64_t n, int64_t k) const {
    constexpr int64_t products = 64 * 64 * 64;
    return m >= rows && n >= columns && k >= depth && k <= max_depth && m * n * k >= products;
  }
};
// Measured with benchmarks/gemm.cpp: with fewer rows, packing the right operand dominates; with a small K or few
// columns, the work per tile does.
constexpr Sizes pairs{1024, 128, 256};  // bf16 with AVX-512 BF16
constexpr Sizes converted{64, 8, 8};    // bf16 as f32 with AVX-512; LoRA's products have 8 columns or a K of 8
constexpr Sizes widened{64, 64, 64};    // 16 bits with AVX2, which oneDNN does not support
// f32 with AVX2: on par if both operands are contiguous along K, else up to twice as fast
constexpr Sizes singles{256, 128, 256, 4096};
// bf16 with AMX: on a virtual Xeon mostly 1.0 to 1.5 times as fast as oneDNN 2.6; with a larger K 0.63 to 1.0 times,
// because the sums go through the L2 cache for every K block.
constexpr Sizes amx{256, 128, 128, 2800};

// Null if no sizes were measured to be profitable.
const Sizes* profitable_sizes(Dtype dtype) {
  static const codegen::Instructions has = codegen::gemm_instructions();
  if (has.has_amx) return dtype == Dtype::bf16 ? &amx : nullptr;
  if (has.set == codegen::InstructionSet::avx512_bf16) return dtype == Dtype::bf16 ? &pairs : nullptr;
  if (has.set == codegen::InstructionSet::avx512) return dtype == Dtype::bf16 ? &converted : nullptr;
  if (has.set != codegen::InstructionSet::avx2) return nullptr;
  return dtype == Dtype::f32 ? &singles : dtype == Dtype::bf16 || dtype == Dtype::f16 ? &widened : nullptr;
}

}  // namespace

bool is_profitable_on_this_cpu(Dtype dtype) { return profitable_sizes(dtype) != nullptr; }

bool accepts_gemm(const BoundSymbol& bound) {
  const MatrixProduct product = bound.symbol->semantics.matrix_product;
  if (product == MatrixProduct::none) return false;
  const bool is_linear = product == MatrixProduct::transposed;
  const Sizes* const sizes = profitable_sizes(bound.outputs.at(0).tensor().dtype);
  if (sizes == nullptr) return false;
  const Shape &left = bound.args.at(0).tensor().shape, &right = bound.args.at(1).tensor().shape;
  if (left.size() < 2 || right.size() != 2) return false;
  if (is_linear && bound.args.size() > 2 && bound.args.at(2).is_tensor() && bound.args.at(2).tensor().shape.size() != 1)
    return false;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < left.size(); ++d) rows *= left[d].hint();
  return sizes->hold(rows, right[is_linear ? 0 : 1].hint(), left.back().hint());
}

bool has_gemm(const Trace& trace) { return std::ranges::any_of(trace.bound_symbols, accepts_gemm); }

}  // namespace fulgurite::fused_gemm
