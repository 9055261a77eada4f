#pragma once
#include <fulgurite/repro.h>

#include "executors/fuser/fusion_kernel.h"
#include "executors/gemm/gemm_kernel.h"

namespace fulgurite::examine {

/// How a fusion's kernel sees its tensors.
KernelLayout layout_of(const fuser::FusionKernel&);
ProductLayout layout_of(const fused_gemm::GemmKernel&);

}  // namespace fulgurite::examine
