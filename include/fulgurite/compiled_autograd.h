#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The complete backward pass of a run, captured into one trace and compiled. PyTorch: torch._dynamo.compiled_autograd.
namespace compiled_autograd {

/// Options of a scope of compiled autograd.
struct Options {
  /// A backward that cannot be captured is an error; without it, such a backward runs in the eager engine.
  bool fullgraph = false;
  /// Sizes are symbols of a capture from the start, so that it serves others; otherwise each becomes one once it has
  /// changed.
  bool dynamic = true;
  /// The executors of the captured trace, in priority order; empty: the default executors.
  std::vector<std::string> executors = {};
  /// 16-bit values that are used only inside a fusion keep f32 precision.
  bool allow_excess_precision = false;
};

/// While alive, every backward() and grad() of its thread is captured. Scopes nest; the innermost applies.
class [[nodiscard]] Scope {
 public:
  explicit Scope(Options);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Backwards of the same structure (operators, connections, hooks) are captured once and cached. A capture contains the
/// backward of each node in the engine's order, autograd::traceable hooks, and ops for run-time side effects: other
/// hooks (`call_hook`), custom functions (`call_backward`) and gradients of leaves (`accumulate_grad_`). A backward
/// inside a hook runs in the engine.
Scope enable(Options options = {});

/// The same for all threads of the process, outside any scope.
void set_enabled(bool enabled);

/// Returns the number of traces captured since the process began, or since reset().
int64_t captures();
/// Returns the traces of this process's last captured backward: from as captured to as run.
std::vector<Trace> last_traces();
/// Clears the cache of captures.
void reset();

namespace detail {
std::shared_ptr<void> open_scope(bool fullgraph, const std::vector<std::string>& executors,
                                 bool allow_excess_precision);
}

}  // namespace compiled_autograd
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
