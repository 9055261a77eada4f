#pragma once
#include <span>

#include <fulgurite/trace.h>

namespace fulgurite {

// A custom function in a trace is one line, named after it, whose subsymbols are what its forward recorded, then what its backward did. The
// backward begins with a get_grad for each result that carries a gradient, and gives its own with put_grad:
//
//   t2 = autograd.Cube(t_0)
//     t1 = mul(t_0, t_0)
//     t2 = mul(t1, t_0)
//     t3 = prims.get_grad(t2)
//     t4 = mul(t3, t1)
//     t5 = mul(t4, 3.0)
//     prims.put_grad(t_0, t5)
//
// The arguments are all that the lines inside use; the results are the function's, then the values of its forward that the backward needs (so
// the line above would give t1 as well). Only differentiation reads the backward.

bool is_custom_function(const BoundSymbol&);
/// A custom function's forward; all subsymbols of any other symbol.
std::span<const BoundSymbol> forward_lines(const BoundSymbol&);
/// A custom function's backward; nothing of any other symbol.
std::span<const BoundSymbol> backward_lines(const BoundSymbol&);
/// Whether a trace has a line of one.
bool has_custom_functions(const Trace&);

}  // namespace fulgurite
