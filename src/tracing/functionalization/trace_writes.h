#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/core/recorder.h"
#include "tracing/functionalization/function_views.h"
#include "tracing/functionalization/trace_views.h"

namespace fulgurite {

/// In-place writes in a trace where every value is assigned once. A write gives the handle, and those that it is a view
/// of, new values; other views are recorded again when they are next read.
///
/// Invariant: a view's value is that of its `base` with the number of writes `base_history`. If the base has had more,
/// the view is out of date, and refresh() precedes each use.
class TraceWrites {
 public:
  TraceWrites(TraceBuilder& builder, TraceHandles& handles, TraceInputs& inputs, TraceViews& views, CallRecorder& calls)
      : builder_(builder), handles_(handles), inputs_(inputs), views_(views), calls_(calls) {}

  /// Writes the elements of `source` into a handle.
  void write(const Tensor& source, const Tensor& destination, SourceLocation);
  /// The number of writes so far.
  int count() const { return count_; }
  /// Brings a handle up to date with writes into what it shares memory with.
  void refresh(const Tensor& handle) {
    if (count_ > 0) refresh_view(*handle.impl());
  }
  /// Appends to results the values with a gradient that inputs were assigned; returns the input of each, and the
  /// position of the result.
  std::vector<std::pair<int, int>> add_written(std::vector<Value>& results) const;
  /// Ends the trace, with copies into the inputs that were changed and the return, and gives it away.
  Trace take_trace(std::vector<Value> results);
  /// Forgets the values of this trace: another one begins.
  void clear() { values_of_history_.clear(); }

  /// The custom function that records, which limits the writes: see Recorder::CustomFunction.
  const Recorder::CustomFunction& custom_function() const { return custom_function_; }
  Recorder::CustomFunction exchange_custom_function(Recorder::CustomFunction other) {
    return std::exchange(custom_function_, std::move(other));
  }
  FunctionViews& function_views() { return function_views_; }

 private:
  void refresh_view(TensorImpl&);
  /// Writes the tensor that a view shows, by the rule of the view's symbol.
  void write_viewed(const Tensor& source, TensorImpl& view, SourceLocation);
  /// A write through views that have no rule of their own, or repeat elements, as one into the region of the root that
  /// they show; false if it is not such a write.
  bool write_slice(const Tensor& source, const Tensor& view, SourceLocation);
  void write_region(const Tensor& source, const StorageView&, SourceLocation);
  void assign(const Tensor& source, TensorImpl& written, SourceLocation);
  detail::Ref<TensorProxy> value_of(const Tensor& handle);
  detail::Ref<TensorProxy> value_without_gradients(const Tensor& source, const TensorImpl& written, SourceLocation);
  detail::Ref<TensorProxy> clone_of(const detail::Ref<TensorProxy>& value);
  detail::Ref<TensorProxy> without_history(detail::Ref<TensorProxy> value) const;
  /// Records one copy for each changed input. Values that alias an overwritten input, and are copied elsewhere or
  /// returned, are cloned before any copy is made.
  void append_copies(std::vector<Value>& results);
  bool may_be_overwritten(const Tensor& source) const;
  void check_leaf_is_not_written(const TensorImpl&, SourceLocation) const;
  void check_write_of_custom_function(const TensorImpl& written, SourceLocation) const;

  TraceBuilder& builder_;
  TraceHandles& handles_;
  TraceInputs& inputs_;
  TraceViews& views_;
  CallRecorder& calls_;
  FunctionViews function_views_;
  Recorder::CustomFunction custom_function_;
  int count_ = 0;
  std::unordered_map<int, detail::Ref<TensorProxy>> values_of_history_;  // the values, by result id
};

}  // namespace fulgurite
