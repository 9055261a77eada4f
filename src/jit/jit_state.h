#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fulgurite/jit.h>

#include "jit/cache/cache_entry.h"
#include "jit/cache/compilation_cache.h"
#include "jit/cache/single_flight.h"
#include "jit/diagnostics/recompile_watch.h"
#include "support/context.h"

namespace fulgurite::detail {

/// Milliseconds since `start`.
inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

class CallWithBreaks;

/// A jitted function: the callable, its options and its cache entries. Thread-safe.
class JitState {
 public:
  /// `names_executors`: the options' executors are the user's choice, not the default list.
  /// `watch` is notified of every op that runs; may be null.
  JitState(std::shared_ptr<void> callable, JitOptions options, bool names_executors, std::vector<Transform> transforms,
           OpenScope open_scope, SourceLocation made_at, std::shared_ptr<const ExecutionObserver> watch = {},
           std::shared_ptr<const PassList> passes = {});
  ~JitState();

  void call(const CallableTable&, const void* const* arguments, SourceLocation, CallResult&);

  void* callable() const { return callable_.get(); }
  const std::shared_ptr<void>& shared_callable() const { return callable_; }
  const JitOptions& options() const { return options_; }
  bool names_executors() const { return names_executors_; }
  const std::vector<Transform>& transforms() const { return transforms_; }
  /// The passes of with_passes(); null: those of the library.
  const std::shared_ptr<const PassList>& passes() const { return passes_; }
  OpenScope open_scope() const { return open_scope_; }
  const std::shared_ptr<const ExecutionObserver>& watch() const { return watch_; }
  SourceLocation made_at() const { return made_at_; }

  const CompilationCache& store() const { return store_; }
  CompileStats stats() const;
  /// The subgraphs of the last call of a function with graph breaks.
  Subgraphs last_subgraphs() const;
  /// The compiled form of a subgraph, looked up by its structure and its start.
  std::shared_ptr<const CacheEntry> subgraph(const Recording&, SourceLocation start, SourceLocation);

 private:
  std::shared_ptr<const CacheEntry> compile_entry(const CallableTable&, const void* const* arguments,
                                                  const FlatArguments&, SourceLocation, SingleFlight::Flight*,
                                                  CallResult&);
  std::shared_ptr<const CacheEntry> compile_constant(std::shared_ptr<CacheEntry>, Recording, const CallWithBreaks&,
                                                     const FlatArguments&, const std::vector<LeafPath>&,
                                                     std::chrono::steady_clock::time_point start, SourceLocation,
                                                     CallResult&);
  PipelineOptions pipeline_options() const;
  PipelineOptions pipeline_options(const Recording&) const;
  std::vector<Change> changes(const FlatArguments&, const std::vector<std::string>& names) const;
  void note_compile(CacheEntry&, const FlatArguments&);
  void compile_recording(CacheEntry&, const Recording&, bool differentiate) const;
  static void connect(CacheEntry&, const Recording&, bool differentiate);
  FlatArguments flatten_arguments(const CallableTable&, const void* const* arguments) const;
  bool promote_sizes(const FlatArguments&);
  bool may_skip_guards(const CacheEntry&, const FlatArguments&, SourceLocation) const;
  // With symbols: symbolic_entries.cpp.
  std::shared_ptr<const CacheEntry> find_with_symbols(const FlatArguments&);
  std::shared_ptr<CacheEntry> compile_with_symbols(Recording, const FlatArguments&, const std::vector<LeafPath>&,
                                                   const std::vector<std::string>& names);
  std::shared_ptr<CacheEntry> specialise(const std::shared_ptr<const SymbolicEntry>&, const FlatArguments&) const;
  bool uses_symbols(const FlatArguments& flat) const {
    return options_.cache != Cache::same_input && flat.has_symbols();
  }
  static void finish_times(CacheEntry&, std::chrono::steady_clock::time_point start);
  void add_times(const CacheEntry&);
  void call_with_breaks(const CallableTable&, const void* const* arguments, const FlatArguments&, SourceLocation,
                        CallResult&);
  void keep_last(const Subgraphs&);

  const std::shared_ptr<void> callable_;
  const JitOptions options_;
  const bool names_executors_;
  const std::vector<Transform> transforms_;
  const std::shared_ptr<const PassList> passes_;
  const OpenScope open_scope_;  // of compiled autograd; null if it is not enabled
  SourceLocation user_line(SourceLocation) const;
  void run_named(const CacheEntry&, const FlatArguments&, CallResult&) const;
  const SourceLocation made_at_;
  mutable std::atomic<const char*> last_file_{nullptr};                // of a call that was not the standard library's
  const std::shared_ptr<const ExecutionObserver> watch_;               // the caller's
  const std::shared_ptr<const ExecutionObserver> execution_observer_;  // with the checks of the options
  const std::shared_ptr<FusionNames> fusion_names_ = std::make_shared<FusionNames>();

  CompilationCache store_;
  SingleFlight flights_;
  RecompileWatch recompiles_;
  mutable std::mutex mutex_;  // of the following members
  CompileStats compiles_;     // the state that only compiles change
  std::vector<std::unique_ptr<const std::vector<PromotedSize>>> promotions_;
  Subgraphs last_subgraphs_;

  std::atomic<const std::vector<PromotedSize>*> promoted_{nullptr};  // the newest of promotions_
  std::atomic<int64_t> misses_{0}, last_nanoseconds_{0}, total_nanoseconds_{0};
};

/// How these arguments, or the captured tensors as they are now, differ from what a version holds for: three
/// differences at most.
std::vector<Change> changes_since(const CacheEntry&, const FlatArguments&, const std::vector<std::string>& names);

/// Reports a compile on the enabled channels.
void log_compile(const JitState&, const CacheEntry&);

/// Runs an entry's program on its inputs; the results are those of the trace, with the node of its backward.
void run_on(const CacheEntry&, std::span<const Tensor> inputs, ResultList& results);
/// Gives the values that a program has written their histories.
void give_history(const Tensor& value, const Tensor& written);
/// Runs a version and attaches the node of its backward.
void run_entry(const CacheEntry&, const FlatArguments&, CallResult&);

/// The prologue of a version: how the inputs of its computation are taken out of the arguments and what is checked, as
/// a trace.
std::vector<Trace> make_prologue(const CacheEntry&, const Trace& computation, const std::vector<LeafPath>&,
                                 const FlatArguments&);

/// Throws UserError if an option names something unknown or something that this release does not do.
void check_options(const JitOptions&, SourceLocation);

/// The checks of DebugOptions::check_nan and verify_against_eager after a call.
void check_for_nan(const CallResult&, SourceLocation);
struct EagerRun {
  std::vector<Tensor> tensors;  // copies of the tensor leaves from before the compiled run wrote into them
  RandomState random;
};
EagerRun prepare_eager_run(const FlatArguments&);
/// Runs the callable eagerly and compares, as the dtypes allow that the recorded traces round to.
void verify_against_eager(const CallableTable&, void* callable, const void* const* arguments, const EagerRun&,
                          const CallResult&, const std::vector<Trace>& recorded, SourceLocation);

}  // namespace fulgurite::detail
