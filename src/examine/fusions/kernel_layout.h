#pragma once
#include <fulgurite/repro.h>

#include "executors/fuser/fusion_kernel.h"
#include "executors/gemm/gemm_kernel.h"

namespace fulgurite::examine {

/// The layout of a fusion's tensors as its kernel addresses them.
KernelLayout layout_of(const fuser::FusionKernel&);
GemmLayout layout_of(const fused_gemm::GemmKernel&);

}  // namespace fulgurite::examine
