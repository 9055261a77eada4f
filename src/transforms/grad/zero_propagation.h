#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Values that are known to be zero, because nothing depends on the values whose cotangents they are.
///
///   g = (zero)              nothing is recorded
///   t = mul(g, a)     ->    nothing is recorded, and t is zero
///   u = exp(g)              not zero: the caller has to create zeros for g
class ZeroValues {
 public:
  void add(const Value&);
  bool has(const Value&) const;
  /// Propagates known zeros through the symbol. Returns true, and notes its results, if they are zero because of them.
  bool pass_through(const BoundSymbol&);
  bool is_used_by(const BoundSymbol&) const;
  void remove(const Value&);

 private:
  std::vector<char> is_zero_;  // by proxy id
};

}  // namespace fulgurite
