#pragma once
#include "executors/executor.h"

namespace fulgurite {

/// Whether the library may compute a call of prims.convolution; where it refuses in the end the eager kernel does.
bool takes_convolution(Arguments);
void library_convolution_kernel(Arguments, std::span<const Tensor> results);

}  // namespace fulgurite
