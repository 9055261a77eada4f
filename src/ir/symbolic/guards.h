#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "ir/symbolic/symbol_values.h"

namespace fulgurite {

/// Symbolic scalars that must have the values of the recorded call for the trace to be valid.
using Guards = std::vector<detail::Ref<const NumberProxy>>;

/// Returns each scalar of a trace that was read while it was recorded or transformed, each comparison once.
Guards find_guards(const Trace&);
/// "i0 == 3", "not (i0 == i1)": a guard in readable form.
std::string guard_text(const NumberProxy&);
/// Returns the first guard that fails for these values, or null.
const NumberProxy* failed_guard(const Guards&, SymbolValues&);

}  // namespace fulgurite
