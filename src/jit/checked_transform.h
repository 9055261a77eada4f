#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::detail {

/// A user-defined pass whose result is checked at every run, because programs trust the types of a trace: it must be a
/// complete trace with the arguments and the results of its input. Otherwise UserError with the pass (its position
/// among those passed, from 0), the symbol, the rule that it breaks, and the location where the passes were passed.
Transform checked_transform(Transform, size_t position, SourceLocation given_at);

}  // namespace fulgurite::detail
