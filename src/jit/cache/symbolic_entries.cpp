// Symbolic entries: recorded and transformed once, and specialized to programs for each set of the symbols' values.
#include <algorithm>

#include <fulgurite/error.h>

#include "ir/analysis/trace_values.h"
#include "ir/symbolic/guards.h"
#include "jit/jit_state.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::detail {

std::shared_ptr<const CacheEntry> JitState::find_with_symbols(const FlatArguments& flat) {
  if (options_.cache == Cache::no_caching) return nullptr;
  const uint64_t hash = flat.hash();
  if (std::shared_ptr<const CacheEntry> known = store_.find_specialization(flat, hash)) return known;
  const std::vector<std::shared_ptr<const SymbolicEntry>> candidates = store_.find_symbolic(flat);
  if (candidates.empty()) return nullptr;
  const std::vector<uint64_t> given = flat.symbol_values();
  for (const auto& candidate : candidates) {
    SymbolValues values(given);
    if (failed_guard(candidate->guards, values)) continue;
    try {
      std::shared_ptr<const CacheEntry> entry = specialise(candidate, flat);
      if (!holds(*entry, flat)) continue;
      store_.add_specialization(entry, hash);
      return entry;
    } catch (const std::exception&) {
      // Sizes that the shape rules reject are retraced, which reports the error or finds another path.
    }
  }
  return nullptr;
}

std::shared_ptr<CacheEntry> JitState::compile_with_symbols(Recording recording, const FlatArguments& flat,
                                                           const std::vector<LeafPath>& paths,
                                                           const std::vector<std::string>& names) {
  auto symbolic = std::make_shared<SymbolicEntry>();
  symbolic->key = flat.key_without_symbols();
  symbolic->leaf_names = names;
  symbolic->is_differentiated = grad_enabled() && recording.requires_grad;
  symbolic->recording = std::move(recording);
  context().unique_graphs.fetch_add(1, std::memory_order_relaxed);
  symbolic->compiled =
      compile(symbolic->recording.trace, symbolic->is_differentiated, pipeline_options(symbolic->recording));
  symbolic->guards = find_guards(symbolic->compiled.forward_traces.front());
  auto stages = std::make_shared<Stages>();
  stages->forward = std::move(symbolic->compiled.forward_traces);
  stages->backward = std::move(symbolic->compiled.backward_traces);
  std::shared_ptr<CacheEntry> entry = specialise(symbolic, flat);
  stages->prologue = make_prologue(*entry, stages->forward.front(), paths, flat);
  symbolic->stages = std::move(stages);
  return entry;
}

namespace {

// Requires that all symbols are integers.
std::shared_ptr<const SymbolicBackward> symbolic_backward(const std::shared_ptr<const SymbolicEntry>& entry,
                                                          std::span<const uint64_t> given) {
  const Trace& backward = entry->compiled.symbolic_backward;
  const auto is_given_float = [](const auto& number) {
    return number->input >= 0 && number->kind != NumberProxy::Kind::integer;
  };
  if (backward.bound_symbols.empty() || (backward.numbers && std::ranges::any_of(*backward.numbers, is_given_float)))
    return nullptr;
  auto out = std::make_shared<SymbolicBackward>();
  out->trace = {entry, &backward};
  for (const Value& input : input_values(entry->compiled.symbolic_forward))
    out->is_number.push_back(input.is_proxy() && !input.is_tensor());
  for (const uint64_t value : given) out->sizes.push_back(static_cast<int64_t>(value));
  return out;
}

}  // namespace

std::shared_ptr<CacheEntry> JitState::specialise(const std::shared_ptr<const SymbolicEntry>& symbolic,
                                                 const FlatArguments& flat) const {
  const std::vector<uint64_t> given = flat.symbol_values();
  SymbolValues values(given);
  auto entry = std::make_shared<CacheEntry>();
  entry->key = flat.key();
  entry->leaf_names = symbolic->leaf_names;
  entry->symbolic = symbolic;
  Programs programs = fulgurite::specialise({symbolic, &symbolic->compiled}, given, pipeline_options());
  entry->forward = std::move(programs.forward);
  entry->backward = std::move(programs.backward);
  entry->symbolic_backward = symbolic_backward(symbolic, given);
  connect(*entry, symbolic->recording, symbolic->is_differentiated);
  entry->result_slots = symbolic->recording.result_slots;
  entry->shared = ready(symbolic->recording.shared, values);
  entry->rest = symbolic->recording.rest;
  for (const Value& n : symbolic->recording.integers) entry->integers.push_back(values.value(n.integer()));
  for (const Value& n : symbolic->recording.floats) entry->floats.push_back(values.value(n.floating()));
  return entry;
}

}  // namespace fulgurite::detail
