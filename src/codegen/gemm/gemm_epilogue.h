#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/lowering/lower_group.h"

namespace fulgurite::codegen {

/// What is done with a product's sums, sixteen at a time, where they are complete: what is read beside them, the statements, what is stored.
struct GemmEpilogue {
  struct Operand {
    Dtype dtype = Dtype::f32;
    bool is_row = false;  // one row for all; else it has the result's sizes

    friend bool operator==(const Operand&, const Operand&) = default;
  };
  std::vector<Dtype> results;
  std::vector<Operand> operands;
  std::string name;        // part of the function's: "add_f32_gelu"
  std::vector<std::string> statements;  // over `sums`, the place `at` and the launch, whose matrices are the results and then the operands

  friend bool operator==(const GemmEpilogue&, const GemmEpilogue&) = default;
};
constexpr size_t max_gemm_matrices = 16;

/// The sums, and a row that is added to each row of them, stored. `number`: the dtype that the program's product has, to which a bias of more bits
/// and a result of more are rounded.
GemmEpilogue plain_epilogue(Dtype result, std::optional<Dtype> bias = {}, std::optional<Dtype> number = {});

/// Lines of a trace that follow a product and are computed element by element.
struct EpilogueOps {
  const BoundSymbol* product = nullptr;
  std::optional<Dtype> bias;  // which the product adds
  bool stores_gemm = false;  // what it gives is used by others too
  bool rounds = true;           // false: 16-bit values inside may have excess precision
  LoopNest loop_nest;              // the lines that follow
};
/// An epilogue, or the reason why there is none. Operands and results are named by the trace's values; the bias, the first operand, is not.
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
/// Values of 16 bits are rounded, the product's too. Takes operands and results of f32, bf16 and f16, and masks as operands.
LoweredEpilogue lower_epilogue(const EpilogueOps&, OpExpressions&);

}  // namespace fulgurite::codegen
