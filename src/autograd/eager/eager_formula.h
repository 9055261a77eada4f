#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

#include "ir/symbolic/symbol_table.h"

namespace fulgurite {

/// A backward with symbols for sizes and scalars, which runs op by op for any values of them without a program for
/// each, with the kernels chosen when it was recorded.
class EagerFormula {
 public:
  /// Takes a claimed trace; values fixed while recording become conditions. Throws if the trace needs a program.
  explicit EagerFormula(Trace);

  /// Computes the gradients, undefined if there is none. Returns false if the values violate the conditions or a kernel
  /// does not support them.
  bool run(std::span<const Tensor> arguments, std::span<const uint64_t> values, std::vector<Tensor>& results) const;
  /// Returns true if the values satisfy the conditions.
  bool holds(std::span<const uint64_t> values) const;

 private:
  class Run;
  enum class Kind : uint8_t { kernel, view, deletion };
  struct Op {
    Kind kind;
    const BoundSymbol* bound;
  };
  void add(const BoundSymbol&);
  void add_numbers(const Value&);
  /// Returns false if the values violate the conditions.
  bool find_values(std::span<const uint64_t> given, NumberTable::Values&) const;

  Trace trace_;
  std::vector<Value> inputs_, results_;  // tensors, or None
  std::vector<Op> ops_;
  NumberTable numbers_;
  std::vector<std::pair<int, detail::Ref<const NumberProxy>>> conditions_;
};

}  // namespace fulgurite
