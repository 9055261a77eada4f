#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Ops [first, last) as a trace of their own: its inputs are the tensors that they need, in order of first use, its
/// results those of their values that later ops, or the return, use. Deletions and collections are omitted; symbols
/// have the values of the recorded call.
///
///   0  t0 = matmul(t_0, t_1)
///   1  t1 = exp(t0)                       slice(t0):
///   2  t2 = sum(t1)          [1, 3) ->      t1 = exp(t0)
///   3  t3 = mul(t1, t2)                     t2 = sum(t1)
///   4  return t3                            return t1, t2
Trace slice_of(const Trace&, int first, int last);
/// One op of a trace, returning all its results.
Trace slice_of_op(const Trace&, const BoundSymbol&);
/// The op in the C++ form: "auto t3 = exp(t2);".
std::string op_text(const Trace&, const BoundSymbol& op);
/// The trace without claims and with fusions expanded, as before executors claimed it.
Trace without_claims(const Trace&);
/// Compiles the slice to a trace that runs. Without executors, claimed ops stay claimed and the default list has the
/// others; with executors they have all.
Trace executable_slice(const Trace& slice, const std::vector<std::string>& executors);

}  // namespace fulgurite
