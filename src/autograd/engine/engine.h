#pragma once
#include <functional>
#include <optional>
#include <vector>

#include <fulgurite/autograd.h>

namespace fulgurite {

/// One run of backward.
struct BackwardCall {
  std::vector<Edge> roots;
  std::vector<Tensor> gradients;  // one for each root
  bool keep_graph = false;
  bool create_graph = false;

  /// Without `inputs`, everything reached runs and leaves accumulate. With them only what leads to an input runs.
  std::vector<Edge> inputs;
  /// For each input: give its gradient back instead of accumulating it into a leaf.
  std::vector<char> captures;
};

/// Runs whole backwards in the engine's place (AutogradModes::interceptor), those outside of any other backward.
class BackwardInterceptor {
 public:
  BackwardInterceptor() = default;
  virtual ~BackwardInterceptor() = default;
  BackwardInterceptor(const BackwardInterceptor&) = delete;
  BackwardInterceptor& operator=(const BackwardInterceptor&) = delete;
  /// What run_backward() gives; nothing where the engine is to run the call itself, which is then as it was.
  virtual std::optional<std::vector<Tensor>> run(BackwardCall&) = 0;
};

/// Runs the nodes that the roots lead to, the latest made first. Gives the captured gradients, in the order of
/// `inputs`.
std::vector<Tensor> run_backward(BackwardCall);

/// Runs `action` when the innermost backward running on this thread has ended, well or not; at once when there is none.
void at_end_of_backward(std::function<void()> action);

}  // namespace fulgurite
