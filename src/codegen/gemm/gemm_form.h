#pragma once
#include <fulgurite/dtype.h>

#include "codegen/gemm/gemm_epilogue.h"

namespace fulgurite::codegen {

/// A GEMM without its sizes and strides. Elements of one dtype are multiplied: f32, bf16 or f16; f32 operands are
/// rounded to it first.
struct GemmForm {
  Dtype left = Dtype::bf16, right = Dtype::bf16;
  Dtype number = Dtype::bf16;
  GemmEpilogue epilogue = plain_epilogue(Dtype::bf16);

  friend bool operator==(const GemmForm&, const GemmForm&) = default;
};

/// The unit that adds up the products of an element. It decides the order of the sum, and with it the bits:
///
///   elements  f32: product after product
///   pairs     vdpbf16ps: pair after pair, the second product of each first
///   tiles     AMX: 32 products at a time, the even and the odd ones apart
enum class GemmUnit : uint8_t { elements, pairs, tiles };

}  // namespace fulgurite::codegen
