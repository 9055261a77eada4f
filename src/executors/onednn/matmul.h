#pragma once
#include "executors/registry.h"

namespace fulgurite {

// The kernels of the matmul operators. The eager and the onednn executor run the same ones, so their results have the
// same bits.
void matmul_kernel(Arguments, std::span<const Tensor> results);  // also mm, bmm, mv and dot
void addmm_kernel(Arguments, std::span<const Tensor> results);   // also baddbmm
void linear_kernel(Arguments, std::span<const Tensor> results);

}  // namespace fulgurite
