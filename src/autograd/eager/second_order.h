#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// A backward that can be differentiated with respect to the inputs of its forward.
///
///   augmented_forward(t_0): t0 = exp(t_0); t1 = sum(t0); return t1, C0 = (t0,)
///   backward((t0,), (g,)):  t2 = mul(g, t0); return t2
///   ->
///   (t_0, t0, g):           t0' = exp(t_0); t2 = mul(g, t0'); return t2
///
/// Its parameters are the forward's inputs, the forward's saved values and the cotangents. Saved values that carry a
/// gradient are recomputed from the inputs; the others (masks, RNG states, indices) are used as saved. Throws UserError
/// if recomputation would consume random numbers again.
Trace backward_from_inputs(const Trace& augmented_forward, const Trace& backward);

}  // namespace fulgurite
