#pragma once
#include <vector>

#include "ir/analysis/trace_values.h"
#include "ir/symbolic/symbol_values.h"

namespace fulgurite {

/// Replaces the symbolic scalars of a trace by values, and removes the ops that compute them.
///
///   (i0, i1) = prims.shape(t_0)
///   i2 = i0 * i1
///   t3 = reshape(t_0, (i2,))        ->        t3 = reshape(t_0, (12,))
///   return t3                                 return t3
///
/// Ids and names are unchanged. Scalars among the args and the saved values are omitted; so are the results in
/// `left_out`, by position, if there are as many.
Trace specialize_symbols(const Trace&, SymbolValues&, const std::vector<char>& left_out = {});

/// Returns true if the trace has symbolic sizes or scalars.
bool has_numbers(const Trace&);

}  // namespace fulgurite
