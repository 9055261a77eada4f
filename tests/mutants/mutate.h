#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite::test {

/// A backward trace with one thing wrong.
struct Mutant {
  Trace trace;
  std::string change;   // "`t4 = mul(t1, t2)`: argument 1 negated"
  std::string mistake;  // the same for traces of one rule on other shapes: where and what
  std::vector<BoundSymbol> original,
      lines;  // what stands instead of what; empty where a result of the trace was changed
};

/// Every small mistake in a backward trace:
///   - a line's result, an argument of a line or a gradient returned: negated;
///   - a term of an addition, or a gradient returned: dropped, that is zero;
///   - an integer (an axis, a shift, a size): one more, one less; neighbours in a list of integers: exchanged;
///   - a factor: doubled, negated; a flag: turned over;
///   - the operands of a line whose order matters, tensors that are joined: exchanged;
///   - a comparison: strict instead of not, and the other way round.
std::vector<Mutant> mutants_of(const Trace& backward);

}  // namespace fulgurite::test
