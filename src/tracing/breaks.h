#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracing/functionalization/trace_writes.h"
#include "tracing/subgraph.h"

namespace fulgurite {

/// The graph breaks of a recording: the trace so far is run as a subgraph, its handles become tensors with memory, and
/// the recording continues with a new trace, of which these are inputs.
///
/// Invariants: without a runner there are no breaks; after one, the handles that the function holds have memory, and
/// those that stand for an argument of an earlier subgraph, or are views of a tensor of one, are recorded as such
/// again.
class GraphBreaks {
 public:
  GraphBreaks(TraceBuilder& builder, TraceHandles& handles, TraceInputs& inputs, TraceViews& views, TraceWrites& writes,
              CallRecorder& calls)
      : builder_(builder), handles_(handles), inputs_(inputs), views_(views), writes_(writes), calls_(calls) {}
  GraphBreaks(const GraphBreaks&) = delete;
  GraphBreaks& operator=(const GraphBreaks&) = delete;

  /// Allows breaking the recording into subgraphs, which this runner runs.
  void set_runner(SubgraphRunner*);
  /// The reason why breaks are forbidden: "inside grad, …", for messages. With a runner, it may be a captured backward.
  void forbid(std::string_view why) {
    no_breaks_ = why;
    breaks_for_backward_only_ = true;
  }
  int count() const { return count_; }

  /// Breaks the recording, or throws if it cannot be broken here; see the functions of Interpreter of these names.
  void demand_value(const Tensor&, const char* what, SourceLocation);
  void act(const char* what, SourceLocation);
  void break_here(const std::string& what, SourceLocation);
  void leave_for_backward(const Tensor&, const char* what, SourceLocation);
  /// Runs what was recorded; handles that are still held become tensors with memory.
  void end_subgraph();

  /// The tensor that an argument's handle represents after a break; other tensors unchanged.
  Tensor concrete_of(const Tensor&) const;
  /// The handle for a tensor with memory that this trace has not met yet.
  Tensor capture(const Tensor& concrete, SourceLocation);

 private:
  /// The tensor that an argument's handle represents after a break.
  struct ConcreteTensor {
    Tensor handle, concrete;
    std::string name;
  };
  /// A view of a tensor of an earlier subgraph.
  struct ReplayedView {
    Tensor handle, base;
    TraceViews::View view;
  };

  void break_for(const std::string& what, bool is_backward, std::string_view instead, SourceLocation);
  /// The position in the function if that forbids a break, for the message.
  std::optional<std::string> obstacle(bool is_backward) const;
  void run_subgraph();
  Subgraph finish_subgraph(const std::vector<Tensor>& kept);
  void begin_subgraph();
  std::vector<Tensor> find_kept(std::vector<Tensor>& held);
  std::vector<Tensor> without_hidden_copies(const std::vector<Tensor>& held);
  void materialize_inputs();
  void materialize_view(const Tensor& handle);
  Tensor replay_outermost(const TraceViews::View&, const Tensor& viewed, SourceLocation);

  TraceBuilder& builder_;
  TraceHandles& handles_;
  TraceInputs& inputs_;
  TraceViews& views_;
  TraceWrites& writes_;
  CallRecorder& calls_;
  SubgraphRunner* runner_ = nullptr;
  std::string_view no_breaks_ = "inside grad(), value_and_grad(), vjp() and trace()";
  bool breaks_for_backward_only_ = false;
  int count_ = 0;
  std::unordered_map<const TensorImpl*, ConcreteTensor> concrete_tensors_;
  std::unordered_map<const TensorImpl*, ReplayedView> replayed_views_;
};

}  // namespace fulgurite
