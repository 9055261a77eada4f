#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <fulgurite/value.h>

#include "support/containers/small_vector.h"

namespace fulgurite {

/// The scalars of a trace in evaluation order, for traces that run with other sizes and scalars each time: SymbolValues
/// without its look-ups.
class NumberTable {
 public:
  struct Number {
    int64_t integer = 0;
    double floating = 0;
  };
  using Values = SmallVector<Number, 24>;

  /// Adds a scalar and its operands; returns its index among the values.
  int add(const NumberProxy&);
  /// The index of an added scalar; -1 if it was not added.
  int find(const NumberProxy&) const;
  /// Computes all of them. `given` holds a call's values by NumberProxy::input: sizes, and bits of scalars. Throws
  /// UnlocatedError if integers overflow or are divided by zero.
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
