#pragma once
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "autograd/compiled/compiled_node.h"
#include "ir/symbolic/guards.h"
#include "jit/recording.h"
#include "pipeline/pipeline.h"

namespace fulgurite::detail {

/// The stages of a cache entry, for diagnostics.
struct Stages {
  std::vector<Trace> forward, backward, prologue;
};

/// A function compiled with symbols for sizes and scalars of its arguments: the state shared by all specializations for
/// which the guards hold. Immutable, but for the bookkeeping of CompilationCache.
struct SymbolicEntry {
  SmallVector<uint64_t, 64> key;  // of the arguments, without the symbols' values
  Guards guards;
  Recording recording;
  bool is_differentiated = false;
  CompiledFunction compiled;  // without its stages
  std::vector<std::string> leaf_names;

  mutable std::atomic<uint64_t> last_use{0};
  mutable std::shared_ptr<const Stages> stages;  // CompilationCache's
};

/// A tensor whose strides the function read, and their values.
struct StrideGuard {
  int leaf = RecordedInput::captured;
  Tensor tensor;  // a captured one
  std::string name;
  Sizes strides;

  const Tensor& of(const FlatArguments& flat) const {
    return leaf == RecordedInput::captured ? tensor : *flat.tensors()[static_cast<size_t>(leaf)];
  }
  bool holds(const FlatArguments& flat) const { return of(flat).impl()->strides == strides; }
};

/// A cache entry: one compiled form of a function, with its guards and programs. Immutable, but for the bookkeeping of
/// CompilationCache.
struct CacheEntry {
  // Its guards.
  SmallVector<uint64_t, 64> key;          // of the arguments
  SmallVector<uint64_t, 64> capture_key;  // of the captured tensors
  std::vector<StrideGuard> stride_guards;
  std::vector<std::pair<int, Tensor>> reached;  // tensor leaves that must be these tensors, which the function captured
  /// It writes into arguments or captured tensors: for each captured tensor, the first tensor leaf that shares memory
  /// with it (-1: none).
  bool writes = false;
  std::vector<int> overwritten;  // inputs of the forward program
  std::vector<int> sharing;
  std::vector<std::string> leaf_names;

  // Its programs.
  std::shared_ptr<Program> forward, backward;
  std::vector<RecordedInput> inputs;  // of the forward program, in order
  std::vector<Tensor> captures;
  std::vector<std::string> capture_names;
  std::vector<int> result_slots;  // as ResultPlan::slots
  std::vector<ReadySharedResult> shared;
  int result_count = 0;
  std::vector<char> carries_gradient;  // for each result of a differentiated entry
  /// Inputs that are assigned a value with a gradient, and the position of that result.
  std::vector<std::pair<int, int>> written;
  /// The function has graph breaks: its body runs at every call, and its subgraphs are compiled. The breaks are at
  /// these locations.
  bool has_graph_breaks = false;
  std::vector<std::string> breaks;
  std::shared_ptr<const void> rest;
  /// For a specialization: the integer values of `rest`.
  std::vector<Int> integers;
  std::vector<Float> floats;
  std::shared_ptr<const SymbolicEntry> symbolic;  // its source entry
  std::shared_ptr<const SymbolicBackward> symbolic_backward;

  // Diagnostics.
  SourceLocation called_at;
  std::chrono::system_clock::time_point when;
  std::string reason;
  double tracing = 0, transforms = 0, planning = 0, total = 0;  // milliseconds

  // CompilationCache's.
  mutable uint64_t hash = 0;
  mutable int64_t number = 0;  // counts compiles, from 1
  mutable int64_t bytes = 0;   // about; 0: not measured
  mutable std::atomic<uint64_t> last_use{0};
  mutable std::shared_ptr<const Stages> stages;
};

/// The stages that a cache entry shares with others specialized from the same symbolic entry.
inline std::shared_ptr<const Stages>& stages_of(const CacheEntry& entry) {
  return entry.symbolic ? entry.symbolic->stages : entry.stages;
}

template <class A, class B>
bool same_words(const A& a, const B& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(uint64_t)) == 0;
}

/// Returns true if an entry holds for these arguments and the captured tensors as they are now.
bool holds(const CacheEntry&, const FlatArguments&);

}  // namespace fulgurite::detail
