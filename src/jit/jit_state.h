#pragma once
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <fulgurite/jit.h>

#include "jit/compile_turns.h"
#include "jit/recording.h"
#include "pipeline/pipeline.h"
#include "support/context.h"

namespace fulgurite::detail {

/// A function compiled with symbols for sizes and numbers of its arguments: what every set of their values for which the guards hold
/// shares. Never changed once made.
struct SymbolicVersion {
  SmallVector<uint64_t, 64> key;  // of the arguments, without what symbols stand for
  /// Numbers that must be what they were in the recorded call, for the trace to be the one that would be recorded.
  std::vector<Ref<const NumberProxy>> guards;
  Recording recording;
  bool is_differentiated = false;
  CompiledFunction stages;
  std::vector<Trace> prologue;
  std::vector<std::string> leaf_names;
};

/// One compiled version of a function, and all that is needed to know when it holds and to run it. Never changed once
/// made.
struct CompiledVersion {
  // When it holds.
  SmallVector<uint64_t, 64> key;          // of the arguments
  SmallVector<uint64_t, 64> capture_key;  // of the captured tensors
  std::vector<std::string> leaf_names;

  // How it runs.
  std::shared_ptr<Program> forward, backward;
  std::vector<RecordedInput> inputs;  // of the forward program, in order
  std::vector<Tensor> captures;
  std::vector<std::string> capture_names;
  std::vector<int> result_slots;
  int result_count = 0;
  std::vector<char> carries_gradient;    // for each result of a differentiated version
  /// Inputs that are given a value with a gradient, and which of the results that is.
  std::vector<std::pair<int, int>> written;
  /// The function has graph breaks: its body is run at every call, and pieces of it are compiled. They are asked for at these places.
  bool in_pieces = false;
  std::vector<std::string> breaks;
  std::shared_ptr<const void> rest;
  /// Of a version for one set of values of symbols: the numbers of `rest`.
  std::vector<Int> integers;
  std::vector<Float> floats;
  std::shared_ptr<const SymbolicVersion> symbolic;  // what it was made of
  mutable std::atomic<uint64_t> last_use{0};

  // What is told about it.
  CompiledFunction stages;
  std::vector<Trace> prologue;
  SourceLocation called_at;
  std::chrono::system_clock::time_point when;
  std::string reason;
  double tracing = 0, transforms = 0, planning = 0, total = 0;  // milliseconds
};

/// Milliseconds since `start`.
inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

class CallInPieces;

/// What a call in pieces ran, in order.
using Pieces = std::vector<std::shared_ptr<const CompiledVersion>>;

/// A jitted function: the callable, its options and its compiled versions. Any number of threads may call it at once.
class JitState {
 public:
  JitState(std::shared_ptr<void> callable, JitOptions options, std::vector<Transform> transforms,
           SourceLocation made_at);
  ~JitState();

  void call(const CallableTable&, const void* const* arguments, SourceLocation, CallResult&);

  void* callable() const { return callable_.get(); }
  const std::shared_ptr<void>& shared_callable() const { return callable_; }
  const JitOptions& options() const { return options_; }
  const std::vector<Transform>& transforms() const { return transforms_; }
  SourceLocation made_at() const { return made_at_; }

  /// The version that the last call ran; null before the first.
  std::shared_ptr<const CompiledVersion> last() const;
  /// Every version, in the order in which they were compiled. With Cache::no_caching only the newest.
  std::vector<std::shared_ptr<const CompiledVersion>> versions() const;
  CompileStats stats() const;
  /// The pieces of the last call of a function with graph breaks.
  Pieces last_pieces() const;
  /// The compiled form of a piece, looked up by what it does and where it begins.
  std::shared_ptr<const CompiledVersion> piece(const Recording&, SourceLocation start, SourceLocation);

 private:
  using Versions = std::vector<std::shared_ptr<const CompiledVersion>>;
  const CompiledVersion* find(const Leaves&, uint64_t hash) const;
  std::shared_ptr<const CompiledVersion> compile_version(const CallableTable&, const void* const* arguments,
                                                         const Leaves&, SourceLocation, CompileTurns::Turn*, CallResult&);
  std::shared_ptr<const CompiledVersion> compile_constant(std::shared_ptr<CompiledVersion>, Recording, const CallInPieces&, const Leaves&,
                                                          const std::vector<LeafPath>&, std::chrono::steady_clock::time_point start,
                                                          SourceLocation, CallResult&);
  PipelineOptions pipeline_options() const;
  void compile_recording(CompiledVersion&, const Recording&, bool differentiate) const;
  static void connect(CompiledVersion&, const Recording&, bool differentiate);
  bool may_skip_guards(const CompiledVersion&, const Leaves&, SourceLocation) const;
  // With symbols: symbolic_versions.cpp.
  std::shared_ptr<const CompiledVersion> find_with_symbols(const Leaves&);
  std::shared_ptr<CompiledVersion> compile_with_symbols(Recording, const Leaves&, const std::vector<LeafPath>&,
                                                        const std::vector<std::string>& names);
  std::shared_ptr<CompiledVersion> specialise(const std::shared_ptr<const SymbolicVersion>&, const Leaves&) const;
  void add_with_symbols(std::shared_ptr<const CompiledVersion>, uint64_t hash);
  void keep_last_with_symbols(const std::shared_ptr<const CompiledVersion>&);
  void keep_programs(uint64_t hash, std::shared_ptr<const CompiledVersion>);
  bool uses_symbols(const Leaves& leaves) const { return options_.cache != Cache::same_input && leaves.has_symbols(); }
  static void finish_times(CompiledVersion&, std::chrono::steady_clock::time_point start);
  void add_times(const CompiledVersion&);
  void call_in_pieces(const CallableTable&, const void* const* arguments, const Leaves&, SourceLocation, CallResult&);
  void keep_last(const Pieces&);
  void add(std::shared_ptr<const CompiledVersion>, uint64_t hash);

  const std::shared_ptr<void> callable_;
  const JitOptions options_;
  const std::vector<Transform> transforms_;
  const SourceLocation made_at_;

  CompileTurns turns_;
  std::atomic<const CompiledVersion*> last_{nullptr};  // looked at first; owned by versions_
  mutable std::shared_mutex mutex_;                    // of what follows
  Versions versions_;
  std::unordered_multimap<uint64_t, const CompiledVersion*> by_hash_;
  CompileStats compiles_;                              // the parts that only compiles change
  std::unordered_multimap<uint64_t, std::shared_ptr<const CompiledVersion>> pieces_;
  // What is compiled with symbols, by the keys without them; and the programs of each set of their values, by the whole keys.
  std::unordered_multimap<uint64_t, std::shared_ptr<const SymbolicVersion>> symbolic_;
  std::unordered_multimap<uint64_t, std::shared_ptr<const CompiledVersion>> by_values_;
  std::shared_ptr<const CompiledVersion> last_with_symbols_;  // null: the last call had none
  std::atomic<const CompiledVersion*> last_with_symbols_address_{nullptr};  // the same, to see whether it changed
  std::atomic<uint64_t> uses_{0};
  Pieces last_pieces_;

  std::atomic<int64_t> calls_{0}, misses_{0}, last_nanoseconds_{0}, total_nanoseconds_{0};
};

/// Whether a version holds for these arguments and the captured tensors as they are now.
bool holds(const CompiledVersion&, const Leaves&);
/// In words, why no version so far holds: "first call", "t_0: cpu f32[2] instead of cpu f32[3]".
std::string miss_reason(const CompiledVersion* newest, const Leaves&, const std::vector<std::string>& names);

/// Tells of a compile on the channels that are on.
void log_compile(const JitState&, const CompiledVersion&);

template <class A, class B>
bool same_words(const A& a, const B& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(uint64_t)) == 0;
}

/// Runs a version's program on its inputs; the results are those of the trace, with the node of its backward.
void run_on(const CompiledVersion&, std::span<const Tensor> inputs, ResultList& results);
/// Gives what a program has written the history of its value.
void give_history(const Tensor& value, const Tensor& written);
/// Runs a version and attaches the node of its backward.
void run_version(const CompiledVersion&, const Leaves&, CallResult&);

/// The prologue of a version: how the inputs are taken out of the arguments and what is checked, as a trace.
std::vector<Trace> make_prologue(const CompiledVersion&, const std::vector<LeafPath>&, const Leaves&);
/// "i0 == 3", "not (i0 == i1)": a guard as it is printed for people.
std::string guard_text(const NumberProxy&);
/// The first guard that does not hold for these values; null where all do.
const NumberProxy* failed_guard(const SymbolicVersion&, NumberValues&);

/// Throws UserError when an option names something unknown or asks for what this version does not do.
void check_options(const JitOptions&, SourceLocation);

/// What DebugOptions::check_nan and verify_against_eager do after a call.
void check_for_nan(const CallResult&, SourceLocation);
struct EagerRun {
  std::vector<Tensor> tensors;  // copies of the tensors among the leaves, made before the compiled run wrote into them
  RandomState random;
};
EagerRun prepare_eager_run(const Leaves&);
/// Runs the callable eagerly and compares.
void verify_against_eager(const CallableTable&, void* callable, const void* const* arguments, const EagerRun&,
                          const CallResult&, SourceLocation);

}  // namespace fulgurite::detail
