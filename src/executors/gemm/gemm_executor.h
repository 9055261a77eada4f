#pragma once
#include "executors/registry.h"

namespace fulgurite {

/// products: generated kernels for large products of matrices, with what follows them element by element.
const Executor& gemm_executor();

}  // namespace fulgurite
