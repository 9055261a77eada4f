#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracing/trace_handles.h"
#include "tracing/trace_builder.h"

namespace fulgurite {

/// An argument of a trace.
struct TraceInput {
  detail::Ref<TensorProxy> original;
  Tensor handle;  // has the latest value
  bool is_leaf = false;
  bool changes_history = false;  // written while gradients are on, by or into a tensor that requires one
  Tensor concrete = {};          // the tensor that it represents, if known
};

/// The arguments of a trace, and the concrete tensors that they represent.
///
/// Invariants: an argument has one handle, whose value writes replace; a concrete tensor has one handle, that of the
/// argument that it became ("captured") or of a view of one.
class TraceInputs {
 public:
  struct Capture {
    Tensor concrete;
    detail::Ref<TensorProxy> proxy;
    bool is_named = false;
  };

  TraceInputs(TraceBuilder& builder, TraceHandles& handles) : builder_(builder), handles_(handles) {}

  /// A new argument; see Tracer::add_argument.
  Tensor add(const TensorType&, bool requires_grad, std::string name, SourceLocation at = {}, bool is_leaf = false,
             const Tensor& concrete = {});
  /// The handle of a concrete tensor, which becomes an argument of this shape unless it has one. Without a name, that
  /// of the tensor.
  Tensor capture(const Tensor& concrete, std::string name, bool requires_grad, const Shape& shape);
  Tensor capture(const Tensor& concrete, std::string name) {
    return capture(concrete, std::move(name), concrete.requires_grad(), concrete.shape());
  }
  /// Gives a concrete tensor that has no handle one.
  void set_handle(const Tensor& concrete, const Tensor& handle) { handle_of_.emplace(concrete.impl().get(), handle); }
  /// The handle of a concrete tensor; null if it has none.
  const Tensor* handle_of(const Tensor& concrete) const {
    const auto found = handle_of_.find(concrete.impl().get());
    return found == handle_of_.end() ? nullptr : &found->second;
  }
  /// Forgets all of them: another trace begins.
  void clear();

  /// Concrete tensors that became arguments, in the order of the trace's args.
  const std::vector<Capture>& captures() const { return captures_; }
  const std::vector<TraceInput>& all() const { return inputs_; }
  /// The argument of this handle; null for other handles.
  const TraceInput* find(const TensorImpl& handle) const;
  /// The tensor that an argument's handle represents, if known; null for other handles.
  const Tensor* concrete_of(const Tensor& handle) const;
  /// Notes that a write changed the autograd history of an argument; other handles are ignored.
  void note_change_of_history(const TensorImpl& handle);

  /// Notes that the function reached a concrete tensor other than by its arguments.
  void note_reached(const Tensor& concrete) { reached_.insert(concrete.impl().get()); }
  /// Returns true if the function captured a tensor that is also an argument, without using the argument.
  bool was_reached(const Tensor& concrete) const { return reached_.contains(concrete.impl().get()); }

 private:
  TraceBuilder& builder_;
  TraceHandles& handles_;
  std::vector<Capture> captures_;
  std::unordered_map<const TensorImpl*, Tensor> handle_of_;
  std::vector<TraceInput> inputs_;
  std::unordered_set<const TensorImpl*> reached_;
};

}  // namespace fulgurite
