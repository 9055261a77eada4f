#include "ir/analysis/effects.h"

#include <algorithm>

#include "ir/custom_function.h"

namespace fulgurite {

namespace {

constexpr Effect all_kinds[] = {Effect::random, Effect::memory, Effect::io, Effect::collective};

Effects own_effects(const BoundSymbol& bound) {
  const bool gives_nothing = bound.symbol->signature.result_count == 0 && bound.outputs.empty();
  const Effects effects = bound.symbol->traits.effects;
  return gives_nothing ? effects | Effect::io : effects;
}

/// The group of a collective; none: any group.
Value group_of(const BoundSymbol& bound) {
  for (const auto& [name, value] : bound.kwargs)
    if (name == "group") return value;
  const std::span<const Parameter> parameters = bound.symbol->signature.params();
  for (size_t i = 0; i < bound.args.size() && i < parameters.size(); ++i)
    if (parameters[i].name == "group") return bound.args.read()[i];
  return {};
}

/// Calls visit(effect, group) for the effects of an op and of its subsymbols; effects without groups have none.
template <class Visit>
void for_each_effect(const BoundSymbol& bound, Visit&& visit) {
  const Effects own = own_effects(bound);
  for (const Effect effect : all_kinds)
    if (own.has(effect)) visit(effect, effect == Effect::collective ? group_of(bound) : Value());
  for (const BoundSymbol& subsymbol : forward_lines(bound)) for_each_effect(subsymbol, visit);
}

void sort_once(std::vector<int>& positions) {
  std::ranges::sort(positions);
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
}

}  // namespace

Effects effects_of(const BoundSymbol& bound) {
  Effects effects = own_effects(bound);
  for (const BoundSymbol& subsymbol : forward_lines(bound)) effects = effects | effects_of(subsymbol);
  return effects;
}

// A chain without a group stands for all groups that have no chain of their own yet.
void EffectOrder::follow(Effect effect, const Value& group, int position, std::vector<int>& before) {
  const Chain* general = nullptr;
  Chain* own = nullptr;
  for (Chain& chain : chains_) {
    if (chain.effect != effect) continue;
    if (chain.group == group) own = &chain;
    if (chain.group.is_none()) general = &chain;
    if (group.is_none()) before.push_back(chain.last);
  }
  if (group.is_none()) {
    std::erase_if(chains_, [&](const Chain& chain) { return chain.effect == effect; });
    chains_.push_back({effect, {}, position});
    return;
  }
  if (own) before.push_back(own->last);
  else if (general) before.push_back(general->last);
  if (own) own->last = position;
  else chains_.push_back({effect, group, position});
}

std::vector<int> EffectOrder::add(const BoundSymbol& bound, int position) {
  std::vector<int> before;
  for_each_effect(bound, [&](Effect effect, const Value& group) { follow(effect, group, position, before); });
  std::erase(before, position);  // several subsymbols have one effect
  sort_once(before);
  return before;
}

std::vector<int> EffectOrder::last() const {
  std::vector<int> positions;
  for (const Chain& chain : chains_) positions.push_back(chain.last);
  sort_once(positions);
  return positions;
}

}  // namespace fulgurite
