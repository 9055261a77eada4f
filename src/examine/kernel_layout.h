#pragma once
#include <fulgurite/repro.h>

#include "executors/fuser/region_kernel.h"

namespace fulgurite::examine {

/// How a fusion's kernel sees its tensors.
KernelLayout layout_of(const fuser::RegionKernel&);

}  // namespace fulgurite::examine
