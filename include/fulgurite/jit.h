#pragma once
#include <fulgurite/detail/requirements.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/compiled_autograd.h>
#include <fulgurite/detail/callable.h>
#include <fulgurite/function_transforms.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The condition for reusing a cache entry.
enum class Cache {
  constant_values,  // the same sizes, dtypes, devices, numbers, strings and structure
  symbolic_values,  // equal results of all comparisons of sizes and numbers made while recording
  same_input,       // unchecked: the caller guarantees it; DebugOptions::check_traces verifies it
  no_caching,       // recompiled at every call
};

/// Checks and annotations for debugging. check_nan and verify_against_eager run each op alone, which is slow.
struct DebugOptions {
  bool associate_forward = false;     // backward traces show the forward symbol of each op
  bool check_traces = false;          // every trace is verified after every pass
  bool check_nan = false;             // a NaN among the results is an error
  bool verify_against_eager = false;  // every call also runs the C++ function eagerly and compares
};

/// Limits of a jitted function's cache, and reactions to frequent compiles. Members are given in this order.
struct CacheLimits {
  /// Maximum number of cache entries; LRU eviction, a few at a time. None: FULGURITE_CACHE_VERSIONS, or 4096.
  std::optional<int64_t> versions = {};
  /// Maximum number of specializations of symbolic entries; LRU eviction likewise.
  int64_t sets_of_values = 1024;
  /// Number of newest entries whose traces are kept with every stage; others keep the first and the last stage.
  int64_t traces = 64;
  /// Compiles after which a warning on stderr lists, once, the differences between calls; 0: never.
  int64_t warn_after = 32;
  /// Compiles after which another one is an error; 0: never.
  int64_t refuse_after = 0;
  /// Approximate bytes of entries and programs; beyond that LRU eviction, except of the newest few. None:
  /// FULGURITE_CACHE_BYTES, or 128 MiB.
  std::optional<int64_t> bytes = {};
};

/// Members are given in this order.
struct JitOptions {
  Cache cache = Cache::constant_values;
  std::vector<std::string> executors = {};  // names in priority order; empty: the default list
  std::optional<std::set<std::string>> skip_transforms = {};
  bool fullgraph = false;
  /// Captures backward() calls inside (compiled_autograd.h), with the same executors.
  bool compiled_autograd = false;
  std::vector<std::string> argument_names = {};  // for printing
  std::optional<int64_t> memory_budget = {};     // bytes saved for backward
  DebugOptions debug = {};
  std::optional<Dtype> autocast = {};
  CacheLimits limits = {};
  /// True: 16-bit values used only inside a fusion keep f32 precision.
  bool allow_excess_precision = false;
};

/// The contents of a jitted function's cache, in bytes unless noted otherwise.
struct CacheStats {
  int64_t versions = 0;        // entries: complete functions, and subgraphs of functions with graph breaks
  int64_t sets_of_values = 0;  // specializations of symbolic entries
  int64_t evicted = 0;         // evicted entries and specializations
  int64_t programs = 0;        // plans and the working state of runs
  int64_t arenas = 0;          // memory for intermediate values that programs keep between calls
  int64_t traces = 0;
};

/// Milliseconds are sums over all compiles; microseconds are of calls.
struct CompileStats {
  int64_t calls = 0, hits = 0, misses = 0;
  double tracing = 0, transforms = 0, planning = 0, total = 0;  // milliseconds
  double last_call = 0, mean_call = 0;                          // microseconds, without compiles
};

namespace detail {
class JitState;
/// Captures the thread's backwards while the returned object lives.
using OpenScope = std::shared_ptr<void> (*)(bool fullgraph, const std::vector<std::string>& executors,
                                            bool allow_excess_precision);
std::shared_ptr<JitState> make_jit_state(std::shared_ptr<void> callable, JitOptions, OpenScope, SourceLocation);
std::shared_ptr<JitState> with_transforms(const JitState&, std::vector<Transform>, SourceLocation);
/// Looks the arguments up, compiles on a miss, and runs.
void call(JitState&, const CallableTable&, const void* const* arguments, SourceLocation, CallResult&);
void* callable_of(const JitState&);
}  // namespace detail

/// The base of jitted functions of all types: a handle. Copies share the cache entries; thread-safe.
class Jitted {
 public:
  const std::shared_ptr<detail::JitState>& state() const { return state_; }

 protected:
  explicit Jitted(std::shared_ptr<detail::JitState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::JitState> state_;
};

/// A compiled callable with its one signature: arguments convert as for the callable itself.
template <class F, class Parameters>
class JittedFunction;

template <class F, class... A>
class JittedFunction<F, detail::Types<A...>> : public Jitted {
  using Table = detail::CallableFor<F, A...>;

 public:
  using Result = typename Table::Result;
  explicit JittedFunction(std::shared_ptr<detail::JitState> state) : Jitted(std::move(state)) {}

  Result operator()(const detail::Stored<A>&... arguments, SourceLocation at = SourceLocation::here()) const {
    if (detail::is_tracing())  // becomes part of the recording in progress
      return detail::invoke_at(callable(), at, detail::Stored<A>(arguments)...);
    const void* const addresses[] = {static_cast<const void*>(std::addressof(arguments))..., nullptr};
    detail::CallResult result;
    detail::call(*state_, Table::table, addresses, at, result);
    return detail::assemble_result<Result>(result);
  }
  const F& wrapped() const { return callable(); }

 private:
  F& callable() const { return *static_cast<F*>(detail::callable_of(*state_)); }
};

/// A compiled callable with overloads or `auto` parameters: called without conversions.
template <class F>
class JittedFunction<F, void> : public Jitted {
 public:
  explicit JittedFunction(std::shared_ptr<detail::JitState> state) : Jitted(std::move(state)) {}

  template <class... A>
  requires std::invocable<F&, detail::Stored<const A&>...>
  auto operator()(const A&... arguments) const {
    using Table = detail::CallableFor<F, detail::Stored<const A&>...>;
    if (detail::is_tracing())
      return typename Table::Result(std::invoke(callable(), detail::Stored<const A&>(arguments)...));
    return run<Table>(detail::Stored<const A&>(arguments)...);
  }
  const F& wrapped() const { return callable(); }

 private:
  template <class Table, class... Held>
  auto run(const Held&... held) const {
    const void* const addresses[] = {static_cast<const void*>(std::addressof(held))..., nullptr};
    detail::CallResult result;
    detail::call(*state_, Table::table, addresses, SourceLocation(), result);
    return detail::assemble_result<typename Table::Result>(result);
  }
  F& callable() const { return *static_cast<F*>(detail::callable_of(*state_)); }
};

/// Returns `callable` compiled: traced, transformed and planned at the first call, looked up and run afterwards.
///
/// Arguments and results may be tensors, numbers, strings, std::vector, optional, map<string, T>, pair, tuple, array,
/// aggregates of up to 32 members, and classes with Fields. Tensors captured by a lambda are inputs, identified by the
/// tensor object of the recording and kept alive by the cache entry: in-place updates are seen, assigning another
/// tensor to the captured variable is not. Other captured variables are constants. A callable that is itself a
/// structure, or std::ref of one, passes its members as arguments.
template <class F>
auto jit(F callable, JitOptions options = {}, SourceLocation at = SourceLocation::here()) {
  using Function = JittedFunction<F, typename detail::SignatureOf<F>::Parameters>;
  return Function(detail::make_jit_state(std::make_shared<F>(std::move(callable)), std::move(options),
                                         compiled_autograd::detail::open_scope, at));
}

/// Returns `f` with additional transforms, run after the grad transform and before the executors. A separate function,
/// which shares no cache entries with `f`.
template <std::derived_from<Jitted> F>
F with_transforms(const F& f, std::vector<Transform> transforms, SourceLocation at = SourceLocation::here()) {
  return F(detail::with_transforms(*f.state(), std::move(transforms), at));
}

/// Returns the stages of the last call's forward, backward and prologue, from as recorded to as run.
std::vector<Trace> last_traces(const Jitted&);
std::vector<Trace> last_backward_traces(const Jitted&);
std::vector<Trace> last_prologue_traces(const Jitted&);
int64_t cache_hits(const Jitted&);
int64_t cache_misses(const Jitted&);
CompileStats compile_stats(const Jitted&);
CacheStats cache_stats(const Jitted&);
/// Reports every compile: its time, cause, duration and line; and the captured tensors.
std::string explain(const Jitted&);

/// Forces a graph break: the recorded subgraph runs, and recording continues with another one. Does nothing outside a
/// recording; an error if functions must be compiled whole (JitOptions::fullgraph, grad(), checkpoint()).
void graph_break(SourceLocation at = SourceLocation::here());
/// Makes a size of an argument a symbol in any cache mode: one cache entry serves all sizes for which the comparisons
/// made while recording have the same results. Applies to this tensor; a negative `dim` counts from the last.
void mark_dynamic(const Tensor&, int dim, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
