#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::detail {

/// A user-defined pass whose result is checked at every run, because programs trust the types of a trace: it must be a
/// complete trace with the arguments and the results of its input. Otherwise UserError with the pass (`name`, as the
/// message spells it), the symbol, the rule that it breaks, and the location where the passes were passed.
Transform checked_transform(Transform, std::string name, SourceLocation given_at);

}  // namespace fulgurite::detail
