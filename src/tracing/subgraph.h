#pragma once
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// The subgraph recorded up to a graph break.
struct Subgraph {
  struct Input {
    Tensor concrete;
    detail::Ref<TensorProxy> proxy;
    bool is_named = false;
  };
  Trace trace;                // as recorded; its results: held tensors, then values written with a gradient
  std::vector<Input> inputs;  // the trace's args
  int kept = 0;               // how many of the results are still held
  /// Inputs that were assigned a value with a gradient, and the position of that result.
  std::vector<std::pair<int, int>> written;
};

/// Runs the subgraphs of a recording with graph breaks.
class SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  /// A break, before anything is run, caused by `what`.
  virtual void note_break(const std::string& what, SourceLocation) = 0;
  /// Returns the subgraph's results, those that are still held.
  virtual std::vector<Tensor> run(Subgraph) = 0;
  /// Another handle for a tensor with memory, with the same history.
  virtual Tensor alias_of(const Tensor&) = 0;
  /// The function has to be recorded in another way if it has a break: note_break throws.
  bool restarts_at_break = false;
};

}  // namespace fulgurite
