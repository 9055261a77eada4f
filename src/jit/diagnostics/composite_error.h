#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/call_error.h"

namespace fulgurite::detail {

/// Throws the error of a program's step again. Where the step is a part of a composite operator that the user called,
/// the message names that operator first: "cross_entropy(…): … (in gather(…))". `stages` are the version's, the first
/// as recorded.
[[noreturn]] void rethrow_for_composite(const std::vector<Trace>& stages, const CallError& error);

}  // namespace fulgurite::detail
