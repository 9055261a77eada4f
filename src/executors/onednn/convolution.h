#pragma once
#include "executors/registry.h"

namespace fulgurite {

// prims.convolution and prims.convolution_weight with the library: false where it does not do a call, or not fast. The
// eager kernels begin with these, so that both executors' results have the same bits.
bool library_convolution(Arguments, const Tensor& result);
bool library_convolution_weight(Arguments, const Tensor& result);

// For the onednn executor: the calls that the library may do, and the eager kernels.
bool takes_convolution(Arguments);
bool takes_convolution_weight(Arguments);
void convolution_kernel(Arguments, std::span<const Tensor> results);
void convolution_weight_kernel(Arguments, std::span<const Tensor> results);

}  // namespace fulgurite
