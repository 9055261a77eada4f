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

constexpr int64_t default_versions = 4096;

int64_t most_versions(const CacheLimits& limits) {
  if (limits.versions) return *limits.versions;
  static const int64_t of_environment = environment_number("FULGURITE_CACHE_VERSIONS").value_or(default_versions);
  return of_environment;
}

uint64_t last_use(const CompiledVersion& version) {
  return (version.symbolic ? version.symbolic->last_use : version.last_use).load(std::memory_order_relaxed);
}

/// How many have to go. Finding the oldest takes a look at all, so where there are many some more may stay a while.
size_t count_excess(size_t count, int64_t limit) {
  const auto most = static_cast<size_t>(limit);
  return count > most + most / 64 ? count - most : 0;
}

/// The same for bytes, if all take as much as the mean. A few stay in any case: a function of some kinds of calls must not be compiled at each.
size_t count_excess_bytes(size_t count, int64_t bytes, int64_t limit) {
  constexpr size_t always_kept = 8;
  if (bytes <= limit || count <= always_kept) return 0;
  const auto kept = static_cast<size_t>(static_cast<double>(count) * 0.9 * static_cast<double>(limit) / static_cast<double>(bytes));
  return count - std::max(kept, always_kept);
}

int64_t bytes_of(const CompiledVersion& version) {
  TraceBytes traces;
  int64_t programs = 0;
  for (const auto& program : {version.forward, version.backward}) {
    if (!program || !program->is_made()) continue;
    const ProgramBytes bytes = program->bytes();
    programs += bytes.plan + bytes.arenas;
    traces.add(program->trace());
  }
  if (const auto stages = version.symbolic ? nullptr : version.stages)
    for (const std::vector<Trace>* of : {&stages->forward, &stages->backward, &stages->prologue})
      for (const Trace& trace : *of) traces.add(trace);
  return 2 * (programs + traces.total()) + static_cast<int64_t>(sizeof(CompiledVersion));  // the heap's share, and keys, are not counted
}

template <class Items, class LastUse>
void bring_oldest_to_front(Items& items, size_t count, LastUse&& last_use_of) {
  std::nth_element(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count), items.end(),
                   [&](const auto& a, const auto& b) { return last_use_of(a) < last_use_of(b); });
}

bool captures_are_alike(const CompiledVersion& version) {
  if (version.captures.empty()) return true;
  SmallVector<uint64_t, 64> now;
  for (const Tensor& tensor : version.captures) append_tensor_key(*tensor.impl(), now);
  return same_words(version.capture_key, now);
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

bool holds(const CompiledVersion& version, const Leaves& leaves) {
  if (!same_words(version.key, leaves.key()) || !captures_are_alike(version)) return false;
  for (const StrideGuard& guard : version.stride_guards)
    if (!guard.holds(leaves)) return false;
  for (const auto& [leaf, tensor] : version.reached)
    if (!leaves.tensors()[static_cast<size_t>(leaf)]->is_same(tensor)) return false;
  if (!version.writes) return true;
  for (size_t i = 0; i < version.captures.size(); ++i)
    if (leaf_that_shares(version.captures[i], leaves) != version.sharing[i]) return false;
  return true;
}

VersionStore::VersionStore(const CacheLimits& limits, bool caches)
    : limits_(limits), most_versions_(most_versions(limits)), most_bytes_(limits.bytes.value_or(cache_bytes())), caches_(caches) {}

// Which of two uses at the same time counts as the later one does not matter.
void VersionStore::use(const CompiledVersion& version) const {
  const uint64_t now = uses_.load(std::memory_order_relaxed) + 1;
  uses_.store(now, std::memory_order_relaxed);
  version.last_use.store(now, std::memory_order_relaxed);
  if (version.symbolic) version.symbolic->last_use.store(now, std::memory_order_relaxed);
}

const CompiledVersion* VersionStore::find(const Leaves& leaves, uint64_t hash) {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    const CompiledVersion* const version = candidate->second;
    if (!holds(*version, leaves)) continue;
    // Calls that found the last version where it was did not say so one by one.
    if (const CompiledVersion* const before = last_.load(std::memory_order_relaxed)) use(*before);
    use(*version);
    last_.store(version, std::memory_order_seq_cst);
    return version;
  }
  return nullptr;
}

VersionStore::Version VersionStore::find_set_of_values(const Leaves& leaves, uint64_t hash) {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_values_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (!holds(*candidate->second, leaves)) continue;
    use(*candidate->second);
    return candidate->second;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const SymbolicVersion>> VersionStore::find_symbolic(const Leaves& leaves) const {
  std::vector<std::shared_ptr<const SymbolicVersion>> found;
  const std::shared_lock lock(mutex_);
  if (symbolic_.empty()) return found;
  const SmallVector<uint64_t, 64> key = leaves.key_without_symbols();
  const auto [begin, end] = symbolic_.equal_range(hash_of(key));
  for (auto candidate = begin; candidate != end; ++candidate)
    if (same_words(candidate->second->key, key)) found.push_back(candidate->second);
  return found;
}

VersionStore::Version VersionStore::find_subgraph(const SmallVector<uint64_t, 64>& key, uint64_t hash) {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = subgraphs_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (!same_words(candidate->second->key, key)) continue;
    use(*candidate->second);
    return candidate->second;
  }
  return nullptr;
}

void VersionStore::add(const Version& version, uint64_t hash) {
  Garbage gone;
  const std::unique_lock lock(mutex_);
  version->number = ++compiled_;
  if (!caches_) {
    versions_.assign(1, version);
    return;
  }
  use(*version);
  version->hash = hash;
  versions_.push_back(version);
  keep_stages(version, gone);
  if (version->symbolic) {
    symbolic_.emplace(hash_of(version->symbolic->key), version->symbolic);
    by_values_.emplace(hash, version);
    make_room(by_values_, limits_.sets_of_values, gone);
  } else {
    by_hash_.emplace(hash, version.get());
    if (const CompiledVersion* const before = last_.load(std::memory_order_relaxed)) use(*before);
    use(*version);
    last_.store(version.get(), std::memory_order_seq_cst);
  }
  make_room(gone);
  limit_bytes(version, gone);
  free_retired(gone);
}

void VersionStore::add_set_of_values(const Version& version, uint64_t hash) {
  Garbage gone;
  const std::unique_lock lock(mutex_);
  use(*version);
  version->hash = hash;
  by_values_.emplace(hash, version);
  make_room(by_values_, limits_.sets_of_values, gone);
  limit_bytes(version, gone);
}

void VersionStore::add_subgraph(const Version& version, uint64_t hash) {
  if (!caches_) return;
  Garbage gone;
  const std::unique_lock lock(mutex_);
  use(*version);
  version->hash = hash;
  subgraphs_.emplace(hash, version);
  keep_stages(version, gone);
  make_room(subgraphs_, most_versions_, gone);
  limit_bytes(version, gone);
}

void VersionStore::keep_stages(const Version& version, Garbage& gone) {
  with_all_stages_.push_back(version);
  while (with_all_stages_.size() > static_cast<size_t>(limits_.traces)) {
    const Version old = with_all_stages_.front().lock();
    with_all_stages_.pop_front();
    if (!old) continue;
    auto kept = std::make_shared<Stages>(*stages_of(*old));
    for (std::vector<Trace>* stages : {&kept->forward, &kept->backward})
      if (stages->size() > 2) stages->erase(stages->begin() + 1, stages->end() - 1);
    gone.push_back(std::exchange(stages_of(*old), std::move(kept)));
    not_measured_.push_back(old);
  }
}

void VersionStore::make_room(Garbage& gone) {
  drop_oldest(count_excess(versions_.size(), most_versions_), gone);
}

void VersionStore::drop_oldest(size_t excess, Garbage& gone) {
  if (excess == 0) return;
  const CompiledVersion* const last = last_.load(std::memory_order_relaxed);
  std::vector<const Version*> by_use;
  for (const Version& version : versions_)
    if (version.get() != last) by_use.push_back(&version);
  const size_t count = std::min(excess, by_use.size());
  if (count < by_use.size()) bring_oldest_to_front(by_use, count, [](const Version* v) { return last_use(**v); });
  std::unordered_set<const CompiledVersion*> dropped;
  for (size_t i = 0; i < count; ++i) {
    dropped.insert(by_use[i]->get());
    drop(*by_use[i], gone);
  }
  std::erase_if(versions_, [&](const Version& version) { return dropped.contains(version.get()); });
  count_evicted(count);
}

void VersionStore::drop(const Version& version, Garbage& gone) {
  if (!version->symbolic) {
    erase_from(by_hash_, version->hash, version.get());
    retired_.push_back({version});
    return;
  }
  // Who runs a program with symbols holds it.
  const std::shared_ptr<const SymbolicVersion> symbolic = version->symbolic;
  erase_from(symbolic_, hash_of(symbolic->key), symbolic);
  for (auto one = by_values_.begin(); one != by_values_.end();) {
    if (one->second->symbolic != symbolic) {
      ++one;
      continue;
    }
    gone.push_back(std::move(one->second));
    one = by_values_.erase(one);
  }
  gone.push_back(version);
}

void VersionStore::make_room(Table& table, int64_t limit, Garbage& gone) {
  drop_oldest(table, count_excess(table.size(), limit), gone);
}

void VersionStore::drop_oldest(Table& table, size_t excess, Garbage& gone) {
  if (excess == 0) return;
  std::vector<Table::iterator> by_use;
  for (auto one = table.begin(); one != table.end(); ++one) by_use.push_back(one);
  const auto use_of = [](Table::iterator one) { return one->second->last_use.load(std::memory_order_relaxed); };
  if (excess < by_use.size()) bring_oldest_to_front(by_use, excess, use_of);
  for (size_t i = 0; i < excess; ++i) {
    gone.push_back(std::move(by_use[i]->second));
    table.erase(by_use[i]);
  }
  count_evicted(excess);
}

// What was added before is measured now: its backward program may have been made since.
void VersionStore::limit_bytes(const Version& added, Garbage& gone) {
  for (const auto& one : not_measured_)
    if (const Version version = one.lock()) version->bytes = bytes_of(*version);
  not_measured_.assign(1, added);
  constexpr size_t few = 64;  // of more, a look at all is worth it now and then
  const size_t count = versions_.size() + by_values_.size() + subgraphs_.size();
  if (count > few && ++adds_ % 16 != 0) return;
  int64_t bytes = 0, of_values = 0, of_subgraphs = 0;
  for (const Version& version : versions_) bytes += version->bytes;
  for (const auto& [hash, version] : by_values_) of_values += version->bytes;
  for (const auto& [hash, subgraph] : subgraphs_) of_subgraphs += subgraph->bytes;
  drop_oldest(by_values_, count_excess_bytes(by_values_.size(), of_values, most_bytes_), gone);
  drop_oldest(subgraphs_, count_excess_bytes(subgraphs_.size(), of_subgraphs, most_bytes_), gone);
  drop_oldest(count_excess_bytes(versions_.size(), bytes, most_bytes_), gone);
}

void VersionStore::free_retired(Garbage& gone) {
  if (retired_.empty()) return;
  for (int generation = 0; generation < Readers::generations; ++generation)
    if (readers_.is_empty(generation))
      for (Retired& one : retired_) one.was_empty[generation] = true;
  std::erase_if(retired_, [&](Retired& one) {
    const bool is_free = std::ranges::all_of(one.was_empty, [](bool empty) { return empty; });
    if (is_free) gone.push_back(std::move(one.version));
    return is_free;
  });
  if (readers_.is_empty(1 - readers_.current())) readers_.turn();
}

void VersionStore::count_evicted(size_t count) {
  evicted_ += static_cast<int64_t>(count);
  context().evicted_versions.fetch_add(static_cast<int64_t>(count), std::memory_order_relaxed);
}

void VersionStore::keep_last_with_symbols(const Version& version) {
  Version before;
  const std::unique_lock lock(mutex_);
  before = std::exchange(last_with_symbols_, version && version->symbolic ? version : nullptr);
  last_with_symbols_address_.store(last_with_symbols_.get(), std::memory_order_relaxed);
}

VersionStore::Version VersionStore::last() const {
  const std::shared_lock lock(mutex_);
  if (last_with_symbols_) return last_with_symbols_;
  const CompiledVersion* const last = last_.load(std::memory_order_relaxed);
  for (const Version& version : versions_)
    if (!last || version.get() == last) return version;
  return nullptr;
}

std::vector<VersionStore::Version> VersionStore::versions() const {
  const std::shared_lock lock(mutex_);
  return versions_;
}

VersionStore::Version VersionStore::newest() const {
  const std::shared_lock lock(mutex_);
  return versions_.empty() ? nullptr : versions_.back();
}

std::shared_ptr<const Stages> VersionStore::stages(const CompiledVersion& version) const {
  const std::shared_lock lock(mutex_);
  return stages_of(version);
}

int64_t VersionStore::evicted() const {
  const std::shared_lock lock(mutex_);
  return evicted_;
}

CacheStats VersionStore::stats() const {
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
  const auto count = [&](const CompiledVersion& version) {
    count_program(version.forward);
    count_program(version.backward);
    const std::shared_ptr<const Stages>& stages = stages_of(version);
    if (!stages) return;
    for (const std::vector<Trace>* of : {&stages->forward, &stages->backward, &stages->prologue})
      for (const Trace& trace : *of) traces.add(trace);
  };
  const std::shared_lock lock(mutex_);
  for (const Version& version : versions_) count(*version);
  for (const auto& [hash, version] : by_values_) count(*version);
  for (const auto& [hash, subgraph] : subgraphs_) count(*subgraph);
  for (const auto& [hash, symbolic] : symbolic_) {
    traces.add(symbolic->compiled.symbolic_forward);
    traces.add(symbolic->compiled.symbolic_backward);
  }
  stats.versions = static_cast<int64_t>(versions_.size() + subgraphs_.size());
  stats.sets_of_values = static_cast<int64_t>(by_values_.size());
  stats.evicted = evicted_;
  stats.traces = traces.total();
  return stats;
}

}  // namespace fulgurite::detail
