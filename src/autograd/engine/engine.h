#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <fulgurite/autograd.h>

namespace fulgurite {

struct FinishedTurns;

/// One run of backward.
struct BackwardCall {
  std::vector<Edge> roots;
  std::vector<Tensor> gradients;  // one for each root
  bool keep_graph = false;
  bool create_graph = false;

  /// Without `inputs`, all reachable nodes run and leaves accumulate. With them, only nodes that lead to an input run.
  std::vector<Edge> inputs;
  /// For each input: return its gradient instead of accumulating it into a leaf.
  std::vector<char> captures;

  /// The turns that a captured run finished before it left the rest to the engine; null if there was none.
  std::shared_ptr<const FinishedTurns> finished = nullptr;
};

/// Runs outermost backwards instead of the engine (AutogradModes::interceptor).
class BackwardInterceptor {
 public:
  BackwardInterceptor() = default;
  virtual ~BackwardInterceptor() = default;
  BackwardInterceptor(const BackwardInterceptor&) = delete;
  BackwardInterceptor& operator=(const BackwardInterceptor&) = delete;
  /// Returns the result of run_backward(); nullopt if the engine must run the call, of which
  /// at most `finished` is changed then.
  virtual std::optional<std::vector<Tensor>> run(BackwardCall&) = 0;
};

/// Runs the nodes reachable from the roots, the latest made first. Returns the captured gradients in the order of
/// `inputs`.
std::vector<Tensor> run_backward(BackwardCall);

/// Runs `action` when the innermost backward on this thread has ended, by success or error; immediately if there is
/// none.
void at_end_of_backward(std::function<void()> action);

}  // namespace fulgurite
