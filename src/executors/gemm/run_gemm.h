#pragma once
#include <cstdint>
#include <span>

#include "codegen/gemm/gemm_kernel.h"

namespace fulgurite::fused_gemm {

/// A matrix of rows along K, at any strides, counted in elements.
struct DepthMatrix {
  const void* data = nullptr;
  int64_t rows = 0, row_stride = 0, depth_stride = 1;
};
/// A matrix of the result's sizes, or a row; its columns are contiguous.
struct ColumnMatrix {
  void* data = nullptr;
  int64_t row_stride = 0;  // in elements; 0: one row for all
};

/// The sum over K of left[i] · right[j] for each element, with the epilogue applied.
struct GemmArguments {
  DepthMatrix left, right;
  int64_t depth = 0;
  std::span<const ColumnMatrix> matrices;  // the epilogue's results, then its operands
};

/// Uses all threads; the bits of an element depend neither on their number nor on sizes that do not affect that
/// element.
void run_gemm(const codegen::GemmForm&, const codegen::CompiledGemm&, const GemmArguments&);

}  // namespace fulgurite::fused_gemm
