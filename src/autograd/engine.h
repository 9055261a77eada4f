#pragma once
#include <functional>
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

/// Runs the nodes that the roots lead to, the latest made first. Gives the captured gradients, in the order of
/// `inputs`.
std::vector<Tensor> run_backward(BackwardCall);

/// Runs `action` when the innermost backward running on this thread has ended, well or not; at once when there is none.
void at_end_of_backward(std::function<void()> action);

}  // namespace fulgurite
