#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Lines [first, last) of a trace as one of their own: its inputs are the tensors that they need, in order of first use, its results what
/// later lines, or the return, use of what they make. Deletions and collections are left out; symbols have the values of the recorded call.
///
///   0  t0 = matmul(t_0, t_1)
///   1  t1 = exp(t0)                       slice(t0):
///   2  t2 = sum(t1)          [1, 3) ->      t1 = exp(t0)
///   3  t3 = mul(t1, t2)                     t2 = sum(t1)
///   4  return t3                            return t1, t2
Trace slice_of(const Trace&, int first, int last);
/// One line of a trace, giving all that it makes.
Trace slice_of_op(const Trace&, const BoundSymbol&);
/// The line as it stands in the C++ form: "auto t3 = exp(t2);".
std::string op_text(const Trace&, const BoundSymbol& op);
/// Nobody's lines, fusions opened: as before executors claimed it.
Trace without_claims(const Trace&);
/// The slice as a trace that runs. Without executors, claimed lines stay as they are and the default list has the others; with executors they
/// have all.
Trace executable_slice(const Trace& slice, const std::vector<std::string>& executors);

}  // namespace fulgurite
