#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/dispatch.h"
#include "ops/core/recorder.h"
#include "tracing/breaks.h"
#include "tracing/symbolic_scalars.h"

namespace fulgurite {

/// The interpreter that records: every operator call becomes a bound symbol of the trace being built.
///
/// A concrete tensor used by an operator becomes an input ("captured"). The recording is functional: an in-place
/// operator on a full tensor gives the handle a new value, and finish() ends the trace with one copy_ per changed
/// input.
///
/// With a runner for its subgraphs, elements may be read: the recording so far is run, its handles are materialized,
/// and the recording continues with a new trace, of which these are inputs.
///
/// It records calls itself; the state of the recording belongs to its parts, each of which knows only those before it,
/// and of the tracer only that it records calls (CallRecorder).
class Tracer final : public Interpreter, public Recorder, private CallRecorder {
 public:
  using Capture = TraceInputs::Capture;

  /// A tracer for a new trace, or one that continues the numbering of another trace (so names stay unique over both).
  explicit Tracer(std::string name = "computation");
  explicit Tracer(const Trace& continues);

  // Its parts.
  TraceBuilder& builder() { return builder_; }
  SymbolicScalars& scalars() { return scalars_; }
  const TraceInputs& inputs() const { return inputs_; }
  TraceViews& views() { return views_; }
  const TraceWrites& writes() const { return writes_; }
  GraphBreaks& graph_breaks() { return breaks_; }
  Trace& trace() { return builder_.trace(); }

  /// A new argument of the trace, in order. An empty name gives "t_<n>".
  /// A leaf that requires a gradient may not be written in place if gradients are on.
  /// `concrete` is the tensor that it represents, for reading strides.
  Tensor add_argument(const TensorType& type, bool requires_grad, std::string name, SourceLocation at = {},
                      bool is_leaf = false, const Tensor& concrete = {}) {
    return inputs_.add(type, requires_grad, std::move(name), at, is_leaf, concrete);
  }
  /// Records that the symbols among a tensor's sizes are read off it: (i0, i1) = prims.shape(t_0)
  void bind_sizes(const Tensor&);
  /// Makes a concrete tensor an argument with a name of its own, before or instead of its capture.
  Tensor bind_concrete(const Tensor& concrete, std::string name) { return inputs_.capture(concrete, std::move(name)); }
  /// The same, as a constant of gradients: `requires_grad` overrides that of the tensor.
  Tensor bind_concrete(const Tensor& concrete, std::string name, bool requires_grad);
  /// The same with sizes that may be symbols, whose values are the tensor's.
  Tensor bind_concrete(const Tensor& concrete, std::string name, const Shape& shape);
  /// Concrete tensors that became arguments, in the order of the trace's args from the first capture on.
  const std::vector<Capture>& captures() const { return inputs_.captures(); }
  /// The trace's value of a call's argument.
  Value value_of(const Argument&);

  /// Ends the recording: appends the copies into changed inputs and the return, and returns the trace. `results` may
  /// nest lists.
  Trace finish(Value results);

  /// Marks of the ops that are recorded from now on; see TraceBuilder. Inside a composite or a rule the locations that
  /// calls pass on are the library's own.
  void set_origin(ForwardOrigins origin) { builder_.set_origin(std::move(origin)); }
  void set_origin_role(ForwardOrigin::Part role) { builder_.set_origin_role(role); }
  void set_location(std::optional<SourceLocation> at) { builder_.set_location(at); }
  /// The limit on the bytes that a function differentiated inside this recording saves for its backward; that of the
  /// outer one if it has none.
  void set_memory_budget(std::optional<int64_t> bytes) { memory_budget_ = bytes; }
  /// Allows get_grad and put_grad to be recorded: inside a grad transform.
  void set_takes_gradients(bool takes) { takes_gradients_ = takes; }
  /// Names of the executors that the recording is for; empty: the default ones. A tracer inside another's recording has
  /// the outer one's.
  void set_executors(std::vector<std::string> names) { executors_ = std::move(names); }

  // As an interpreter.
  Recorder* recorder() override { return this; }
  bool computes() const override { return false; }
  void run(const Symbol&, Arguments, SourceLocation, Results&) override;
  Int integer(detail::NumberOperation, Int, Int) override;
  Float floating(detail::NumberOperation, Float, Float) override;
  Bool comparison(detail::NumberOperation, Int, Int) override;
  Bool comparison(detail::NumberOperation, Float, Float) override;
  void fix(const NumberProxy&) override;
  void demand_value(const Tensor&, const char* what, SourceLocation) override;
  void act(const char* what, SourceLocation) override;
  void break_here(const std::string& what, SourceLocation) override;
  void leave_for_backward(const Tensor&, const char* what, SourceLocation) override;
  Tensor current(const Tensor&, SourceLocation) override;

  // As a recorder.
  Recorder* outer_recorder() const override { return outer_recorder_; }
  bool records(const Tensor& handle) const override { return handles_.contains(handle); }
  Value value_of(const Tensor&) override;
  detail::Ref<TensorProxy> make_proxy(const TensorType&, bool requires_grad, std::string name = {}) override;
  Tensor adopt(const detail::Ref<TensorProxy>& value) override { return handles_.make(value, {}); }
  int reserve_ids(int least) override { return builder_.reserve_ids(least); }
  std::shared_ptr<std::vector<detail::Ref<NumberProxy>>> numbers() const override { return builder_.trace().numbers; }
  Sizes strides_of(const Tensor&) override;
  bool is_contiguous(const Tensor& handle) const override { return views_.is_contiguous(handle); }
  Tensor view_again(const Tensor& view, const Tensor& viewed, const Tensor& other) const override;
  bool has_breaks() const override { return breaks_.count() > 0; }
  Tensor concrete_of(const Tensor& handle) const override { return breaks_.concrete_of(handle); }
  void append(BoundSymbol bound) override { builder_.append(std::move(bound)); }
  void bind(const Symbol&, std::vector<Value> args, std::vector<Value> outputs, SourceLocation at = {}) override;
  void begin_scope() override { builder_.begin_scope(); }
  SharedVector<BoundSymbol> end_scope() override { return builder_.end_scope(); }
  std::span<BoundSymbol> recorded() override { return builder_.recorded(); }
  void set_tags(Tags tags) override { builder_.set_tags(tags); }
  Tags tags() const override { return builder_.tags(); }
  void set_sequence(int sequence) override { builder_.set_sequence(sequence); }
  int sequence() const override { return builder_.sequence(); }
  int next_sequence() override { return builder_.next_sequence(); }
  std::optional<int64_t> memory_budget() const override { return memory_budget_; }
  const std::vector<std::string>& executors() const override { return executors_; }
  bool takes_gradients() const override { return takes_gradients_; }
  CustomFunction exchange_custom_function(CustomFunction) override;
  void note_function_view(const Tensor& result, const Tensor& viewed) override;

 private:
  /// The value of a handle in this trace; checks that the handle is this trace's.
  const detail::Ref<TensorProxy>& proxy_of(const Tensor&);
  void record_primitive(const Symbol&, Arguments, SourceLocation, Results&) override;
  void record_composite(const Symbol&, Arguments original, Arguments, SourceLocation, Results&);
  SharedVector<BoundSymbol> record_decomposition(const Symbol&, Arguments, SourceLocation, Results&);
  /// Replaces results of a composite that are an unchanged argument; returns true if some are values of their own.
  bool replace_by_arguments(Results&, Arguments original, Arguments, SourceLocation);
  void bind_call(const Symbol&, Arguments, std::span<const Tensor> results, SharedVector<BoundSymbol>, SourceLocation);

  TraceBuilder builder_;
  Recorder* outer_recorder_;
  SymbolicScalars scalars_;
  TraceHandles handles_;
  TraceInputs inputs_;
  TraceViews views_;
  TraceWrites writes_;
  GraphBreaks breaks_;
  std::optional<int64_t> memory_budget_;
  std::vector<std::string> executors_;
  bool takes_gradients_ = false;
};

}  // namespace fulgurite
