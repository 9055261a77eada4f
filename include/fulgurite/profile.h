#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <fulgurite/examine.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace examine {

/// The machine's measured limits with the current number of threads: copying of elements, and matmuls.
struct MachineLimits {
  /// The speed of copies of one size.
  struct Bandwidth {
    int64_t bytes = 0;  // read and written in one copy
    double bytes_per_second = 0;
  };
  int threads = 0;
  std::vector<Bandwidth> bandwidths;               // small amounts stay in caches
  double f32_operations = 0, bf16_operations = 0;  // floating operations per second
  double bandwidth(int64_t bytes) const;
};
/// Measured at the first call, in about a fifth of a second, and cached; measured again if the number of threads
/// changes.
MachineLimits machine_limits();

/// A storage that a trace allocates or gets as input, and the ops between which it is alive.
struct Lifetime {
  std::string name, type;  // of the first value in it: "t12", "cpu f32[2, 3]"
  int64_t bytes = 0;
  /// Indices into bound_symbols; -1: an input. It is alive when `last` has run, as MemoryReport counts it.
  int first = -1, last = 0;
};
/// Returns the lifetimes of a trace at any stage, in the order of their beginning.
std::vector<Lifetime> lifetimes(const Trace&);

/// The time of a step, broken down. The step shown is the measured one with the median time.
struct Report {
  /// One op of the step.
  struct Line {
    std::string text;  // "auto t0 = matmul(t_0, t_1);"
    std::string name;  // of the operator, "torch.matmul", or of the fusion
    /// The key of the tables: the operator, or for a fusion its contents: "fusion: mul, add, tanh"
    std::string operation;
    std::string executor;  // empty for ops that only name memory
    SourceLocation source;
    std::vector<SourceLocation> sources;        // of a fusion, for each op in it
    double microseconds = 0;                    // in all runs of the step
    int64_t bytes_read = 0, bytes_written = 0;  // in one run; each element of memory once
    int64_t operations = 0;                     // floating operations in one run
    int64_t alive = 0;                          // bytes of tensors when it has run
    /// The machine's minimum time for these bytes and operations, divided by the actual time.
    double share_of_limit = 0;
    bool is_statement = true;  // not a deletion, an unpacking or the return
  };
  /// One program of the function.
  struct Part {
    Stage stage = Stage::forward;
    std::string name;         // its trace's
    int runs = 0;             // in the step
    double microseconds = 0;  // of its ops
    std::vector<Line> lines;  // those of its trace, in order
    MemoryReport memory;
    int64_t arena_bytes = 0;            // the arena of the program's plan
    std::vector<Lifetime> at_the_peak;  // values alive at the peak, the largest first
  };
  /// One execution of an op in the step.
  struct Event {
    int part = 0, line = 0;
    double begin = 0, microseconds = 0;  // since the start of the step
  };
  /// The sum over similar ops.
  struct Row {
    std::string name;
    int count = 0;
    double microseconds = 0;
    int64_t bytes = 0, operations = 0;
  };

  std::vector<Part> parts;    // forwards, then backwards
  std::vector<Event> events;  // in order of time
  double step = 0;            // microseconds
  double plain_step = 0;      // … of steps that were not timed op by op, run in turn with the others: the median
  double least_step = 0, least_plain_step = 0;
  int steps = 0;  // number of steps of each kind
  MachineLimits limits;

  double in_lines() const;
  /// Sorted by descending time. A fusion's time is divided evenly among the user's lines in it.
  std::vector<Row> by_operator() const, by_user_line() const;
  /// The step as trace events in JSON, for Perfetto and chrome://tracing: ops, the user's lines below them, bytes
  /// alive.
  std::string chrome_trace() const;
};
/// Prints each program with time, bytes and share of the machine's limit beside its ops; then the tables, and the
/// values alive at the peak.
std::ostream& operator<<(std::ostream&, const Report&);

/// Members are given in this order.
struct ProfileOptions {
  double seconds = 1;  // approximate duration of the measurement
  int most_steps = 50;
};
/// Calls `step` repeatedly, in turn with and without reading the clock after each op of `f`'s forward and backward
/// programs; its writes are repeated as often. Throws UserError if the step does not call `f`, or `f` runs op by op
/// (debug.check_nan, callbacks).
Report profile_step(const Jitted& f, const std::function<void()>& step, const ProfileOptions& = {});
/// Profiles calls of `f`.
template <std::derived_from<Jitted> F, class... A>
Report profile(const F& f, const A&... arguments) {
  return profile_step(f, [&] { f(arguments...); });
}

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
