#pragma once
#include "runtime/plan/execution_plan.h"

namespace fulgurite {

/// Results that need no memory of their own, because an operand of the same size is read there for the last time and the kernel may write over it.
///
///     t1 = mul(t0, 2.0)     # 4 KB                       t1 = mul(t0, 2.0)     # 4 KB
///     t2 = exp(t1)          # 4 KB, t1 is read no more   t2 = exp(t1)          # where t1 was
///
/// To be used before the arena is laid out. Inputs, results of the program and what lies in their memory stay as they are.
void write_results_over_operands(ExecutionPlan&);

/// Whether a kernel copies its first operand, unless the result lies there, and then writes to places of it.
bool is_scatter_update(const Symbol&);
/// Whether a kernel computes each element from the operands' elements at its place, so that a result may lie in an input that it updates.
bool is_elementwise_update(const Symbol&);

}  // namespace fulgurite
