#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "ir/symbolic/symbol_values.h"

namespace fulgurite {

/// Numbers that must be what they were in the recorded call, for the trace to be the one that would be recorded.
using Guards = std::vector<detail::Ref<const NumberProxy>>;

/// All numbers of a trace that were asked for while it was recorded or transformed, each question once.
Guards find_guards(const Trace&);
/// "i0 == 3", "not (i0 == i1)": a guard as it is printed for people.
std::string guard_text(const NumberProxy&);
/// The first guard that does not hold for these values; null where all do.
const NumberProxy* failed_guard(const Guards&, SymbolValues&);

}  // namespace fulgurite
