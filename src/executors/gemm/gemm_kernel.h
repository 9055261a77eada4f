#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/gemm/gemm_kernel.h"
#include "executors/registry.h"

namespace fulgurite::fused_gemm {

/// The GEMM of a trace: its operator and its form.
struct GemmOp {
  codegen::GemmForm form;
  bool is_linear = false;  // the right operand is [columns, K], else [K, columns]

  friend bool operator==(const GemmOp&, const GemmOp&) = default;
};

/// A GEMM with compiled kernels.
class GemmKernel final : public FusedKernel {
 public:
  GemmKernel(const GemmOp& gemm, codegen::CompiledGemm kernels) : gemm_(gemm), kernels_(std::move(kernels)) {}
  void run(Arguments, std::span<const Tensor> results) const override;
  std::string_view text() const override { return kernels_.text; }
  bool may_overwrite(size_t result, size_t argument) const override;
  std::string scalar_text(std::string_view name) const override;
  std::string ir_text() const override;
  int64_t packed_step_depth() const override { return kernels_.tiles.step_depth; }
  void accept(FusedKernelVisitor&) const override;
  const GemmOp& gemm() const { return gemm_; }
  const kernels::GemmTiles& tiles() const { return kernels_.tiles; }
  codegen::GemmUnit unit() const { return kernels_.unit; }
  /// The names of the functions in the text: for packing, and for multiplying.
  std::string_view pack_name() const { return kernels_.pack_name; }
  std::string_view multiply_name() const { return kernels_.multiply_name; }

 private:
  const GemmOp gemm_;
  const codegen::CompiledGemm kernels_;
};

/// Implementations for left and right operands and those of the epilogue; empty if the kernels cannot be compiled.
/// Thread-safe.
std::vector<ImplementationRef> gemm_implementations(std::span<const GemmOp>);

}  // namespace fulgurite::fused_gemm
