#pragma once
#include <vector>

#include "ir/analysis/trace_values.h"
#include "ir/symbolic/symbol_values.h"

namespace fulgurite {

/// A trace with values in the place of its number symbols, and nothing left that makes them.
///
///   (i0, i1) = prims.shape(t_0)
///   i2 = i0 * i1
///   t3 = reshape(t_0, (i2,))        ->        t3 = reshape(t_0, (12,))
///   return t3                                 return t3
///
/// Ids and names stay. Numbers among the args, and among what is kept for a backward, are left out; so are the results in `left_out`,
/// by position, where there are as many.
Trace specialize_symbols(const Trace&, SymbolValues&, const std::vector<char>& left_out = {});

/// Whether sizes or numbers of the trace are symbols.
bool has_numbers(const Trace&);

}  // namespace fulgurite
