#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

#include "ir/symbolic/symbol_table.h"

namespace fulgurite {

/// A backward with symbols for sizes and numbers, which runs for any values of them without a program for each: op by op, with the kernels that
/// were chosen when it was recorded.
class EagerFormula {
 public:
  /// Of a claimed trace; the numbers that it fixed are conditions for the values. Throws for what only a program can run.
  explicit EagerFormula(const Trace&);

  /// Computes the gradients, undefined for what has none. Returns false where these values do not fulfil the conditions, or a kernel refuses them.
  bool run(std::span<const Tensor> arguments, std::span<const uint64_t> values, std::vector<Tensor>& results) const;
  /// True if the values fulfil the conditions.
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
  /// Returns false where they do not fulfil the conditions.
  bool find_values(std::span<const uint64_t> given, NumberTable::Values&) const;

  Trace trace_;
  std::vector<Value> inputs_, results_;  // tensors, or None
  std::vector<Op> ops_;
  NumberTable numbers_;
  std::vector<std::pair<int, detail::Ref<const NumberProxy>>> conditions_;
};

}  // namespace fulgurite
