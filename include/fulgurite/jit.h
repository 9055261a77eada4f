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

/// What a compiled version of a function is kept for.
enum class Cache {
  constant_values,  // the same sizes, dtypes, devices, numbers, strings and structure
  symbolic_values,  // the same answers to every question that was asked about sizes and numbers while it was recorded
  same_input,       // whatever: the caller vouches that calls are alike; DebugOptions::check_traces verifies it
  no_caching,       // compiled anew at every call
};

/// Checks and annotations for debugging. check_nan and verify_against_eager run each op alone, which is slow.
struct DebugOptions {
  bool associate_forward = false;    // backward traces say which forward symbol each line belongs to
  bool check_traces = false;         // every trace is verified after every pass
  bool check_nan = false;            // a NaN among the results is an error
  bool verify_against_eager = false; // every call also runs the C++ function eagerly and compares
};

/// How much a jitted function keeps, and what it does when it is compiled often. Members are given in this order.
struct CacheLimits {
  /// Compiled versions; beyond that those go that were not used for the longest time, a few at a time. None:
  /// FULGURITE_CACHE_VERSIONS, or 4096.
  std::optional<int64_t> versions = {};
  /// Programs of versions with symbols, one for each set of their values; the same holds for them.
  int64_t sets_of_values = 1024;
  /// Versions whose traces are kept with every stage: the newest. Of others, the first and the last stage.
  int64_t traces = 64;
  /// Compiles after which it is said on stderr, once, what changes from call to call; 0: never.
  int64_t warn_after = 32;
  /// Compiles after which a call that needs another one is an error; 0: never.
  int64_t refuse_after = 0;
  /// Bytes, about, that versions and programs take; beyond that those go that were not used for the longest time, but for the newest few.
  /// None: FULGURITE_CACHE_BYTES, or 128 MiB.
  std::optional<int64_t> bytes = {};
};

/// Members are given in this order.
struct JitOptions {
  Cache cache = Cache::constant_values;
  std::vector<std::string> executors = {};                     // names in priority order; empty: the default list
  std::optional<std::set<std::string>> skip_transforms = {};
  bool fullgraph = false;
  bool compiled_autograd = false;                              // backward() inside is captured (compiled_autograd.h), by the same executors
  std::vector<std::string> argument_names = {};                // for printing
  std::optional<int64_t> memory_budget = {};                   // bytes saved for backward
  DebugOptions debug = {};
  std::optional<Dtype> autocast = {};
  CacheLimits limits = {};
  bool allow_excess_precision = false;                         // true: 16-bit values used only inside a fusion keep the digits of f32
};

/// What a jitted function keeps, in bytes where not said otherwise.
struct CacheStats {
  int64_t versions = 0;       // how many are kept: whole functions, and pieces of functions with graph breaks
  int64_t sets_of_values = 0; // programs for sets of values of symbols
  int64_t evicted = 0;        // how many of both went to make room
  int64_t programs = 0;       // plans, and what runs work in
  int64_t arenas = 0;         // memory for intermediate values, as far as programs keep it between calls
  int64_t traces = 0;
};

/// Milliseconds are sums over all compiles; microseconds are of the calls.
struct CompileStats {
  int64_t calls = 0, hits = 0, misses = 0;
  double tracing = 0, transforms = 0, planning = 0, total = 0;  // milliseconds
  double last_call = 0, mean_call = 0;                          // microseconds, compiles left out
};

namespace detail {
class JitState;
/// Captures the backwards of the thread while what it gives lives.
using OpenScope = std::shared_ptr<void> (*)(bool fullgraph, const std::vector<std::string>& executors, bool allow_excess_precision);
std::shared_ptr<JitState> make_jit_state(std::shared_ptr<void> callable, JitOptions, OpenScope, SourceLocation);
std::shared_ptr<JitState> with_transforms(const JitState&, std::vector<Transform>, SourceLocation);
/// Looks the arguments up, compiles on a miss, and runs.
void call(JitState&, const CallableTable&, const void* const* arguments, SourceLocation, CallResult&);
void* callable_of(const JitState&);
}  // namespace detail

/// What every jitted function is, whatever its type: a handle. Copies share the compiled versions; any number of
/// threads may call.
class Jitted {
 public:
  const std::shared_ptr<detail::JitState>& state() const { return state_; }

 protected:
  explicit Jitted(std::shared_ptr<detail::JitState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::JitState> state_;
};

/// A compiled callable with its one signature: arguments convert at the call as they do for the callable itself.
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

/// `callable` compiled: traced, transformed and planned at the first call, looked up and run after it.
///
/// Arguments and results may be tensors, numbers, strings, std::vector, optional, map<string, T>, pair, tuple, array,
/// aggregates of up to 32 members, and classes with Fields. Tensors that a lambda captured are inputs, found by the
/// tensor object they were when recorded, and kept alive by the compiled version: in-place updates are seen, assigning
/// another tensor to the captured variable is not. Other captured variables are constants. A callable that is itself a
/// structure, or std::ref of one, passes its members as arguments.
template <class F>
auto jit(F callable, JitOptions options = {}, SourceLocation at = SourceLocation::here()) {
  using Function = JittedFunction<F, typename detail::SignatureOf<F>::Parameters>;
  return Function(detail::make_jit_state(std::make_shared<F>(std::move(callable)), std::move(options), compiled_autograd::detail::open_scope, at));
}

/// `f` with transforms of its own, run after the grad transform and before the executors. A function of its own:
/// nothing that `f` compiled is shared.
template <std::derived_from<Jitted> F>
F with_transforms(const F& f, std::vector<Transform> transforms, SourceLocation at = SourceLocation::here()) {
  return F(detail::with_transforms(*f.state(), std::move(transforms), at));
}

/// The stages of the last call's forward, backward and prologue: the first as recorded, the last as run.
std::vector<Trace> last_traces(const Jitted&);
std::vector<Trace> last_backward_traces(const Jitted&);
std::vector<Trace> last_prologue_traces(const Jitted&);
int64_t cache_hits(const Jitted&);
int64_t cache_misses(const Jitted&);
CompileStats compile_stats(const Jitted&);
CacheStats cache_stats(const Jitted&);
/// Every compile: when, why, how long, which line; and what was captured.
std::string explain(const Jitted&);

/// Ends the piece being recorded: what was recorded is run, and the function goes on with another piece. Does nothing outside a recording;
/// where functions are compiled whole (JitOptions::fullgraph, grad(), checkpoint()) it is an error.
void graph_break(SourceLocation at = SourceLocation::here());
/// Makes a size of an argument a symbol, whatever the cache mode: one compiled version serves all sizes for which the comparisons made
/// while recording come out alike. Belongs to this tensor; a negative `dim` counts from the last.
void mark_dynamic(const Tensor&, int dim, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
