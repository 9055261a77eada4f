#pragma once
#include <fulgurite/repro.h>

#include "executors/fuser/region_kernel.h"
#include "executors/products/product_kernel.h"

namespace fulgurite::examine {

/// How a fusion's kernel sees its tensors.
KernelLayout layout_of(const fuser::RegionKernel&);
ProductLayout layout_of(const products::ProductKernel&);

}  // namespace fulgurite::examine
