#pragma once
#include <span>

#include <fulgurite/trace.h>

namespace fulgurite {

// Passes in place, for a trace with a single owner.

/// eliminate_dead_code
void remove_dead_code(Trace&);
/// Two ops of a trace, by position, in order.
struct OpPair {
  int first, second;
};
/// canonical_order, in which the given pairs keep their order.
void bring_into_canonical_order(Trace&, std::span<const OpPair> pairs = {});

}  // namespace fulgurite
