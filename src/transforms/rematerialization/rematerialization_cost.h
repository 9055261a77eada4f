#pragma once
#include <optional>

#include <fulgurite/trace.h>

namespace fulgurite {

/// What keeping a value for the backward costs, and what making it again costs; both in bytes. The one place that knows how
/// executors run symbols.
class RecomputationCost {
 public:
  virtual ~RecomputationCost() = default;
  /// Bytes that saving the value keeps alive.
  virtual int64_t keeping(const Value&) const = 0;
  /// Bytes moved to run the symbol again; none where it must not be run again.
  virtual std::optional<int64_t> repeating(const BoundSymbol&) const = 0;
};

/// Symbols run one by one: pointwise symbols, normalizations and reductions cost what they read and write, views nothing. Matrix
/// products, draws, writes and what searches or scatters are never repeated.
class SymbolBySymbolCost final : public RecomputationCost {
 public:
  int64_t keeping(const Value&) const override;
  std::optional<int64_t> repeating(const BoundSymbol&) const override;
};

/// Bytes moved to copy a value.
int64_t copying(const Value&);
/// Bytes of a tensor's elements, 8 for a number.
int64_t bytes_of(const Value&);

}  // namespace fulgurite
