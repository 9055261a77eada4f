#pragma once
#include "executors/eager/kernels/common/compute.h"
#include "ops/core/argument.h"

// Convolutions of one or two dimensions whose groups have one channel or a few: sums of products of whole rows, plane
// after plane, without a GEMM.
namespace fulgurite::FULGURITE_KERNELS {

/// Computes prims.convolution; returns false if it is not depthwise, or the dtype is an integer's.
bool depthwise_convolution(Arguments arguments, const Tensor& result);
/// Computes prims.convolution_weight, the cotangent of a depthwise weight; returns false as above.
bool depthwise_weight(Arguments arguments, const Tensor& result);

}  // namespace fulgurite::FULGURITE_KERNELS
