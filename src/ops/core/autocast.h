#pragma once
#include <fulgurite/autocast.h>

#include "ops/core/dispatch.h"

namespace fulgurite {

/// How many conversions autocasting has made on this thread.
uint64_t autocast_conversions();

/// The call as it is inside an autocast scope of `dtype`: with its arguments converted as autocasting wants them of this operator.
void dispatch_autocast(const Symbol&, Arguments, SourceLocation, Results&, Dtype dtype);

}  // namespace fulgurite
