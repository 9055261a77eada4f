#pragma once
#include <span>

#include <fulgurite/trace.h>

namespace fulgurite {

// Passes in place, for a trace that nobody else sees yet.

/// eliminate_dead_code
void remove_dead_code(Trace&);
/// Of two lines of a trace, by position, which comes first.
struct OpPair {
  int first, second;
};
/// canonical_order, in which what is given here holds as well.
void bring_into_canonical_order(Trace&, std::span<const OpPair> pairs = {});

}  // namespace fulgurite
