#pragma once
#include <cstdint>
#include <span>

#include <fulgurite/dtype.h>

#include "executors/onednn/code_matrix.h"

namespace fulgurite {

struct GemmBlock;

/// An operand of a GEMM: element (i, j) of a matrix is data[i * row + j * column], strides counted in elements, any
/// values.
struct GemmOperand {
  const void* data = nullptr;
  int64_t row = 0, column = 1;
  const int64_t* batch_strides = nullptr;  // one for each of GemmCall::batch; null: all zero
};

/// C = alpha · A · B + beta · C (+ bias in every row), for each matrix of a batch. A is m×k, B is k×n, C is m×n with
/// unit column stride. bf16 and f16 accumulate in f32 and round once. With beta == 0 C is not read. With `codes` B is
/// their transpose, dequantized to `dtype`; `b` is not read.
struct GemmCall {
  Dtype dtype = Dtype::f32;
  int64_t m = 0, n = 0, k = 0;
  GemmOperand a, b;
  void* c = nullptr;
  int64_t c_row = 0;  // elements between rows of C
  const int64_t* c_batch_strides = nullptr;
  std::span<const int64_t> batch = {};  // sizes of the batch dimensions; none: one GEMM
  double alpha = 1, beta = 0;
  const void* bias = nullptr;  // n elements of `dtype`
  int64_t bias_stride = 1;
  const CodeMatrix* codes = nullptr;
};

/// Uses all threads; the result's bits do not depend on their number.
void gemm(const GemmCall&);
/// Runs on this thread alone: with the library if it supports the call, else with the eager kernels.
void multiply_serially(const GemmBlock&);

}  // namespace fulgurite
