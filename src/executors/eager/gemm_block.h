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
};

}  // namespace fulgurite
