#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/call_error.h"

namespace fulgurite::detail {

/// Rethrows the error of a program's step. If the step is a subsymbol of a composite operator that the user called, the
/// message names that operator first: "cross_entropy(…): … (in gather(…))". `stages` are the cache entry's, the first
/// as recorded.
[[noreturn]] void rethrow_for_composite(const std::vector<Trace>& stages, const CallError& error);

}  // namespace fulgurite::detail
