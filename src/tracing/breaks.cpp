// Breaks: if the elements of a recording's tensors are read, the recording so far is run, its handles are materialized,
// and it continues with another trace.
#include "tracing/breaks.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/tensor/indexed_elements.h"
#include "tracing/grad_mode.h"
#include "tracing/own_memory.h"
#include "tracing/tracer.h"

namespace fulgurite {

/// Occupies the autograd metadata of a tensor without memory: it is removed when the handle is destroyed or
/// materialized.
class HeldHandles::Membership final : public AutogradMeta {
 public:
  Membership(std::shared_ptr<HeldHandles> handles, uint64_t number) : handles_(std::move(handles)), number_(number) {}
  ~Membership() override {
    const std::lock_guard lock(handles_->mutex_);
    handles_->handles_.erase(number_);
  }

 private:
  std::shared_ptr<HeldHandles> handles_;
  uint64_t number_;
};

void HeldHandles::add(const std::shared_ptr<HeldHandles>& handles, TensorImpl& impl) {
  const std::lock_guard lock(handles->mutex_);
  const uint64_t number = handles->next_++;
  handles->handles_.emplace(number, &impl);
  impl.autograd = std::make_unique<Membership>(handles, number);
}

std::vector<Tensor> HeldHandles::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Tensor> handles;
  for (const auto& [number, impl] : handles_) handles.emplace_back(TensorImplRef(impl));
  return handles;
}

namespace {

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

// A copy that a composite made inside, of which its result is a view, is not a value of the trace: the result is one.
void Tracer::leave_hidden_copies(std::vector<Tensor>& held) {
  const auto is_visible = [&](const TensorImpl& impl) { return builder_.is_open(views_[impl.view].scope); };
  const auto is_hidden = [&](const TensorImpl& impl) {
    return impl.base && !is_visible(impl) && sharing(impl) == Sharing::is_copy;
  };
  const auto views_hidden = [&](const TensorImpl& impl) {
    const TensorImpl* base = impl.base.get();
    while (base != nullptr && base->base && !is_visible(*base) && !is_hidden(*base)) base = base->base.get();
    return base != nullptr && is_hidden(*base);
  };
  std::vector<bool> leaves(held.size());
  for (size_t i = 0; i < held.size(); ++i) leaves[i] = is_hidden(*held[i].impl()) || views_hidden(*held[i].impl());
  std::vector<Tensor> rest;
  for (size_t i = 0; i < held.size(); ++i) {
    TensorImpl& impl = *held[i].impl();
    if (leaves[i] && !is_visible(impl)) continue;
    if (leaves[i]) impl.base = {};
    rest.push_back(held[i]);
  }
  held = std::move(rest);
}

// Held tensors that are values of their own; views of them are recreated afterwards.
std::vector<Tensor> Tracer::find_kept(std::vector<Tensor>& held) {
  knows_strides_ = true;
  leave_hidden_copies(held);
  std::vector<Tensor> kept;
  for (const Tensor& handle : held) {
    TensorImpl& impl = *handle.impl();
    if (impl.base && sharing(impl) == Sharing::is_copy) impl.base = {};
    const auto is_this = [&](const WrittenInput& input) { return input.handle.is_same(handle); };
    if (!impl.base && std::ranges::none_of(inputs_, is_this)) kept.push_back(handle);
  }
  knows_strides_ = false;
  return kept;
}

void Tracer::set_runner(SubgraphRunner* runner) {
  runner_ = runner;
  held_ = std::make_shared<HeldHandles>();
}

Tensor Tracer::concrete_of(const Tensor& tensor) const {
  const auto found = stands_for_.find(tensor.impl().get());
  return found == stands_for_.end() ? tensor : found->second.concrete;
}

Subgraph Tracer::finish_subgraph(const std::vector<Tensor>& kept) {
  Subgraph subgraph;
  builder_.merge_scopes();
  for (const Capture& capture : captures_)
    subgraph.inputs.push_back({capture.concrete, capture.proxy, capture.is_named});

  OwnMemory memory(*this);
  std::vector<Value> results;
  for (const Tensor& handle : kept) results.push_back(memory.of(handle, handle));
  subgraph.kept = static_cast<int>(results.size());
  subgraph.written = add_written(results);
  subgraph.trace = take_trace(std::move(results));
  return subgraph;
}

void Tracer::begin_subgraph() {
  builder_.begin_trace();
  captures_.clear();
  current_.clear();
  inputs_.clear();
  views_.clear();
  values_of_history_.clear();
  observed_strides_.clear();
  serial_ = next_tracer_serial();
}

namespace {
constexpr std::string_view instead_of_elements =
    "return the tensor and ask outside, or use where() instead of a branch";
}

void Tracer::break_here(const std::string& what, SourceLocation at) { break_for(what, false, instead_of_elements, at); }

void Tracer::leave_for_backward(const Tensor& tensor, const char* what, SourceLocation at) {
  break_for(text::cat(what, " needs the value of ", type_text(tensor)), true, instead_of_elements, at);
}

void Tracer::act(const char* what, SourceLocation at) { break_for(what, false, "call it outside of the function", at); }

void Tracer::break_for(const std::string& what, bool is_backward, std::string_view instead, SourceLocation at) {
  const bool is_inside_custom = !custom_function_.name.empty(),
             is_inside_checkpoint = tags().has(Tag::recompute_in_backward);
  if (!runner_ || is_inside_checkpoint || is_inside_custom || (breaks_for_backward_only_ && !is_backward)) {
    const std::string where = is_inside_custom                  ? text::cat("inside ", custom_function_.name)
                              : is_inside_checkpoint && runner_ ? std::string("inside checkpoint()")
                                                                : std::string(no_breaks_);
    throw UserError(
        text::cat(what, " inside a traced function: a graph break, which cannot be made ", where, "; ", instead),
        builder_.location().value_or(at));
  }
  IndexedElements::forget();  // else its tensors would be held by more than the function
  runner_->note_break(what, builder_.location().value_or(at));
  end_subgraph();
}

void Tracer::demand_value(const Tensor& tensor, const char* what, SourceLocation at) {
  break_here(text::cat(what, " needs the value of ", type_text(tensor)), at);
}

void Tracer::end_subgraph() {
  ++breaks_;
  try {
    run_subgraph();
  } catch (...) {
    begin_subgraph();
    throw;
  }
  begin_subgraph();
}

void Tracer::run_subgraph() {
  std::vector<Tensor> held = held_->all();
  const std::vector<Tensor> kept = find_kept(held);
  const std::vector<WrittenInput> inputs = inputs_;
  const std::vector<View> views = views_;
  Subgraph subgraph = finish_subgraph(kept);
  const std::vector<Subgraph::Input> concretes = subgraph.inputs;
  std::vector<Tensor> results;
  const bool does_something = subgraph.trace.bound_symbols.size() > 1;
  {
    const InterpreterScope eager(nullptr);
    if (does_something || !kept.empty()) results = runner_->run(std::move(subgraph));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& handle = inputs[i].handle;
      constexpr int own_handles = 4;  // here three times, and in current_
      if (handle.impl()->owners <= own_handles) continue;
      materialize(*handle.impl(), runner_->alias_of(concretes[i].concrete));
      stands_for_.insert_or_assign(handle.impl().get(),
                                   StandsFor{handle, concretes[i].concrete, inputs[i].original->name});
    }
    for (size_t i = 0; i < kept.size(); ++i) materialize(*kept[i].impl(), results[i]);
    leave_function_views();
    for (const Tensor& handle : held) {
      TensorImpl& impl = *handle.impl();
      if (!impl.proxy || !impl.base) continue;
      const View& view = views[impl.view];
      Tensor base(impl.base);
      if (const auto found = stands_for_.find(base.impl().get()); found != stands_for_.end())
        base = found->second.concrete;
      const GradMode mode(grad_enabled() && view.has_gradients);
      materialize(impl, replayed_view(view, base));
      replayed_views_.insert_or_assign(&impl, ReplayedView{handle, base, view});
    }
  }
}

Tensor Tracer::captured(const Tensor& concrete, SourceLocation at) {
  if (const auto found = stands_for_.find(concrete.impl().get()); found != stands_for_.end()) {
    const StandsFor stands_for = found->second;
    if (const auto known = current_.find(stands_for.concrete.impl().get()); known != current_.end())
      return known->second;
    return capture(stands_for.concrete, stands_for.name, stands_for.concrete.requires_grad(),
                   stands_for.concrete.shape());
  }
  const auto found = replayed_views_.find(concrete.impl().get());
  if (found == replayed_views_.end()) return capture(concrete, {}, concrete.requires_grad(), concrete.shape());
  // A view of a tensor of an earlier subgraph is one in this subgraph too. It is recorded where every scope sees it.
  const ReplayedView made = found->second;
  const Tensor viewed = current(made.base, at);
  Tensor handle;
  {
    const TraceBuilder::InOutermostScope outermost(builder_);
    handle = replay(made.view, viewed, at);
  }
  views_[handle.impl()->view].scope = builder_.outermost_scope();
  current_.emplace(concrete.impl().get(), handle);
  return handle;
}

}  // namespace fulgurite
