#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "ops/core/rules.h"
#include "tracing/functionalization/call_recorder.h"
#include "tracing/functionalization/storage_view.h"
#include "tracing/functionalization/trace_inputs.h"

namespace fulgurite {

/// The views of a trace: which handle shows which other one's memory, with what geometry.
///
/// Invariants: a handle with a `base` is a view, and its `view` is the number of its call here; a handle whose strides
/// show that it is a copy loses its base. The strides of arguments decide only inside a StridesScope; in one that
/// observes them, the recording holds for tensors of the same strides.
class TraceViews {
 public:
  /// A view's call: its handle's `base` under a symbol with these arguments.
  struct View {
    const Symbol* symbol = nullptr;
    SharedVector<Value> args;
    int scope = 0;               // in which it was recorded
    bool shares_surely = false;  // whatever the strides
    bool has_gradients = true;   // created while gradients were on
  };
  enum class Sharing { shares, is_copy, unknown };
  /// Strides of the arguments: not to be used, those of this call, or the same, which are then noted.
  enum class InputStrides { unknown, known, observed };
  class StridesScope {
   public:
    StridesScope(TraceViews& views, InputStrides strides)
        : views_(views), outside_(std::exchange(views.input_strides_, strides)) {}
    ~StridesScope() { views_.input_strides_ = outside_; }
    StridesScope(const StridesScope&) = delete;
    StridesScope& operator=(const StridesScope&) = delete;

   private:
    TraceViews& views_;
    InputStrides outside_;
  };

  TraceViews(const TraceBuilder& builder, const TraceInputs& inputs, CallRecorder& calls)
      : builder_(builder), inputs_(inputs), calls_(calls) {}

  /// The handle at the end of a chain of views.
  static const TensorImpl& root_of(const TensorImpl& handle);

  /// Notes that an op, the last one of the innermost scope, gave a view.
  void note(const Tensor& view, const Tensor& viewed, const BoundSymbol&);
  /// The result of a composite that has been recorded: a view of one of its arguments, or a tensor of its own.
  void leave_scope(TensorImpl& result, const Symbol&, Arguments);
  void set_scope(const TensorImpl& view, int scope) { views_[view.view].scope = scope; }
  void clear();

  const View& of(const TensorImpl& view) const { return views_[view.view]; }
  /// Returns true if the view was recorded in a scope that is open.
  bool is_visible(const TensorImpl& view) const { return builder_.is_open(of(view).scope); }
  Sharing sharing(const TensorImpl& view);
  /// The same, where the strides of arguments decide: the entry then holds for those of this call.
  Sharing observed_sharing(const TensorImpl& view);
  /// A handle's strides, observed; refused if it may be a view or a copy.
  Sizes strides_of(const Tensor& handle);
  /// Returns true if it is a value with memory of its own, which is neither an argument nor a view.
  bool is_contiguous(const Tensor& handle) const { return !handle.impl()->base && !inputs_.find(*handle.impl()); }
  /// The ids of arguments whose strides the function read.
  const std::vector<int>& observed_strides() const { return observed_strides_; }
  /// The storage view of a value of this trace; the search ends at tensors for which `is_root` holds.
  template <class IsRoot>
  StorageView storage_view(const Tensor& value, IsRoot&& is_root) {
    StorageView found{value, {}, {}};
    while (!is_root(found.root) && step_to_viewed(found)) {
    }
    find_geometry(found);
    return found;
  }

  /// The view recorded again, of another handle.
  Tensor replay(const View&, const Tensor& viewed, SourceLocation);
  /// The view of another tensor, by the innermost interpreter.
  static Tensor recreate(const View&, const Tensor& viewed);
  /// The views between `viewed` and `view` of another tensor, by the innermost interpreter.
  Tensor recreate(const Tensor& view, const Tensor& viewed, const Tensor& other) const;
  /// A handle's value recorded again from what is visible in the scopes that are open.
  Tensor visible(const Tensor& handle, SourceLocation);
  /// The value of `viewed` with `source` in the elements that the view shows, by the rule of the view's symbol.
  static Tensor written_through(const View&, const Tensor& viewed, const Tensor& source, SourceLocation);

 private:
  /// From a view to its base; false if there is none.
  bool step_to_viewed(StorageView&);
  static void find_geometry(StorageView&);
  /// Sizes and strides, non-views taken as contiguous; false if they are not known.
  bool geometry(const TensorImpl&, ViewGeometry&);
  /// Those of a view by its symbol's rule; false if it is a copy, none if the viewed tensor's are not known.
  std::optional<bool> view_geometry(const TensorImpl& view, ViewGeometry&);
  Sizes observe_strides(const TraceInput&);

  const TraceBuilder& builder_;
  const TraceInputs& inputs_;
  CallRecorder& calls_;
  std::vector<View> views_;  // by TensorImpl::view
  InputStrides input_strides_ = InputStrides::unknown;
  std::vector<int> observed_strides_;
};

}  // namespace fulgurite
