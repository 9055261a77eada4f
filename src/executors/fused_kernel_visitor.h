#pragma once

namespace fulgurite {

namespace fuser {
class FusionKernel;
}
namespace fused_gemm {
class GemmKernel;
}

/// Receives a fusion's kernel as the kind that it is: see FusedKernel::accept.
class FusedKernelVisitor {
 public:
  FusedKernelVisitor() = default;
  FusedKernelVisitor(const FusedKernelVisitor&) = delete;
  FusedKernelVisitor& operator=(const FusedKernelVisitor&) = delete;
  virtual void visit(const fuser::FusionKernel&) = 0;
  virtual void visit(const fused_gemm::GemmKernel&) = 0;

 protected:
  ~FusedKernelVisitor() = default;
};

}  // namespace fulgurite
