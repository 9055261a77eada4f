#pragma once
#include <memory>
#include <string>

#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/lowering/kernel.h"
#include "executors/registry.h"

namespace fulgurite::fuser {

/// A compiled fusion group: finds rows and columns in the tensors of a call, and runs the kernel over them on all
/// threads. Results do not depend on the number of threads.
class FusionKernel final : public FusedKernel {
 public:
  FusionKernel(const codegen::Kernel&, int kept_rows, std::string text, kernels::KernelFunction);
  void run(Arguments, std::span<const Tensor> results) const override;
  std::string_view text() const override { return text_; }
  bool may_overwrite(size_t result, size_t argument) const override;
  /// The kernel it was made of, without the values.
  codegen::Kernel loop() const;
  int kept_rows() const { return cached_rows_; }

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

  std::vector<OperandLayout> inputs_, outputs_;
  std::vector<double> numbers_;
  int dimensions_, first_column_dimension_, cached_rows_;
  bool has_row_sums_, has_column_sums_;
  std::string text_;
  kernels::KernelFunction function_;
};

}  // namespace fulgurite::fuser
