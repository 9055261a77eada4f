#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// A forward op whose result is compared with the elements it was selected from, as an extremum's gradient does to find
/// its position.
struct ComparedElements {
  int elements;  // proxy id: the argument
  int selector;  // the forward op
};

/// All of a joint trace, of its forward and of its backward ops:
///
///     t1 = amax(t0, {-1}, true)
///     t2 = eq(t0, t1)              →   {t0, the op of t1}
std::vector<ComparedElements> find_compared_elements(const Trace& joint);

/// Returns true if a symbol's elements are its first argument's, up to sign or 0: recomputing yields equal bits, so it
/// may be rounded before or after.
bool is_exact(const Symbol&);

}  // namespace fulgurite
