#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <fulgurite/value.h>

#include "support/containers/small_vector.h"

namespace fulgurite {

/// Numbers of a trace in the order in which they are computed, for traces that run with other sizes and numbers each time: SymbolValues without its
/// look-ups.
class NumberTable {
 public:
  struct Number {
    int64_t integer = 0;
    double floating = 0;
  };
  using Values = SmallVector<Number, 24>;

  /// Adds a number and what it is computed from; returns its index among the values.
  int add(const NumberProxy&);
  /// The index of a number that was added; -1 if it was not.
  int find(const NumberProxy&) const;
  /// Computes all of them. `given` is what a call gives, by NumberProxy::input: sizes, and bits of numbers. An UnplacedError for integers that overflow or
  /// are divided by zero.
  void compute(std::span<const uint64_t> given, Values&) const;

 private:
  struct Entry {
    detail::Ref<const NumberProxy> number;
    int operands[2];
  };
  static Number compute(const Entry&, std::span<const uint64_t> given, const Values&);
  std::vector<Entry> entries_;
};

}  // namespace fulgurite
