#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include <fulgurite/jit.h>

#include "jit/cache/cache_entry.h"
#include "jit/cache/epoch_counter.h"

namespace fulgurite::detail {

/// The subgraphs that a call with graph breaks ran, in order.
using Subgraphs = std::vector<std::shared_ptr<const CacheEntry>>;

/// The cache entries of a function, found by the hash of their keys. The least recently used are evicted when there are
/// more than CacheLimits allows. Thread-safe.
///
/// An entry returned by find() or last() is valid during the call's EpochCounter::Visit, even if it is evicted
/// meanwhile.
class CompilationCache {
 public:
  using Entry = std::shared_ptr<const CacheEntry>;

  CompilationCache(const CacheLimits&, bool caches);

  /// The entry that the last call ran, if it had no symbols; checked first. It is not evicted.
  const CacheEntry* last_address() const { return last_.load(std::memory_order_seq_cst); }
  /// The version without symbols that holds for these arguments; it is the last one from here on.
  const CacheEntry* find(const FlatArguments&, uint64_t hash);
  /// The one of a set of values of symbols.
  Entry find_specialization(const FlatArguments&, uint64_t hash);
  /// Versions with symbols that differ at most in these.
  std::vector<std::shared_ptr<const SymbolicEntry>> find_symbolic(const FlatArguments&) const;
  Entry find_subgraph(const SmallVector<uint64_t, 64>& key, uint64_t hash);

  /// Adds an entry, with symbols or without; `hash` is that of its key.
  void add(const Entry&, uint64_t hash);
  /// A further specialization of a symbolic entry.
  void add_specialization(const Entry&, uint64_t hash);
  void add_subgraph(const Entry&, uint64_t hash);

  /// Notes that a call ran this one, for last(); null if it had no symbols.
  void retain_last_with_symbols(const Entry&);
  bool is_last_with_symbols(const CacheEntry* entry) const {
    return last_with_symbols_address_.load(std::memory_order_relaxed) == entry;
  }
  /// The entry that the last call ran; null before the first.
  Entry last() const;
  /// In the order in which they were compiled. Where nothing is cached only the newest.
  std::vector<Entry> entries() const;
  Entry newest() const;
  /// An entry's stages: all, or the first and the last.
  std::shared_ptr<const Stages> stages(const CacheEntry&) const;
  CacheStats stats() const;
  int64_t evicted() const;

  EpochCounter& epochs() { return epochs_; }
  const EpochCounter& epochs() const { return epochs_; }

 private:
  using Table = std::unordered_multimap<uint64_t, Entry>;
  using Garbage = std::vector<std::shared_ptr<const void>>;
  struct Retired {
    Entry entry;
    bool was_empty[EpochCounter::epochs] = {};
  };

  void use(const CacheEntry&) const;
  // Garbage is moved to `garbage`, to be freed after the mutex is released.
  void keep_stages(const Entry&, Garbage& garbage);
  void make_room(Garbage& garbage);
  void make_room(Table&, int64_t limit, Garbage& garbage);
  void drop_oldest(size_t count, Garbage& garbage);
  void drop_oldest(Table&, size_t count, Garbage& garbage);
  void limit_bytes(const Entry& added, Garbage& garbage);
  void drop(const Entry&, Garbage& garbage);
  void free_retired(Garbage& garbage);
  void count_evicted(size_t);

  const CacheLimits limits_;
  const int64_t max_entries_;
  const int64_t max_bytes_;
  const bool caches_;
  EpochCounter epochs_;
  std::atomic<const CacheEntry*> last_{nullptr};  // one of versions_
  std::atomic<const CacheEntry*> last_with_symbols_address_{nullptr};
  mutable std::atomic<uint64_t> uses_{0};

  mutable std::shared_mutex mutex_;  // of the following members
  std::vector<Entry> entries_;
  std::unordered_multimap<uint64_t, const CacheEntry*> by_hash_;  // those without symbols
  // Symbolic entries, by the keys without the symbols' values; and the specializations, by the complete keys.
  std::unordered_multimap<uint64_t, std::shared_ptr<const SymbolicEntry>> symbolic_;
  Table by_values_, subgraphs_;
  Entry last_with_symbols_;                                      // null: the last call had none
  std::deque<std::weak_ptr<const CacheEntry>> with_all_stages_;  // the newest ones, in order
  std::vector<Retired> retired_;                                 // evicted, perhaps still running
  std::vector<std::weak_ptr<const CacheEntry>> not_measured_;
  uint64_t adds_ = 0;
  int64_t compiled_ = 0;
  int64_t evicted_ = 0;
};

}  // namespace fulgurite::detail
