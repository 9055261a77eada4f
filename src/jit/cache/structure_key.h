#pragma once
#include <fulgurite/trace.h>

#include "support/containers/small_vector.h"

namespace fulgurite::detail {

/// What a trace does, as words: two traces have the same words exactly if they differ in names, ids and source lines alone.
SmallVector<uint64_t, 64> structure_key(const Trace&);

}  // namespace fulgurite::detail
