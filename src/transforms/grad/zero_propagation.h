#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Values that are known to be zero, because nothing depends on what they are the cotangent of.
///
///   g = (zero)              nothing is recorded
///   t = mul(g, a)     ->    nothing is recorded, and t is zero
///   u = exp(g)              not zero: the caller has to make zeros for g
class ZeroValues {
 public:
  void add(const Value&);
  bool has(const Value&) const;
  /// Whether the symbol's results are zero because these are; they are noted then.
  bool pass_through(const BoundSymbol&);
  bool is_used_by(const BoundSymbol&) const;
  void remove(const Value&);

 private:
  std::vector<char> is_zero_;  // by proxy id
};

}  // namespace fulgurite
