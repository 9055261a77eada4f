#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// A forward line whose result is compared with what it was selected from, as an extremum's gradient does to find whose it is.
struct ComparedElements {
  int elements;  // proxy id: the argument
  int selector;  // the forward line
};

/// All of a joint trace, of its forward and of its backward lines:
///
///     t1 = amax(t0, {-1}, true)
///     t2 = eq(t0, t1)              →   {t0, the line of t1}
std::vector<ComparedElements> find_compared_elements(const Trace& joint);

/// Whether a symbol's elements are its first argument's, but for the sign or 0: recomputed they are the same, and so they are rounded before or after it.
bool is_exact(const Symbol&);

}  // namespace fulgurite
