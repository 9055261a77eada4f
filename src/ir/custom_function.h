#pragma once
#include <span>

#include <fulgurite/trace.h>

#include "ir/structural.h"

namespace fulgurite {

// A custom function in a trace is one op, named after it, whose subsymbols are its recorded forward, then its recorded
// backward. The backward begins with a get_grad for each result that carries a gradient, and sets the inputs' gradients
// with put_grad:
//
//   t2 = autograd.Cube(t_0)
//     t1 = mul(t_0, t_0)
//     t2 = mul(t1, t_0)
//     t3 = prims.get_grad(t2)
//     t4 = mul(t3, t1)
//     t5 = mul(t4, 3.0)
//     prims.put_grad(t_0, t5)
//
// The arguments are all values that the subsymbols use; the results are the function's, then the forward values that
// the backward needs (so the op above would return t1 as well). Only differentiation reads the backward.

/// A custom function's forward; all subsymbols of any other symbol.
std::span<const BoundSymbol> forward_lines(const BoundSymbol&);
/// A custom function's backward; empty for any other symbol.
std::span<const BoundSymbol> backward_lines(const BoundSymbol&);
/// Returns true if a trace calls a custom function.
bool has_custom_functions(const Trace&);

}  // namespace fulgurite
