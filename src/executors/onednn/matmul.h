#pragma once
#include "executors/onednn/code_matrix.h"
#include "executors/registry.h"

namespace fulgurite {

// The kernels of the matmul operators. The eager and the onednn executor run the same ones, so their results have the
// same bits.
void matmul_kernel(Arguments, std::span<const Tensor> results);  // also mm, bmm, mv and dot
void addmm_kernel(Arguments, std::span<const Tensor> results);   // also baddbmm
void linear_kernel(Arguments, std::span<const Tensor> results);
/// linear with a weight of codes [rows, columns] in the dtype of the input; `bias` may be undefined.
void multiply_with_codes(const Tensor& input, const CodeMatrix& codes, int64_t rows, const Tensor& bias,
                         const Tensor& result);

}  // namespace fulgurite
