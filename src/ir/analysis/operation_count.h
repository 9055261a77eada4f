#pragma once
#include <cstdint>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Floating operations of an op; functions count as one an element.
int64_t operation_count(const BoundSymbol&);

}  // namespace fulgurite
