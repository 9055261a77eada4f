#pragma once
#include <fulgurite/trace.h>

#include "support/containers/small_vector.h"

namespace fulgurite::detail {

/// The structure of a trace, as words: two traces have equal words exactly if they differ in names, ids and source
/// lines alone.
SmallVector<uint64_t, 64> structure_key(const Trace&);

}  // namespace fulgurite::detail
