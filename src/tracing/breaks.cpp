#include "tracing/breaks.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "ops/core/dispatch.h"
#include "ops/tensor/indexed_elements.h"
#include "tracing/functionalization/own_memory.h"
#include "tracing/grad_mode.h"

namespace fulgurite {

using Sharing = TraceViews::Sharing;

namespace {

constexpr std::string_view instead_of_elements =
    "return the tensor and ask outside, or use where() instead of a branch";

/// Materializes a traced handle: takes over `tensor`'s storage, which is uniquely owned, and its autograd history.
void materialize(TensorImpl& handle, const Tensor& tensor) {
  TensorImpl& from = *tensor.impl();
  handle.proxy = {};
  handle.tracer = 0;
  handle.view = -1;
  handle.autograd = std::move(from.autograd);
  handle.requires_grad = from.requires_grad;
  handle.storage = from.storage;
  handle.sizes = from.sizes;
  handle.strides = from.strides;
  handle.offset = from.offset;
  handle.dtype = from.dtype;
  handle.device = from.device;
  handle.is_contiguous = from.is_contiguous;
  handle.of_custom_function = from.of_custom_function;
  handle.base = from.base;
  handle.base_history = from.base_history;
  handle.history = from.history;
}

}  // namespace

void GraphBreaks::set_runner(SubgraphRunner* runner) {
  runner_ = runner;
  handles_.list_living();
}

void GraphBreaks::break_here(const std::string& what, SourceLocation at) {
  break_for(what, false, instead_of_elements, at);
}

void GraphBreaks::leave_for_backward(const Tensor& tensor, const char* what, SourceLocation at) {
  break_for(text::cat(what, " needs the value of ", type_text(tensor)), true, instead_of_elements, at);
}

void GraphBreaks::act(const char* what, SourceLocation at) {
  break_for(what, false, "call it outside of the function", at);
}

void GraphBreaks::demand_value(const Tensor& tensor, const char* what, SourceLocation at) {
  break_here(text::cat(what, " needs the value of ", type_text(tensor)), at);
}

std::optional<std::string> GraphBreaks::obstacle(bool is_backward) const {
  const std::string& custom_function = writes_.custom_function().name;
  if (!custom_function.empty()) return text::cat("inside ", custom_function);
  if (!runner_) return std::string(no_breaks_);
  if (builder_.tags().has(Tag::recompute_in_backward)) return "inside checkpoint()";
  if (breaks_for_backward_only_ && !is_backward) return std::string(no_breaks_);
  return std::nullopt;
}

void GraphBreaks::break_for(const std::string& what, bool is_backward, std::string_view instead, SourceLocation at) {
  const SourceLocation location = builder_.location().value_or(at);
  if (const std::optional<std::string> where = obstacle(is_backward))
    throw UserError(
        text::cat(what, " inside a traced function: a graph break, which cannot be made ", *where, "; ", instead),
        location);
  IndexedElements::forget();  // else its tensors would be held by more than the function
  runner_->note_break(what, location);
  end_subgraph();
}

void GraphBreaks::end_subgraph() {
  ++count_;
  try {
    run_subgraph();
  } catch (...) {
    begin_subgraph();
    throw;
  }
  begin_subgraph();
}

void GraphBreaks::begin_subgraph() {
  builder_.begin_trace();
  inputs_.clear();
  views_.clear();
  writes_.clear();
  handles_.begin_trace();
}

// A copy that a composite made inside, of which its result is a view, is not a value of the trace: the result is one.
std::vector<Tensor> GraphBreaks::without_hidden_copies(const std::vector<Tensor>& held) {
  const auto is_hidden = [&](const TensorImpl& impl) {
    return impl.base && !views_.is_visible(impl) && views_.sharing(impl) == Sharing::is_copy;
  };
  const auto views_hidden = [&](const TensorImpl& impl) {
    const TensorImpl* base = impl.base.get();
    while (base != nullptr && base->base && !views_.is_visible(*base) && !is_hidden(*base)) base = base->base.get();
    return base != nullptr && is_hidden(*base);
  };
  std::vector<bool> leaves(held.size());
  for (size_t i = 0; i < held.size(); ++i) leaves[i] = is_hidden(*held[i].impl()) || views_hidden(*held[i].impl());
  std::vector<Tensor> rest;
  for (size_t i = 0; i < held.size(); ++i) {
    TensorImpl& impl = *held[i].impl();
    if (leaves[i] && !views_.is_visible(impl)) continue;
    if (leaves[i]) impl.base = {};
    rest.push_back(held[i]);
  }
  return rest;
}

// Held tensors that are values of their own; views of them are recreated afterwards.
std::vector<Tensor> GraphBreaks::find_kept(std::vector<Tensor>& held) {
  const TraceViews::StridesScope known(views_, TraceViews::InputStrides::known);
  held = without_hidden_copies(held);
  std::vector<Tensor> kept;
  for (const Tensor& handle : held) {
    TensorImpl& impl = *handle.impl();
    if (impl.base && views_.sharing(impl) == Sharing::is_copy) impl.base = {};
    if (!impl.base && !inputs_.find(impl)) kept.push_back(handle);
  }
  return kept;
}

Subgraph GraphBreaks::finish_subgraph(const std::vector<Tensor>& kept) {
  Subgraph subgraph;
  builder_.merge_scopes();
  for (const TraceInputs::Capture& capture : inputs_.captures())
    subgraph.inputs.push_back({capture.concrete, capture.proxy, capture.is_named});
  OwnMemory memory(builder_);
  std::vector<Value> results;
  for (const Tensor& handle : kept) {
    const Value value = calls_.value_of(handle);
    results.push_back(memory.of(value, handle, handle));
  }
  subgraph.kept = static_cast<int>(results.size());
  subgraph.written = writes_.add_written(results);
  subgraph.trace = writes_.take_trace(std::move(results));
  return subgraph;
}

void GraphBreaks::run_subgraph() {
  std::vector<Tensor> held = handles_.living();
  const std::vector<Tensor> kept = find_kept(held);
  Subgraph subgraph = finish_subgraph(kept);
  const bool does_something = subgraph.trace.bound_symbols.size() > 1;
  const InterpreterScope eager(nullptr);
  std::vector<Tensor> results;
  if (does_something || !kept.empty()) results = runner_->run(std::move(subgraph));
  materialize_inputs();
  for (size_t i = 0; i < kept.size(); ++i) materialize(*kept[i].impl(), results[i]);
  writes_.function_views().leave([&](const Tensor& handle) { return concrete_of(handle); });
  for (const Tensor& handle : held)
    if (handle.impl()->proxy && handle.impl()->base) materialize_view(handle);
}

void GraphBreaks::materialize_inputs() {
  for (size_t i = 0; i < inputs_.all().size(); ++i) {
    const TraceInput& input = inputs_.all()[i];
    const Tensor& concrete = inputs_.captures()[i].concrete;
    constexpr int own_handles = 3;  // among the held ones, and twice in inputs_
    if (input.handle.impl()->owners <= own_handles) continue;
    materialize(*input.handle.impl(), runner_->alias_of(concrete));
    concrete_tensors_.insert_or_assign(input.handle.impl().get(),
                                       ConcreteTensor{input.handle, concrete, input.original->name});
  }
}

void GraphBreaks::materialize_view(const Tensor& handle) {
  TensorImpl& impl = *handle.impl();
  const TraceViews::View& view = views_.of(impl);
  const Tensor base = concrete_of(Tensor(impl.base));
  const GradMode mode(grad_enabled() && view.has_gradients);
  materialize(impl, TraceViews::recreate(view, base));
  replayed_views_.insert_or_assign(&impl, ReplayedView{handle, base, view});
}

Tensor GraphBreaks::concrete_of(const Tensor& tensor) const {
  const auto found = concrete_tensors_.find(tensor.impl().get());
  return found == concrete_tensors_.end() ? tensor : found->second.concrete;
}

Tensor GraphBreaks::capture(const Tensor& concrete, SourceLocation at) {
  if (const auto found = concrete_tensors_.find(concrete.impl().get()); found != concrete_tensors_.end())
    return inputs_.capture(found->second.concrete, found->second.name);
  const auto found = replayed_views_.find(concrete.impl().get());
  if (found == replayed_views_.end()) return inputs_.capture(concrete, {});
  const ReplayedView made = found->second;
  const Tensor viewed = calls_.current(made.base, at);
  Tensor handle = replay_outermost(made.view, viewed, at);
  inputs_.set_handle(concrete, handle);
  return handle;
}

// A view of a tensor of an earlier subgraph is one in this subgraph too. It is recorded where every scope sees it.
Tensor GraphBreaks::replay_outermost(const TraceViews::View& view, const Tensor& viewed, SourceLocation at) {
  const TraceBuilder::InOutermostScope outermost(builder_);
  Tensor handle = views_.replay(view, viewed, at);
  views_.set_scope(*handle.impl(), builder_.outermost_scope());
  return handle;
}

}  // namespace fulgurite
