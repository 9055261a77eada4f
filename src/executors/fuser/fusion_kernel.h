#pragma once
#include <memory>
#include <string>

#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/ir/kernel.h"
#include "executors/registry.h"

namespace fulgurite::fuser {

/// A compiled fusion group: finds rows and columns in the tensors of a call, and runs the kernel over them on all
/// threads. Results do not depend on the number of threads.
class FusionKernel final : public FusedKernel {
 public:
  FusionKernel(codegen::Kernel, codegen::Schedule, std::string text, codegen::CompiledKernel);
  void run(Arguments, std::span<const Tensor> results) const override;
  std::string_view text() const override { return text_; }
  bool may_overwrite(size_t result, size_t argument) const override;
  std::string scalar_text(std::string_view name) const override;
  std::string ir_text() const override;
  void accept(FusedKernelVisitor&) const override;
  /// The kernel it was made of; one made for a repro program has no values.
  const codegen::Kernel& kernel() const { return kernel_; }
  const codegen::Schedule& schedule() const { return schedule_; }

 private:
  struct OperandLayout {
    Dtype dtype;
    codegen::Extent extent;
    bool is_column_sum, is_place;
    SmallVector<int, 6> dimensions;  // see codegen::KernelOperand
    int64_t lane_bytes;              // bytes of a column sum's lanes
    int row_loop;
  };
  class Call;

  const codegen::Kernel kernel_;
  const codegen::Schedule schedule_;
  std::vector<OperandLayout> inputs_, outputs_;
  std::string text_;
  const codegen::CompiledKernel code_;
};

}  // namespace fulgurite::fuser
