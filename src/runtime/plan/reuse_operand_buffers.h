#pragma once
#include "runtime/plan/execution_plan.h"

namespace fulgurite {

/// Stores results in an operand's buffer, if the operand has the same size, is read there for the last time, and the
/// kernel may overwrite it.
///
///     t1 = mul(t0, 2.0)     # 4 KB                       t1 = mul(t0, 2.0)     # 4 KB
///     t2 = exp(t1)          # 4 KB, last use of t1       t2 = exp(t1)          # in the buffer of t1
///
/// Must run before the arena is laid out. Inputs, results of the program, and their aliases are unchanged.
void write_results_over_operands(ExecutionPlan&);

/// Returns true for scatter-like kernels: they copy operand 0 (unless it aliases the result), then update some
/// elements.
bool is_scatter_update(const Symbol&);
/// Returns true if a kernel computes each element from the operands' elements at the same index, so that a result may
/// alias an input that it updates.
bool is_elementwise_update(const Symbol&);

}  // namespace fulgurite
