#pragma once
#include <vector>

#include <fulgurite/symbol.h>
#include <fulgurite/trace.h>

namespace fulgurite {

/// The effects of an op: those of its operator's record, and of its subsymbols in the forward. An op that gives nothing
/// acts on the world outside.
Effects effects_of(const BoundSymbol&);

/// Returns true for an operator that draws random numbers. Symbols that belong to the trace itself have every effect
/// only to keep their places.
inline bool draws_numbers(const Symbol& symbol) {
  return symbol.traits.effects.has(Effect::random) && !symbol.traits.structural;
}

/// The order that effects demand of the ops of a trace, which are added from the first to the last. Ops that share an
/// effect keep their order; collectives of unlike groups do not share theirs.
class EffectOrder {
 public:
  /// Adds the op at `position`, and returns the positions of the ops that it has to follow, in ascending order.
  std::vector<int> add(const BoundSymbol&, int position);
  /// The positions of the ops that no later one had to follow, in ascending order.
  std::vector<int> last() const;

 private:
  /// The last op with an effect; of a group for collectives.
  struct Chain {
    Effect effect;
    Value group;
    int last;
  };
  void follow(Effect, const Value& group, int position, std::vector<int>& before);
  std::vector<Chain> chains_;
};

}  // namespace fulgurite
