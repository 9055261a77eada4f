#pragma once
#include "executors/onednn/library_convolution.h"

namespace fulgurite {

/// Returns true if the call is f32 with a kernel of one element, without stride, padding, groups and bias, and matmuls
/// compute it faster than the library's convolutions. The planes of a sample are then the rows of a matrix. Measured on
/// AVX-512: see docs/decisions/0001-convolutions.md.
bool is_pointwise_gemm(const ConvolutionCall&);

/// Computes such a call:
///
///     destination[n] = weight · source[n]
///     source[n] = weightᵀ · destination[n]
///     weight = sum over n of destination[n] · source[n]ᵀ
void run_pointwise_gemm(const ConvolutionCall&);

}  // namespace fulgurite
