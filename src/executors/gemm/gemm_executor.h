#pragma once
#include "executors/registry.h"

namespace fulgurite {

/// gemm: generated kernels for large matmuls, with elementwise epilogues.
const Executor& gemm_executor();

}  // namespace fulgurite
