#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/lowering/lower_group.h"

namespace fulgurite::codegen {

/// The epilogue of a GEMM, run on sixteen complete sums at a time: its operands, its statements, its results.
struct GemmEpilogue {
  struct Operand {
    Dtype dtype = Dtype::f32;
    bool is_row = false;  // one row for all; else it has the result's sizes

    friend bool operator==(const Operand&, const Operand&) = default;
  };
  std::vector<Dtype> results;
  std::vector<Operand> operands;
  std::string name;  // part of the function's: "add_f32_gelu"
  // over `sums`, the position `at` and the launch, whose matrices are the results, then the operands
  std::vector<std::string> statements;
  bool has_angles = false;  // they need the kernel header's tangents, arcs and remainders

  friend bool operator==(const GemmEpilogue&, const GemmEpilogue&) = default;
};
constexpr size_t max_gemm_matrices = 16;

/// An epilogue that stores the sums, plus a row added to each row of them. `number`: the dtype of the program's matmul,
/// to which a wider bias and a wider result are rounded.
GemmEpilogue plain_epilogue(Dtype result, std::optional<Dtype> bias = {}, std::optional<Dtype> number = {});

/// Elementwise ops that follow a GEMM.
struct EpilogueOps {
  const BoundSymbol* product = nullptr;
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
///   t2 = linear(t0, t_w, t_b)             const Floats bias = load(at.of<const float>(launch, 2), at);
///   t3 = gelu(t2)                   ->    const Floats linear = sums + bias;
///                                         const Floats gelu_ = gelu(linear);
///                                         store(at.of<float>(launch, 0), at, linear);
///                                         store(at.of<float>(launch, 1), at, gelu_);
/// 16-bit values are rounded, including the GEMM's. Supports operands and results of f32, bf16 and f16, and masks as
/// operands.
LoweredEpilogue lower_epilogue(const EpilogueOps&, OpExpressions&);

}  // namespace fulgurite::codegen
