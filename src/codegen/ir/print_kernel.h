#pragma once
#include <functional>
#include <string>

#include "codegen/ir/gemm_epilogue.h"
#include "codegen/ir/kernel.h"

namespace fulgurite::codegen {

/// "multiply(exp(%0), 0.5)"; `name` gives the names of the operands.
std::string expr_text(const ScalarExpr&, const std::function<std::string(int operand)>& name);
/// A kernel in readable form: its operands, then its values in the order of computation.
///
///     input 0: f32 [d0, d1]
///     output 0: f32 [d0, d1]
///     rows d0, columns d1
///     %0 = load input 0 : f32 full  # t0
///     %1 = multiply(exp(%0), 0.5) : f32 full, costly -> output 0  # t2
std::string kernel_ir_text(const Kernel&);
/// The row loops that compute the values:
///
///     for each row
///       loop 0 over columns: load %0, compute %1, store %1
std::string schedule_text(const Schedule&);
/// The epilogue of a GEMM:
///
///     operand 0: f32, a row
///     %0 = load operand 0 : f32  # bias
///     %1 = add(sums, %0) : f32  # linear
///     store %1 to result 0: f32
std::string epilogue_text(const GemmEpilogue&);

}  // namespace fulgurite::codegen
