#pragma once
#include "executors/executor.h"

namespace fulgurite {

/// products: generated kernels for large products of bf16 matrices.
const Executor& products_executor();

}  // namespace fulgurite
