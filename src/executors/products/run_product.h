#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "codegen/product_kernel.h"

namespace fulgurite::products {

/// A matrix of numbers along the depth, at any strides, counted in elements.
struct DepthMatrix {
  const void* data = nullptr;
  int64_t rows = 0, row_stride = 0, depth_stride = 1;
};
/// A matrix beside the result, or the result: columns side by side.
struct ColumnMatrix {
  void* data = nullptr;
  int64_t row_stride = 0;  // in elements; 0: one row for all
};

/// result[i][j] = the sum over the depth of left[i] · right[j], and the bias.
struct ProductCall {
  DepthMatrix left, right;
  int64_t depth = 0;
  ColumnMatrix bias, result;
};

/// Takes as many threads as there are; the result's bits do not depend on how many, nor on how large the product is beside what a number
/// of the result is made of.
void run_product(const codegen::ProductForm&, const codegen::ProductKernels&, const ProductCall&);

}  // namespace fulgurite::products
