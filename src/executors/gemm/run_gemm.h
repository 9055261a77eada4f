#pragma once
#include <cstdint>
#include <span>

#include "codegen/gemm/gemm_kernel.h"

namespace fulgurite::fused_gemm {

/// A matrix of numbers along the depth, at any strides, counted in elements.
struct DepthMatrix {
  const void* data = nullptr;
  int64_t rows = 0, row_stride = 0, depth_stride = 1;
};
/// A matrix of the result's sizes, or a row: columns side by side.
struct ColumnMatrix {
  void* data = nullptr;
  int64_t row_stride = 0;  // in elements; 0: one row for all
};

/// The sum over the depth of left[i] · right[j] at each place, and what the epilogue makes of it.
struct GemmArguments {
  DepthMatrix left, right;
  int64_t depth = 0;
  std::span<const ColumnMatrix> matrices;  // the epilogue's results, then its operands
};

/// Takes as many threads as there are; the result's bits do not depend on how many, nor on how large the product is beside what a number
/// of the result is made of.
void run_gemm(const codegen::GemmForm&, const codegen::CompiledGemm&, const GemmArguments&);

}  // namespace fulgurite::fused_gemm
