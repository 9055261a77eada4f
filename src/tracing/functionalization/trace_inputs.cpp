#include "tracing/functionalization/trace_inputs.h"

#include <algorithm>

#include "support/text/text.h"

namespace fulgurite {

Tensor TraceInputs::add(const TensorType& type, bool requires_grad, std::string name, SourceLocation at, bool is_leaf,
                        const Tensor& concrete) {
  if (name.empty()) name = text::cat("t_", inputs_.size());
  const auto proxy = builder_.make_proxy(type, requires_grad, std::move(name));
  Tensor handle = handles_.make(proxy, at);
  builder_.trace().args.emplace_back(proxy);
  inputs_.push_back({proxy, handle, is_leaf, false, concrete});
  return handle;
}

Tensor TraceInputs::capture(const Tensor& concrete, std::string name, bool requires_grad, const Shape& shape) {
  if (const Tensor* const known = handle_of(concrete)) return *known;
  if (name.empty()) name = concrete.name();
  const bool is_named = !name.empty();
  Tensor handle = add({shape, concrete.dtype(), concrete.device()}, requires_grad, std::move(name), {},
                      requires_grad && !is_proxy(concrete) && concrete.is_leaf(), concrete);
  captures_.push_back({concrete, handle.impl()->proxy, is_named});
  set_handle(concrete, handle);
  return handle;
}

void TraceInputs::clear() {
  captures_.clear();
  handle_of_.clear();
  inputs_.clear();
}

const TraceInput* TraceInputs::find(const TensorImpl& handle) const {
  const auto found =
      std::ranges::find_if(inputs_, [&](const TraceInput& input) { return input.handle.impl().get() == &handle; });
  return found == inputs_.end() ? nullptr : &*found;
}

const Tensor* TraceInputs::concrete_of(const Tensor& handle) const {
  const TraceInput* const input = find(*handle.impl());
  return input != nullptr && input->concrete.defined() ? &input->concrete : nullptr;
}

void TraceInputs::note_change_of_history(const TensorImpl& handle) {
  for (TraceInput& input : inputs_)
    if (input.handle.impl().get() == &handle) input.changes_history = true;
}

}  // namespace fulgurite
