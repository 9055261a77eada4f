#include "jit/cache/compilation_cache.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "ir/analysis/trace_bytes.h"
#include "support/context.h"
#include "support/environment.h"

namespace fulgurite::detail {

namespace {

constexpr int64_t default_entries = 4096;

int64_t max_entries(const CacheLimits& limits) {
  if (limits.versions) return *limits.versions;
  static const int64_t of_environment = environment_number("FULGURITE_CACHE_VERSIONS").value_or(default_entries);
  return of_environment;
}

uint64_t last_use(const CacheEntry& entry) {
  return (entry.symbolic ? entry.symbolic->last_use : entry.last_use).load(std::memory_order_relaxed);
}

/// The number of entries to evict. Finding the oldest scans all, so large caches may exceed the limit by some.
size_t count_excess(size_t count, int64_t limit) {
  const auto most = static_cast<size_t>(limit);
  return count > most + most / 64 ? count - most : 0;
}

/// The same for bytes, if each takes the mean. A few always stay: a function with a few kinds of calls must not be
/// recompiled at each.
size_t count_excess_bytes(size_t count, int64_t bytes, int64_t limit) {
  constexpr size_t always_retained = 8;
  if (bytes <= limit || count <= always_retained) return 0;
  const auto kept =
      static_cast<size_t>(static_cast<double>(count) * 0.9 * static_cast<double>(limit) / static_cast<double>(bytes));
  return count - std::max(kept, always_retained);
}

int64_t bytes_of(const CacheEntry& entry) {
  TraceBytes traces;
  int64_t programs = 0;
  for (const auto& program : {entry.forward, entry.backward}) {
    if (!program || !program->is_made()) continue;
    const ProgramBytes bytes = program->bytes();
    programs += bytes.plan + bytes.arenas;
    traces.add(program->trace());
  }
  if (const auto stages = entry.symbolic ? nullptr : entry.stages)
    for (const std::vector<Trace>* of : {&stages->forward, &stages->backward, &stages->prologue})
      for (const Trace& trace : *of) traces.add(trace);
  // The heap's overhead and keys are not counted.
  return 2 * (programs + traces.total()) + static_cast<int64_t>(sizeof(CacheEntry));
}

template <class Items, class LastUse>
void bring_oldest_to_front(Items& items, size_t count, LastUse&& last_use_of) {
  std::nth_element(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count), items.end(),
                   [&](const auto& a, const auto& b) { return last_use_of(a) < last_use_of(b); });
}

bool captures_are_alike(const CacheEntry& entry) {
  if (entry.captures.empty()) return true;
  SmallVector<uint64_t, 64> now;
  for (const Tensor& tensor : entry.captures) append_tensor_key(*tensor.impl(), now);
  return same_words(entry.capture_key, now);
}

template <class Map, class Item>
void erase_from(Map& map, uint64_t hash, const Item& item) {
  const auto [begin, end] = map.equal_range(hash);
  for (auto one = begin; one != end; ++one)
    if (one->second == item) {
      map.erase(one);
      return;
    }
}

}  // namespace

bool holds(const CacheEntry& entry, const FlatArguments& flat) {
  if (!same_words(entry.key, flat.key()) || !captures_are_alike(entry)) return false;
  for (const StrideGuard& guard : entry.stride_guards)
    if (!guard.holds(flat)) return false;
  for (const auto& [leaf, tensor] : entry.reached)
    if (!flat.tensors()[static_cast<size_t>(leaf)]->is_same(tensor)) return false;
  if (!entry.writes) return true;
  for (size_t i = 0; i < entry.captures.size(); ++i)
    if (leaf_that_shares(entry.captures[i], flat) != entry.sharing[i]) return false;
  return true;
}

CompilationCache::CompilationCache(const CacheLimits& limits, bool caches)
    : limits_(limits),
      max_entries_(max_entries(limits)),
      max_bytes_(limits.bytes.value_or(cache_bytes())),
      caches_(caches) {}

// The order of two simultaneous uses does not matter.
void CompilationCache::use(const CacheEntry& entry) const {
  const uint64_t now = uses_.load(std::memory_order_relaxed) + 1;
  uses_.store(now, std::memory_order_relaxed);
  entry.last_use.store(now, std::memory_order_relaxed);
  if (entry.symbolic) entry.symbolic->last_use.store(now, std::memory_order_relaxed);
}

const CacheEntry* CompilationCache::find(const FlatArguments& flat, uint64_t hash) {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    const CacheEntry* const entry = candidate->second;
    if (!holds(*entry, flat)) continue;
    // Repeated hits of the last entry are not recorded one by one.
    if (const CacheEntry* const before = last_.load(std::memory_order_relaxed)) use(*before);
    use(*entry);
    last_.store(entry, std::memory_order_seq_cst);
    return entry;
  }
  return nullptr;
}

CompilationCache::Entry CompilationCache::find_specialization(const FlatArguments& flat, uint64_t hash) {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_values_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (!holds(*candidate->second, flat)) continue;
    use(*candidate->second);
    return candidate->second;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const SymbolicEntry>> CompilationCache::find_symbolic(const FlatArguments& flat) const {
  std::vector<std::shared_ptr<const SymbolicEntry>> found;
  const std::shared_lock lock(mutex_);
  if (symbolic_.empty()) return found;
  const SmallVector<uint64_t, 64> key = flat.key_without_symbols();
  const auto [begin, end] = symbolic_.equal_range(hash_of(key));
  for (auto candidate = begin; candidate != end; ++candidate)
    if (same_words(candidate->second->key, key)) found.push_back(candidate->second);
  return found;
}

CompilationCache::Entry CompilationCache::find_subgraph(const SmallVector<uint64_t, 64>& key, uint64_t hash) {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = subgraphs_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (!same_words(candidate->second->key, key)) continue;
    use(*candidate->second);
    return candidate->second;
  }
  return nullptr;
}

void CompilationCache::add(const Entry& entry, uint64_t hash) {
  Garbage garbage;
  const std::unique_lock lock(mutex_);
  entry->number = ++compiled_;
  if (!caches_) {
    entries_.assign(1, entry);
    return;
  }
  use(*entry);
  entry->hash = hash;
  entries_.push_back(entry);
  keep_stages(entry, garbage);
  if (entry->symbolic) {
    symbolic_.emplace(hash_of(entry->symbolic->key), entry->symbolic);
    by_values_.emplace(hash, entry);
    make_room(by_values_, limits_.sets_of_values, garbage);
  } else {
    by_hash_.emplace(hash, entry.get());
    if (const CacheEntry* const before = last_.load(std::memory_order_relaxed)) use(*before);
    use(*entry);
    last_.store(entry.get(), std::memory_order_seq_cst);
  }
  make_room(garbage);
  limit_bytes(entry, garbage);
  free_retired(garbage);
}

void CompilationCache::add_specialization(const Entry& entry, uint64_t hash) {
  Garbage garbage;
  const std::unique_lock lock(mutex_);
  use(*entry);
  entry->hash = hash;
  by_values_.emplace(hash, entry);
  make_room(by_values_, limits_.sets_of_values, garbage);
  limit_bytes(entry, garbage);
}

void CompilationCache::add_subgraph(const Entry& entry, uint64_t hash) {
  if (!caches_) return;
  Garbage garbage;
  const std::unique_lock lock(mutex_);
  use(*entry);
  entry->hash = hash;
  subgraphs_.emplace(hash, entry);
  keep_stages(entry, garbage);
  make_room(subgraphs_, max_entries_, garbage);
  limit_bytes(entry, garbage);
}

void CompilationCache::keep_stages(const Entry& entry, Garbage& garbage) {
  with_all_stages_.push_back(entry);
  while (with_all_stages_.size() > static_cast<size_t>(limits_.traces)) {
    const Entry old = with_all_stages_.front().lock();
    with_all_stages_.pop_front();
    if (!old) continue;
    auto kept = std::make_shared<Stages>(*stages_of(*old));
    for (std::vector<Trace>* stages : {&kept->forward, &kept->backward})
      if (stages->size() > 2) stages->erase(stages->begin() + 1, stages->end() - 1);
    garbage.push_back(std::exchange(stages_of(*old), std::move(kept)));
    not_measured_.push_back(old);
  }
}

void CompilationCache::make_room(Garbage& garbage) {
  drop_oldest(count_excess(entries_.size(), max_entries_), garbage);
}

void CompilationCache::drop_oldest(size_t excess, Garbage& garbage) {
  if (excess == 0) return;
  const CacheEntry* const last = last_.load(std::memory_order_relaxed);
  std::vector<const Entry*> by_use;
  for (const Entry& entry : entries_)
    if (entry.get() != last) by_use.push_back(&entry);
  const size_t count = std::min(excess, by_use.size());
  if (count < by_use.size()) bring_oldest_to_front(by_use, count, [](const Entry* v) { return last_use(**v); });
  std::unordered_set<const CacheEntry*> dropped;
  for (size_t i = 0; i < count; ++i) {
    dropped.insert(by_use[i]->get());
    drop(*by_use[i], garbage);
  }
  std::erase_if(entries_, [&](const Entry& entry) { return dropped.contains(entry.get()); });
  count_evicted(count);
}

void CompilationCache::drop(const Entry& entry, Garbage& garbage) {
  if (!entry->symbolic) {
    erase_from(by_hash_, entry->hash, entry.get());
    retired_.push_back({entry});
    return;
  }
  // A running program with symbols keeps its symbolic entry alive.
  const std::shared_ptr<const SymbolicEntry> symbolic = entry->symbolic;
  erase_from(symbolic_, hash_of(symbolic->key), symbolic);
  for (auto one = by_values_.begin(); one != by_values_.end();) {
    if (one->second->symbolic != symbolic) {
      ++one;
      continue;
    }
    garbage.push_back(std::move(one->second));
    one = by_values_.erase(one);
  }
  garbage.push_back(entry);
}

void CompilationCache::make_room(Table& table, int64_t limit, Garbage& garbage) {
  drop_oldest(table, count_excess(table.size(), limit), garbage);
}

void CompilationCache::drop_oldest(Table& table, size_t excess, Garbage& garbage) {
  if (excess == 0) return;
  std::vector<Table::iterator> by_use;
  for (auto one = table.begin(); one != table.end(); ++one) by_use.push_back(one);
  const auto use_of = [](Table::iterator one) { return one->second->last_use.load(std::memory_order_relaxed); };
  if (excess < by_use.size()) bring_oldest_to_front(by_use, excess, use_of);
  for (size_t i = 0; i < excess; ++i) {
    garbage.push_back(std::move(by_use[i]->second));
    table.erase(by_use[i]);
  }
  count_evicted(excess);
}

// Entries added before are measured now: their backward programs may have been compiled since.
void CompilationCache::limit_bytes(const Entry& added, Garbage& garbage) {
  for (const auto& one : not_measured_)
    if (const Entry entry = one.lock()) entry->bytes = bytes_of(*entry);
  not_measured_.assign(1, added);
  constexpr size_t few = 64;  // of more, a look at all is worth it now and then
  const size_t count = entries_.size() + by_values_.size() + subgraphs_.size();
  if (count > few && ++adds_ % 16 != 0) return;
  int64_t bytes = 0, of_values = 0, of_subgraphs = 0;
  for (const Entry& entry : entries_) bytes += entry->bytes;
  for (const auto& [hash, entry] : by_values_) of_values += entry->bytes;
  for (const auto& [hash, subgraph] : subgraphs_) of_subgraphs += subgraph->bytes;
  drop_oldest(by_values_, count_excess_bytes(by_values_.size(), of_values, max_bytes_), garbage);
  drop_oldest(subgraphs_, count_excess_bytes(subgraphs_.size(), of_subgraphs, max_bytes_), garbage);
  drop_oldest(count_excess_bytes(entries_.size(), bytes, max_bytes_), garbage);
}

void CompilationCache::free_retired(Garbage& garbage) {
  if (retired_.empty()) return;
  for (int generation = 0; generation < EpochCounter::epochs; ++generation)
    if (epochs_.is_empty(generation))
      for (Retired& one : retired_) one.was_empty[generation] = true;
  std::erase_if(retired_, [&](Retired& one) {
    const bool is_free = std::ranges::all_of(one.was_empty, [](bool empty) { return empty; });
    if (is_free) garbage.push_back(std::move(one.entry));
    return is_free;
  });
  if (epochs_.is_empty(1 - epochs_.current())) epochs_.advance();
}

void CompilationCache::count_evicted(size_t count) {
  evicted_ += static_cast<int64_t>(count);
  context().evicted_versions.fetch_add(static_cast<int64_t>(count), std::memory_order_relaxed);
}

void CompilationCache::retain_last_with_symbols(const Entry& entry) {
  Entry before;
  const std::unique_lock lock(mutex_);
  before = std::exchange(last_with_symbols_, entry && entry->symbolic ? entry : nullptr);
  last_with_symbols_address_.store(last_with_symbols_.get(), std::memory_order_relaxed);
}

CompilationCache::Entry CompilationCache::last() const {
  const std::shared_lock lock(mutex_);
  if (last_with_symbols_) return last_with_symbols_;
  const CacheEntry* const last = last_.load(std::memory_order_relaxed);
  for (const Entry& entry : entries_)
    if (!last || entry.get() == last) return entry;
  return nullptr;
}

std::vector<CompilationCache::Entry> CompilationCache::entries() const {
  const std::shared_lock lock(mutex_);
  return entries_;
}

CompilationCache::Entry CompilationCache::newest() const {
  const std::shared_lock lock(mutex_);
  return entries_.empty() ? nullptr : entries_.back();
}

std::shared_ptr<const Stages> CompilationCache::stages(const CacheEntry& entry) const {
  const std::shared_lock lock(mutex_);
  return stages_of(entry);
}

int64_t CompilationCache::evicted() const {
  const std::shared_lock lock(mutex_);
  return evicted_;
}

CacheStats CompilationCache::stats() const {
  CacheStats stats;
  TraceBytes traces;
  std::unordered_set<const Program*> programs;
  const auto count_program = [&](const std::shared_ptr<Program>& program) {
    if (!program || !programs.insert(program.get()).second) return;
    const ProgramBytes bytes = program->bytes();
    stats.programs += bytes.plan;
    stats.arenas += bytes.arenas;
    if (program->is_made()) traces.add(program->trace());
  };
  const auto count = [&](const CacheEntry& entry) {
    count_program(entry.forward);
    count_program(entry.backward);
    const std::shared_ptr<const Stages>& stages = stages_of(entry);
    if (!stages) return;
    for (const std::vector<Trace>* of : {&stages->forward, &stages->backward, &stages->prologue})
      for (const Trace& trace : *of) traces.add(trace);
  };
  const std::shared_lock lock(mutex_);
  for (const Entry& entry : entries_) count(*entry);
  for (const auto& [hash, entry] : by_values_) count(*entry);
  for (const auto& [hash, subgraph] : subgraphs_) count(*subgraph);
  for (const auto& [hash, symbolic] : symbolic_) {
    traces.add(symbolic->compiled.symbolic_forward);
    traces.add(symbolic->compiled.symbolic_backward);
  }
  stats.versions = static_cast<int64_t>(entries_.size() + subgraphs_.size());
  stats.sets_of_values = static_cast<int64_t>(by_values_.size());
  stats.evicted = evicted_;
  stats.traces = traces.total();
  return stats;
}

}  // namespace fulgurite::detail
