#pragma once
#include "executors/registry.h"

namespace fulgurite {

// prims.convolution and prims.convolution_weight with the library; return false if it does not support a call, or is
// slow. The eager kernels try these first, so that both executors' results have the same bits.
bool library_convolution(Arguments, const Tensor& result);
bool library_convolution_weight(Arguments, const Tensor& result);

/// True if the library computes a depthwise convolution of many planes faster than the eager kernel on a CPU that has
/// AVX-512.
bool prefers_library(Arguments, const Tensor& result);
bool prefers_library_weight(Arguments, const Tensor& result);

// For the onednn executor: the calls that the library may support, and the eager kernels.
bool takes_convolution(Arguments);
bool takes_convolution_weight(Arguments);
void convolution_kernel(Arguments, std::span<const Tensor> results);
void convolution_weight_kernel(Arguments, std::span<const Tensor> results);

}  // namespace fulgurite
