#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// The link of a line that repeats this line of the forward in the backward.
ForwardOrigin recomputation_of(const BoundSymbol&);

/// Gives the links in `stages` the names that the forward as run has for them: executors may have replaced a composite
/// by its parts, and fused lines. A forward line that is gone keeps the name it had.
///
///   t9 = mul(t8, t5)   forward: t6: "torch.nn.functional.dropout"        t9 = mul(t8, t5)   forward: t6: "torch.mul"
///                                                                   ->
///   with `t6 = torch.mul(t5, t4)` among the last lines of the forward
void name_forward_ops(std::vector<Trace>& stages, const Trace& forward);

}  // namespace fulgurite
