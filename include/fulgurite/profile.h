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

/// What the machine does at best with the threads that are set, measured: elements copied, and matrix products.
struct MachineLimits {
  /// The speed of copies of one size.
  struct Bandwidth {
    int64_t bytes = 0;            // read and written in one go
    double bytes_per_second = 0;
  };
  int threads = 0;
  std::vector<Bandwidth> bandwidths;  // small amounts stay in caches
  double f32_operations = 0, bf16_operations = 0;  // floating operations a second
  double bandwidth(int64_t bytes) const;
};
/// Measured at the first call, in about a fifth of a second, and kept; again when the number of threads is another.
MachineLimits machine_limits();

/// A storage that a trace makes or is given, and the lines between which it is alive.
struct Lifetime {
  std::string name, type;  // of the first value that has it: "t12", "cpu f32[2, 3]"
  int64_t bytes = 0;
  int first = -1, last = 0;  // places in bound_symbols; -1: an input. It is alive when `last` has run, as MemoryReport counts it
};
/// Of a trace at any stage, in the order in which they begin.
std::vector<Lifetime> lifetimes(const Trace&);

/// Where the time of a step went. One of the measured steps is shown, the one whose time is the median.
struct Report {
  /// One op of the step.
  struct Line {
    std::string text;       // "auto t0 = matmul(t_0, t_1);"
    std::string name;       // of the operator, "torch.matmul", or of the fusion
    std::string operation;  // what tables count: the operator, or of a fusion what is in it: "fusion: mul, add, tanh"
    std::string executor;   // empty for what only names memory
    SourceLocation source;
    std::vector<SourceLocation> sources;  // of a fusion, for each line in it
    double microseconds = 0;              // in all runs of the step
    int64_t bytes_read = 0, bytes_written = 0;  // in one run; each element of memory once
    int64_t operations = 0;                     // floating operations in one run
    int64_t alive = 0;                          // bytes of tensors when it has run
    double share_of_limit = 0;                  // the least time that the machine could take for bytes and operations, by the time that it took
    bool is_statement = true;                   // not a deletion, an unpacking or the return
  };
  /// One program of the function.
  struct Part {
    Stage stage = Stage::forward;
    std::string name;          // its trace's
    int runs = 0;              // in the step
    double microseconds = 0;   // of its lines
    std::vector<Line> lines;   // those of its trace, in order
    MemoryReport memory;
    int64_t arena_bytes = 0;            // what the program's plan takes for what lives inside it
    std::vector<Lifetime> at_the_peak;  // what is alive then, the largest first
  };
  /// One line's turn in the step.
  struct Event {
    int part = 0, line = 0;
    double begin = 0, microseconds = 0;  // from the step's begin
  };
  /// Lines that are alike, in sum.
  struct Row {
    std::string name;
    int count = 0;
    double microseconds = 0;
    int64_t bytes = 0, operations = 0;
  };

  std::vector<Part> parts;           // forwards, then backwards
  std::vector<Event> events;         // in order of time
  double step = 0;                   // microseconds
  double plain_step = 0;             // … of steps that were not timed line by line, run in turn with the others: the median
  double least_step = 0, least_plain_step = 0;
  int steps = 0;                     // how many of each
  MachineLimits limits;

  double in_lines() const;
  /// The most time first. A fusion's time is divided evenly among the user's lines that are in it.
  std::vector<Row> by_operator() const, by_user_line() const;
  /// The step in the JSON form of trace events, which Perfetto and chrome://tracing open: lines, the user's lines below them, bytes alive.
  std::string chrome_trace() const;
};
/// Each program with time, bytes and share of the machine's limit beside its lines; then the tables, and what is alive at the peak.
std::ostream& operator<<(std::ostream&, const Report&);

/// Members are given in this order.
struct ProfileOptions {
  double seconds = 1;  // how long to measure, about
  int most_steps = 50;
};
/// Calls `step` again and again, in turn with and without a look at the clock after each line of what `f` runs in it, forward and backward; what
/// it writes is written as often. Throws UserError where the step does not call `f`, or `f` runs line by line (debug.check_nan, callbacks).
Report profile_step(const Jitted& f, const std::function<void()>& step, const ProfileOptions& = {});
/// Of calls of `f`.
template <std::derived_from<Jitted> F, class... A>
Report profile(const F& f, const A&... arguments) {
  return profile_step(f, [&] { f(arguments...); });
}

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
