#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/gemm_epilogue.h"
#include "codegen/lowering/lower_group.h"

namespace fulgurite::codegen {

constexpr size_t max_gemm_matrices = 16;

/// An epilogue that stores the sums, plus a row added to each row of them. `number`: the dtype of the program's matmul,
/// to which a wider bias and a wider result are rounded.
GemmEpilogue plain_epilogue(Dtype result, std::optional<Dtype> bias = {}, std::optional<Dtype> number = {});

/// A GEMM's bias, operand 0, as the GEMM adds it; `number`: the dtype of its other operands if that is of 16 bits.
EpilogueValue bias_value(Dtype bias, std::optional<Dtype> number);
/// The sums with the bias, rounded to 16 bits if `number` is given; an expression over `values_of_biased`, in which the
/// bias is the epilogue's value 0.
ScalarExpr biased(bool has_bias, std::optional<Dtype> number);
SmallVector<int, 4> values_of_biased(bool has_bias);

/// Elementwise ops that follow a GEMM.
struct EpilogueOps {
  const BoundSymbol* gemm = nullptr;
  std::optional<Dtype> bias;  // of the GEMM
  bool stores_gemm = false;   // its result has other users too
  bool rounds = true;         // false: 16-bit values inside may have excess precision
  LoopNest loop_nest;         // the ops that follow
};
/// An epilogue, or the reason why there is none. Operands and results are identified by the trace's values; the bias,
/// which is the first operand, is not listed.
struct LoweredEpilogue {
  std::string reason;
  GemmEpilogue epilogue;
  std::vector<int> operands, results;  // proxy ids
};
/// In f32:
///
///   t2 = linear(t0, t_w, t_b)             %0 = load operand 0  # bias
///   t3 = gelu(t2)                   ->    %1 = add(sums, %0)  # linear
///                                         %2 = gelu(%1)  # gelu
///                                         store %1 to result 0
///                                         store %2 to result 1
///
/// 16-bit values are rounded, including the GEMM's. Supports operands and results of f32, bf16 and f16, and masks as
/// operands.
LoweredEpilogue lower_epilogue(const EpilogueOps&, OpExpressions&);

}  // namespace fulgurite::codegen
