// Building blocks of GEMMs in scalar form: one element of the result at a time, with the bits of the unit that computes
// sixteen or more. The order of a sum depends on the unit: see codegen/gemm/gemm_form.h.
#pragma once
#include "codegen/device_lib/scalar.h"

namespace fulgurite::FULGURITE_KERNELS {

/// An element of an operand, rounded to the number that is multiplied; 0 past the end of K.
template <class Element, class Number>
FULGURITE_INLINE float factor(const GemmLaunch& launch, const GemmOperand& operand, long row, long k) {
  if (k >= launch.depth) return 0;
  Number number;
  store_element(&number,
                load_element((const Element*)operand.data + row * operand.row_stride + k * operand.depth_stride));
  return load_element(&number);
}

/// As bf16 instructions read and write numbers: subnormal ones are zero.
FULGURITE_INLINE float without_subnormals(float x) { return __builtin_fabsf(x) < 0x1p-126f ? copy_sign(0.f, x) : x; }
FULGURITE_INLINE float add_bf16_product(float a, float b, float sum) {
  return without_subnormals(multiply_add(without_subnormals(a), without_subnormals(b), without_subnormals(sum)));
}

/// Product after product.
template <class Left, class Right, class Number>
FULGURITE_INLINE float sum_of_products(const GemmLaunch& launch, long row, long column) {
  float sum = 0;
  for (long k = 0; k < launch.depth; ++k)
    sum = multiply_add(factor<Left, Number>(launch, launch.left, row, k),
                       factor<Right, Number>(launch, launch.right, column, k), sum);
  return sum;
}

/// Pair after pair, the second product of each first, as vdpbf16ps.
template <class Left, class Right>
FULGURITE_INLINE float sum_of_pairs(const GemmLaunch& launch, long row, long column) {
  float sum = 0;
  for (long pair = 0; pair < launch.depth; pair += 2)
    for (long k = pair + 1; k >= pair; --k)
      sum = add_bf16_product(factor<Left, BFloat16>(launch, launch.left, row, k),
                             factor<Right, BFloat16>(launch, launch.right, column, k), sum);
  return sum;
}

/// 32 products at a time, the even and the odd ones apart, as tdpbf16ps.
template <class Left, class Right>
FULGURITE_INLINE float sum_of_tiles(const GemmLaunch& launch, long row, long column) {
  float sum = 0;
  for (long tile = 0; tile < launch.depth; tile += 32) {
    float parts[2] = {};
    for (long k = tile; k < tile + 32; ++k)
      parts[k % 2] = add_bf16_product(factor<Left, BFloat16>(launch, launch.left, row, k),
                                      factor<Right, BFloat16>(launch, launch.right, column, k), parts[k % 2]);
    sum = without_subnormals(without_subnormals(sum) + without_subnormals(parts[0] + parts[1]));
  }
  return sum;
}

/// A row of one of the kernel's matrices: its results, then the epilogue's operands.
template <class Element>
FULGURITE_INLINE Element* matrix_row(const GemmLaunch& launch, int matrix, long row) {
  return (Element*)(launch.matrices[matrix].data + row * launch.matrices[matrix].row_bytes);
}

}  // namespace fulgurite::FULGURITE_KERNELS
