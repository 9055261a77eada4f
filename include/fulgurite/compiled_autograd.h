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

/// The whole backward pass of a run, captured into one trace and compiled. PyTorch: torch._dynamo.compiled_autograd.
namespace compiled_autograd {

/// Options of a scope of compiled autograd.
struct Options {
  /// A backward that cannot be captured is an error; otherwise it runs in the eager engine.
  bool fullgraph = false;
  /// Sizes are symbols of a capture from the start, so that it serves others; else each is one once it has changed.
  bool dynamic = true;
  /// Who runs the captured trace, first to last; empty: the default executors.
  std::vector<std::string> executors = {};
  /// 16-bit values that are used only inside a fusion keep the digits of f32.
  bool allow_excess_precision = false;
};

/// While it lives, every backward() and grad() of its thread is captured. Scopes nest; the innermost counts.
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

/// A backward of the same structure (operators, connections, hooks) is captured once and found again. What a capture holds: the backward of each
/// node as the engine would run it, hooks that are autograd::traceable, and lines for what only a run can do: other hooks (`call_hook`), custom
/// functions (`call_backward`) and gradients of leaves (`accumulate_grad_`), in the engine's order. A backward inside a hook runs in the engine.
Scope enable(Options options = {});

/// The same for all threads of the process, where no scope is open.
void set_enabled(bool enabled);

/// How many traces were captured since the process began, or since reset().
int64_t captures();
/// The traces of this process's last captured backward: as captured first, as run last.
std::vector<Trace> last_traces();
/// Forgets everything captured.
void reset();

namespace detail {
std::shared_ptr<void> open_scope(bool fullgraph, const std::vector<std::string>& executors, bool allow_excess_precision);
}

}  // namespace compiled_autograd
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
