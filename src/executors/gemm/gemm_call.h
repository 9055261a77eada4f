#pragma once
#include <array>
#include <optional>
#include <span>

#include "codegen/gemm/gemm_epilogue.h"
#include "executors/gemm/gemm_kernel.h"
#include "executors/gemm/run_gemm.h"

namespace fulgurite::fused_gemm {

/// An operand of an epilogue as a matrix; holds the copy that is read if its own columns are not contiguous.
class EpilogueMatrix {
 public:
  EpilogueMatrix(const Tensor& given, bool is_row, int64_t columns);
  const ColumnMatrix& matrix() const { return matrix_; }

 private:
  Tensor copy_;
  ColumnMatrix matrix_;
};

/// The operands and results of a GEMM's call as matrices, as long as it lives.
class GemmCall {
 public:
  GemmCall(const GemmOp&, Arguments, std::span<const Tensor> results);
  GemmCall(const GemmCall&) = delete;
  GemmCall& operator=(const GemmCall&) = delete;
  const GemmArguments& arguments() const { return arguments_; }

 private:
  Tensor left_;
  std::array<std::optional<EpilogueMatrix>, codegen::max_gemm_matrices> operands_;
  std::array<ColumnMatrix, codegen::max_gemm_matrices> matrices_;
  GemmArguments arguments_;
};

}  // namespace fulgurite::fused_gemm
