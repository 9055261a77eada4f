#include <algorithm>

#include "jit/jit_state.h"

namespace fulgurite::detail {

void JitState::finish_times(CacheEntry& entry, std::chrono::steady_clock::time_point start) {
  const std::shared_ptr<const Stages>& all = stages_of(entry);
  for (const std::vector<Trace>* stages : {&all->forward, &all->backward})
    for (const Trace& stage : *stages) entry.transforms += stage.milliseconds;
  entry.total = milliseconds_since(start);
  entry.planning = std::max(0.0, entry.total - entry.tracing - entry.transforms);
}

void JitState::add_times(const CacheEntry& entry) {
  const std::lock_guard lock(mutex_);
  compiles_.tracing += entry.tracing;
  compiles_.transforms += entry.transforms;
  compiles_.planning += entry.planning;
  compiles_.total += entry.total;
}

void JitState::keep_last(const Subgraphs& subgraphs) {
  const std::lock_guard lock(mutex_);
  last_subgraphs_ = subgraphs;
}

Subgraphs JitState::last_subgraphs() const {
  const std::lock_guard lock(mutex_);
  return last_subgraphs_;
}

CompileStats JitState::stats() const {
  CompileStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats = compiles_;
  }
  stats.calls = store_.epochs().visits();
  stats.misses = misses_.load(std::memory_order_relaxed);
  stats.hits = stats.calls - stats.misses;
  stats.last_call = static_cast<double>(last_nanoseconds_.load(std::memory_order_relaxed)) / 1e3;
  stats.mean_call = stats.calls == 0 ? 0.0
                                     : static_cast<double>(total_nanoseconds_.load(std::memory_order_relaxed)) / 1e3 /
                                           static_cast<double>(stats.calls);
  return stats;
}

}  // namespace fulgurite::detail
