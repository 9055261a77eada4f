#pragma once
#include <optional>

#include <fulgurite/trace.h>

namespace fulgurite {

/// The cost of saving a value for the backward, and of recomputing it; both in bytes. Knowledge of how executors run
/// symbols is confined to this file.
class RecomputationCost {
 public:
  virtual ~RecomputationCost() = default;
  /// Bytes kept alive by saving the value.
  virtual int64_t keeping(const Value&) const = 0;
  /// Bytes moved to recompute the symbol; none if it must not be recomputed.
  virtual std::optional<int64_t> repeating(const BoundSymbol&) const = 0;
};

/// Symbols run one by one: pointwise symbols, normalizations and reductions cost their memory traffic, views nothing.
/// Matmuls, draws, writes, searches and scatters are never recomputed.
class SymbolBySymbolCost final : public RecomputationCost {
 public:
  int64_t keeping(const Value&) const override;
  std::optional<int64_t> repeating(const BoundSymbol&) const override;
};

/// Bytes moved to copy a value.
int64_t copying(const Value&);

}  // namespace fulgurite
