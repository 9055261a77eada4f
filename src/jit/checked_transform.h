#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::detail {

/// A pass of the user's whose result is checked whenever it runs, because programs trust the types that a trace has: it must be a whole trace with
/// the arguments and the results that it was given. Else UserError with the pass (its place among those given, from 0), the symbol and
/// the rule that it breaks, and where the passes were given.
Transform checked_transform(Transform, size_t position, SourceLocation given_at);

}  // namespace fulgurite::detail
