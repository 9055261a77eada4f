#pragma once
#include <fulgurite/autocast.h>

#include "ops/core/dispatch.h"

namespace fulgurite {

/// The number of conversions that autocast has made on this thread.
uint64_t autocast_conversions();

/// Dispatches a call inside an autocast scope of `dtype`: with its arguments converted by autocast's rules for this
/// operator.
void dispatch_autocast(const Symbol&, Arguments, SourceLocation, Results&, Dtype dtype);

}  // namespace fulgurite
