#pragma once
#include "executors/onednn/gemm.h"

namespace fulgurite {

/// One block of a GEMM, computed by one thread: a GemmCall without a batch. Any dtype, any strides of A and B.
struct GemmBlock {
  Dtype dtype = Dtype::f32;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t a_row = 0, a_column = 1;
  const void* b = nullptr;
  int64_t b_row = 0, b_column = 1;
  void* c = nullptr;
  int64_t c_row = 0;
  double alpha = 1, beta = 0;
  const void* bias = nullptr;
  int64_t bias_stride = 1;
  const CodeMatrix* codes = nullptr;  // of which a row is a column of B; `b` is not read
  int64_t first_code_row = 0;
  int64_t max_few_rows = 16;  // rows that dot products compute, see KernelSet::max_few_rows
  bool prefetches = false;    // B, for one or two rows
};

/// True for a product of a few rows with a matrix whose columns are contiguous, which is computed by dot products: a
/// row's bits do not depend on how many rows there are.
inline bool has_few_rows(const GemmBlock& p) {
  const bool is_summed_in_f32 = p.dtype == Dtype::f32 || p.dtype == Dtype::bf16 || p.dtype == Dtype::f16;
  return is_summed_in_f32 && p.m <= p.max_few_rows && (p.a_column == 1 || p.k == 1) && (p.b_row == 1 || p.k == 1);
}
/// True for a product of a matrix, whose rows are contiguous, with one column.
inline bool has_one_column(const GemmBlock& p) {
  return p.n == 1 && (p.a_column == 1 || p.k == 1) && (p.b_row == 1 || p.k == 1);
}

}  // namespace fulgurite
