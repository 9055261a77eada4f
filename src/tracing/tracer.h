#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fulgurite/trace.h>

#include "ops/core/dispatch.h"
#include "ops/core/recorder.h"
#include "ops/core/rules.h"
#include "tracing/breaks.h"
#include "tracing/symbolic_scalars.h"
#include "tracing/trace_builder.h"

namespace fulgurite {

/// The interpreter that records: every operator call becomes a bound symbol of the trace being built.
///
/// A concrete tensor used by an operator becomes an input ("captured"). The recording is functional: an in-place
/// operator on a full tensor gives the handle a new value, and finish() ends the trace with one copy_ per changed
/// input.
///
/// With a runner for its subgraphs, elements may be read: the recording so far is run, its handles are materialized,
/// and the recording continues with a new trace, of which these are inputs.
class Tracer final : public Interpreter, public Recorder {
 public:
  /// A tracer for a new trace, or one that continues the numbering of another trace (so names stay unique over both).
  explicit Tracer(std::string name = "computation");
  explicit Tracer(const Trace& continues);
  ~Tracer() override;

  /// A new argument of the trace, in order. An empty name gives "t_<n>".
  /// A leaf that requires a gradient may not be written in place if gradients are on.
  /// `concrete` is the tensor that it represents, for reading strides.
  Tensor add_argument(const TensorType&, bool requires_grad, std::string name, SourceLocation at = {},
                      bool is_leaf = false, const Tensor& concrete = {});
  /// Its symbolic scalars.
  SymbolicScalars& scalars() { return scalars_; }
  /// Records that the symbols among a tensor's sizes are read off it: (i0, i1) = prims.shape(t_0)
  void bind_sizes(const Tensor&);
  /// Makes a concrete tensor an argument with a name of its own, before or instead of its capture.
  Tensor bind_concrete(const Tensor& concrete, std::string name);
  /// The same, as a constant of gradients: `requires_grad` overrides that of the tensor.
  Tensor bind_concrete(const Tensor& concrete, std::string name, bool requires_grad);
  /// The same with sizes that may be symbols, whose values are the tensor's.
  Tensor bind_concrete(const Tensor& concrete, std::string name, const Shape& shape);

  struct Capture {
    Tensor concrete;
    detail::Ref<TensorProxy> proxy;
    bool is_named = false;
  };
  /// Concrete tensors that became arguments, in the order of the trace's args from `first_capture` on.
  const std::vector<Capture>& captures() const { return captures_; }

  /// Ends the recording: appends the copies into changed inputs and the return, and returns the trace. `results` may
  /// nest lists.
  Trace finish(Value results);
  /// Appends to results the values with a gradient that inputs were assigned; returns the input of each, and the
  /// position of the result.
  std::vector<std::pair<int, int>> add_written(std::vector<Value>& results) const;

  /// Allows breaking the recording into subgraphs, which this runner runs.
  void set_runner(SubgraphRunner*);
  /// The reason why breaks are forbidden: "inside grad, …", for messages. With a runner, it may be a captured backward.
  void set_no_breaks(std::string_view why) {
    no_breaks_ = why;
    breaks_for_backward_only_ = true;
  }
  int breaks() const { return breaks_; }
  /// Runs what was recorded; handles that are still held become tensors with memory.
  void end_subgraph();
  /// The tensor that an argument's handle represents, if known; null for other handles.
  const Tensor* concrete_of_input(const Tensor& handle) const;
  /// A view that was recorded, to be recreated of another tensor.
  struct RecordedView {
    const Symbol* symbol = nullptr;
    SharedVector<Value> args;
    bool has_gradients = true;  // created while gradients were on
    bool may_copy = false;      // it is a view or a copy, by strides that are not known
    Tensor handle = {};         // that it gave
  };
  /// The root whose memory a value aliases, and the views between them, the root's first.
  struct StorageView {
    Tensor root;
    std::vector<RecordedView> views;
    /// In the root, taken as contiguous; none if sizes are symbols.
    std::optional<ViewGeometry> geometry;
  };
  /// The storage view of a value of this trace; the search ends at tensors for which `is_root` holds.
  template <class IsRoot>
  StorageView storage_view(const Tensor& value, IsRoot&& is_root) {
    StorageView place{value, {}, {}};
    while (!is_root(place.root) && step_to_viewed(place)) {
    }
    find_geometry(place);
    return place;
  }
  /// The trace's value of a call's argument.
  Value value_of(const Argument&);
  /// Returns true if the function captured a tensor that is also an argument, without using the argument.
  bool was_reached(const Tensor& concrete) const { return reached_.contains(concrete.impl().get()); }
  /// The ids of arguments whose strides the function read.
  const std::vector<int>& observed_strides() const { return observed_strides_; }

  /// Marks everything recorded from now on as backward of this forward symbol (none: an empty result).
  void set_origin(ForwardOrigins origin) { builder_.set_origin(std::move(origin)); }
  /// The role of subsequently recorded ops for the forward op that was set.
  void set_origin_role(ForwardOrigin::Part role) { builder_.set_origin_role(role); }
  /// The location of subsequently recorded ops, instead of the one that their call passes on: inside a composite or a
  /// rule the locations are the library's own. None: the calls' own locations again.
  void set_location(std::optional<SourceLocation> at) { builder_.set_location(at); }
  /// The limit on the bytes that a function differentiated inside this recording saves for its backward; that of the
  /// outer one if it has none.
  void set_memory_budget(std::optional<int64_t> bytes) { memory_budget_ = bytes; }
  /// Allows get_grad and put_grad to be recorded: inside a grad transform.
  void set_takes_gradients(bool takes) { takes_gradients_ = takes; }
  /// Names of the executors that the recording is for; empty: the default ones. A tracer inside another's recording has
  /// the outer one's.
  void set_executors(std::vector<std::string> names) { executors_ = std::move(names); }
  Trace& trace() { return builder_.trace(); }

  // As an interpreter.
  Recorder* recorder() override { return this; }
  bool computes() const override { return false; }
  void run(const Symbol&, Arguments, SourceLocation, Results&) override;
  Int integer(detail::NumberOperation operation, Int a, Int b) override { return scalars_.integer(operation, a, b); }
  Float floating(detail::NumberOperation operation, Float a, Float b) override {
    return scalars_.floating(operation, a, b);
  }
  Bool comparison(detail::NumberOperation operation, Int a, Int b) override {
    return scalars_.comparison(operation, a, b);
  }
  Bool comparison(detail::NumberOperation operation, Float a, Float b) override {
    return scalars_.comparison(operation, a, b);
  }
  void fix(const NumberProxy& proxy) override { SymbolicScalars::fix(proxy); }
  void demand_value(const Tensor&, const char* what, SourceLocation) override;
  void act(const char* what, SourceLocation) override;
  void break_here(const std::string& what, SourceLocation) override;
  void leave_for_backward(const Tensor&, const char* what, SourceLocation) override;
  Tensor current(const Tensor&, SourceLocation) override;

  // As a recorder.
  Recorder* outer_recorder() const override { return outer_recorder_; }
  bool records(const Tensor& handle) const override { return handle.impl()->tracer == serial_; }
  Value value_of(const Tensor&) override;
  detail::Ref<TensorProxy> make_proxy(const TensorType& type, bool requires_grad, std::string name = {}) override {
    return builder_.make_proxy(type, requires_grad, std::move(name));
  }
  Tensor adopt(const detail::Ref<TensorProxy>&) override;
  int reserve_ids(int least) override { return builder_.reserve_ids(least); }
  std::shared_ptr<std::vector<detail::Ref<NumberProxy>>> numbers() const override { return builder_.trace().numbers; }
  Sizes strides_of(const Tensor&) override;
  bool is_contiguous(const Tensor&) const override;
  Tensor view_again(const Tensor& view, const Tensor& viewed, const Tensor& other) const override;
  bool has_breaks() const override { return breaks_ > 0; }
  Tensor concrete_of(const Tensor&) const override;
  void append(BoundSymbol bound) override { builder_.append(std::move(bound)); }
  void bind(const Symbol& symbol, std::vector<Value> args, std::vector<Value> outputs,
            SourceLocation at = {}) override {
    builder_.bind(symbol, std::move(args), std::move(outputs), at);
  }
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
  CustomFunction exchange_custom_function(CustomFunction other) override {
    return std::exchange(custom_function_, std::move(other));
  }
  void note_function_view(const Tensor& result, const Tensor& viewed) override;

 private:
  struct WrittenInput {
    detail::Ref<TensorProxy> original;
    Tensor handle;  // has the latest value
    bool is_leaf = false;
    bool changes_history = false;  // written while gradients are on, by or into a tensor that requires one
    Tensor concrete = {};          // the tensor that it represents, if known
  };
  /// A view that was recorded: a handle's `base` under a symbol with these arguments.
  struct View {
    const Symbol* symbol = nullptr;
    SharedVector<Value> args;
    int scope = 0;               // in which it was recorded
    bool shares_surely = false;  // whatever the strides
    bool has_gradients = true;   // created while gradients were on
  };
  enum class Sharing { shares, is_copy, unknown };
  /// The tensor that an argument's handle represents after a break.
  struct StandsFor {
    Tensor handle, concrete;
    std::string name;
  };
  /// A custom function's result that shares the memory of `root`, which had been written `history` times.
  struct FunctionView {
    Tensor handle, root;
    uint32_t history = 0;
  };
  /// A view of a tensor of an earlier subgraph.
  struct ReplayedView {
    Tensor handle, base;
    View view;
  };

  Tensor make_handle(const detail::Ref<TensorProxy>&, SourceLocation at);
  Tensor capture(const Tensor& concrete, std::string name, bool requires_grad, const Shape& shape);
  void check_leaf_is_not_written(const TensorImpl&, SourceLocation) const;
  /// The value of a handle in this trace; checks that the handle is this trace's.
  const detail::Ref<TensorProxy>& proxy_of(const Tensor&);
  void record_composite(const Symbol&, Arguments original, Arguments, SourceLocation, Results&);
  void record_primitive(const Symbol&, Arguments, SourceLocation, Results&);
  void append_copies(std::vector<Value>& results);
  Trace take_trace(std::vector<Value> results);
  // Breaks: breaks.cpp.
  std::vector<Tensor> find_kept(std::vector<Tensor>& held);
  void leave_hidden_copies(std::vector<Tensor>& held);
  Subgraph finish_subgraph(const std::vector<Tensor>& kept);
  void run_subgraph();
  void begin_subgraph();
  /// The handle for a tensor with memory that this trace has not met yet.
  Tensor captured(const Tensor& concrete, SourceLocation);

  // Views that custom functions return: function_views.cpp.
  void check_function_view_is_not_written(const Tensor& written) const;
  void check_function_view_is_current(const TensorImpl&) const;
  /// At a break: the handles, which are tensors with memory now, are marked as eager mode marks them.
  void leave_function_views();

  // Views and writes through them: writes.cpp.
  void note_view(const Tensor& view, const Tensor& viewed, const BoundSymbol&);
  /// The result of a composite that has been recorded: a view of one of its arguments, or a tensor of its own.
  void leave_scope(TensorImpl& result, const Symbol&, Arguments);
  Sharing sharing(const TensorImpl& view);
  /// The same, where the strides of arguments decide: the entry then holds for those of this call.
  Sharing observed_sharing(const TensorImpl& view);
  /// From a view to its base; false if there is none.
  bool step_to_viewed(StorageView&);
  static void find_geometry(StorageView&);
  /// Sizes and strides, non-views taken as contiguous; false if they are not known.
  bool geometry(const TensorImpl&, ViewGeometry&);
  void observe_strides(size_t input, ViewGeometry&);
  /// While it lives, the strides of inputs that geometry() reads are noted.
  class ObservedStrides {
   public:
    explicit ObservedStrides(Tracer& tracer) : tracer_(tracer) { tracer_.strides_observed_ = true; }
    ~ObservedStrides() { tracer_.strides_observed_ = false; }
    ObservedStrides(const ObservedStrides&) = delete;
    ObservedStrides& operator=(const ObservedStrides&) = delete;

   private:
    Tracer& tracer_;
  };
  /// Brings a view up to date with writes into what it shares memory with.
  void refresh(TensorImpl&);
  /// The view's value recorded again from what is visible in the scopes that are open.
  Tensor visible(const Tensor&, SourceLocation);
  Tensor replay(const View&, const Tensor& viewed, SourceLocation);
  /// The view of a tensor with memory.
  static Tensor replayed_view(const View&, const Tensor& viewed);
  void write(const Tensor& source, const Tensor& destination, SourceLocation);
  /// A write through views that have no rule of their own, or repeat elements, as one into the region of the root that
  /// they show.
  bool write_slice(const Tensor& source, const Tensor& view, SourceLocation);
  bool may_be_overwritten(const Tensor& source) const;
  void check_write_of_custom_function(const TensorImpl& written, SourceLocation) const;
  detail::Ref<TensorProxy> value_without_gradients(const Tensor& source, const TensorImpl& written, SourceLocation);
  void bind_call(const Symbol&, Arguments, std::span<const Tensor> results, SharedVector<BoundSymbol> subsymbols,
                 SourceLocation);

  TraceBuilder builder_;
  Recorder* outer_recorder_;
  SymbolicScalars scalars_;
  std::vector<Capture> captures_;
  std::unordered_map<const TensorImpl*, Tensor> current_;  // the value of each captured tensor
  std::vector<WrittenInput> inputs_;
  std::vector<View> views_;  // by TensorImpl::view
  std::vector<FunctionView> function_views_;
  int writes_ = 0;                                                       // so far
  std::unordered_map<int, detail::Ref<TensorProxy>> values_of_history_;  // the values, by result id
  SubgraphRunner* runner_ = nullptr;
  void break_for(const std::string& what, bool is_backward, std::string_view instead, SourceLocation);
  bool breaks_for_backward_only_ = false;
  std::string_view no_breaks_ = "inside grad(), value_and_grad(), vjp() and trace()";
  std::shared_ptr<HeldHandles> held_;
  std::unordered_map<const TensorImpl*, StandsFor> stands_for_;
  std::unordered_map<const TensorImpl*, ReplayedView> replayed_views_;
  int breaks_ = 0;
  bool knows_strides_ = false;     // a subgraph is about to run: the inputs' strides decide
  bool strides_observed_ = false;  // the function does: those of inputs are noted
  std::vector<int> observed_strides_;
  std::unordered_set<const TensorImpl*> reached_;
  std::optional<int64_t> memory_budget_;
  bool takes_gradients_ = false;
  CustomFunction custom_function_;
  std::vector<std::string> executors_;
  uint64_t serial_;
};

uint64_t next_tracer_serial();
/// The error for a proxy that is used while its trace is not being recorded.
[[noreturn]] void refuse_stray_proxy(const Tensor&);

/// Runs a trace's symbols through dispatch with these inputs: in eager mode computes, under a tracer records it into
/// that one. Inputs and results are flat, in the order of ir/analysis/trace_values.h.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs);

}  // namespace fulgurite
