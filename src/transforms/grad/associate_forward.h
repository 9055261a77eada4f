#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// The link of an op that recomputes this forward op in the backward.
ForwardOrigin recomputation_of(const BoundSymbol&);

/// Gives the links in `stages` the names that the forward as run has for them: executors may have decomposed a
/// composite or fused ops. The link of a removed forward op keeps its name.
///
///   t9 = mul(t8, t5)   forward: t6: "torch.nn.functional.dropout"        t9 = mul(t8, t5)   forward: t6: "torch.mul"
///                                                                   ->
///   with `t6 = torch.mul(t5, t4)` among the last ops of the forward
void name_forward_ops(std::vector<Trace>& stages, const Trace& forward);

}  // namespace fulgurite
