#include "tracing/functionalization/trace_writes.h"

#include <algorithm>
#include <unordered_set>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/view_roots.h"
#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"
#include "tensor/overlap.h"
#include "tracing/grad_mode.h"

namespace fulgurite {

using Sharing = TraceViews::Sharing;

void TraceWrites::refresh_view(TensorImpl& view) {
  function_views_.check_is_current(view);
  if (!view.base) return;
  refresh_view(*view.base);
  if (view.base_history == view.base->history) return;
  switch (views_.observed_sharing(view)) {
    case Sharing::is_copy: view.base = {}; return;
    case Sharing::unknown:
      throw RuleError{text::cat(
          view.proxy->name, ", which ", views_.of(view).symbol->name(),
          "() made of an argument of the traced function, is read after that was written in place; it is a view or a "
          "copy, by the argument's strides: use view() for a view, clone() for a copy")};
    case Sharing::shares: break;
  }
  const SourceLocation at = builder_.location().value_or(SourceLocation{});
  view.proxy = views_.replay(views_.of(view), Tensor(view.base), at).impl()->proxy;
  view.base_history = view.base->history;
  ++view.history;
}

detail::Ref<TensorProxy> TraceWrites::value_of(const Tensor& handle) { return calls_.value_of(handle).tensor_ref(); }

// A tensor that is written while gradients are off keeps its history: its gradient is that of the old value.
detail::Ref<TensorProxy> TraceWrites::value_without_gradients(const Tensor& source, const TensorImpl& written,
                                                              SourceLocation at) {
  const detail::Ref<TensorProxy> value = value_of(source);
  if (!written.proxy->requires_grad) return value->requires_grad ? detach(source, at).impl()->proxy : value;
  const GradMode with_gradients(true);
  const Tensor result = prims::with_history(source, handles_.make(written.proxy, {}), at);
  const detail::Ref<TensorProxy>& proxy = result.impl()->proxy;
  values_of_history_.emplace(proxy->id, value);
  return proxy;
}

void TraceWrites::check_leaf_is_not_written(const TensorImpl& handle, SourceLocation at) const {
  if (!grad_enabled()) return;
  for (const TraceInput& input : inputs_.all()) {
    if (!input.is_leaf || !input.original->requires_grad) continue;
    const TensorImpl* viewed = &handle;
    bool is_detached = false;
    while (viewed != input.handle.impl().get() && viewed->base) {
      is_detached = is_detached || views_.of(*viewed).symbol->traits.not_differentiable;
      viewed = viewed->base.get();
    }
    if (is_detached || viewed != input.handle.impl().get()) continue;
    const char* const what = viewed == &handle ? "a leaf tensor" : "a view of a leaf tensor";
    throw UserError(text::cat(what, " that requires grad is written in place: ", input.original->name, ", ",
                              type_text(input.handle), "; wrap it in NoGrad, or write into a copy"),
                    at);
  }
}

// A custom function is one op, which exposes its results only.
void TraceWrites::check_write_of_custom_function(const TensorImpl& written, SourceLocation at) const {
  const TensorImpl& root = TraceViews::root_of(written);
  if (root.proxy->id >= custom_function_.first_id && !inputs_.find(root)) return;
  throw UserError(
      text::cat(
          custom_function_.name, " writes into ", written.proxy->name, ", ", written.proxy->type_text(),
          ", which is none of its arguments; inside a traced function pass it as an argument, mark_dirty() it and "
          "return it"),
      at);
}

bool TraceWrites::write_slice(const Tensor& source, const Tensor& written, SourceLocation at) {
  bool needs_slice = false, is_detached = false;
  for (const TensorImpl* impl = written.impl().get(); impl->base; impl = impl->base.get()) {
    const Shape &shape = impl->proxy->shape, &viewed = impl->base->proxy->shape;
    if (shape.is_symbolic() || viewed.is_symbolic()) return false;
    const Symbol& symbol = *views_.of(*impl).symbol;
    needs_slice = needs_slice || !symbol.write || shape.numel().hint() > viewed.numel().hint();
    is_detached = is_detached || symbol.traits.not_differentiable;
  }
  if (!needs_slice) return false;
  const StorageView region = views_.storage_view(written, [](const Tensor&) { return false; });
  if (!region.geometry || may_overlap_itself(region.geometry->sizes, region.geometry->strides)) return false;
  const GradMode mode(grad_enabled() && !is_detached);
  write_region(source, region, at);
  return true;
}

void TraceWrites::write_region(const Tensor& source, const StorageView& region, SourceLocation at) {
  Dims sizes, strides;
  for (const int64_t size : region.geometry->sizes) sizes.push_back(size);
  for (const int64_t stride : region.geometry->strides) strides.push_back(stride);
  const Tensor root = views_.visible(region.root, at);
  const Argument arguments[] = {Argument(root), Argument(static_cast<const Shape&>(sizes)),
                                Argument(static_cast<const Shape&>(strides)), Argument(Int(region.geometry->offset))};
  const Tensor whole = prims_as_strided_symbol.write({arguments, std::size(arguments)}, source, at);
  write(whole, region.root, at);  // views of it are recorded again when they are next read
}

// An argument's memory, which the caller may overwrite before a backward: a gradient needs what was copied from it.
bool TraceWrites::may_be_overwritten(const Tensor& source) const {
  const auto requires_grad = [](const TraceInput& input) { return input.original->requires_grad; };
  if (!grad_enabled() || std::ranges::none_of(inputs_.all(), requires_grad)) return false;
  const TensorImpl& root = TraceViews::root_of(*source.impl());
  const TraceInput* const input = inputs_.find(root);
  return input && input->original == root.proxy;
}

void TraceWrites::write(const Tensor& source, const Tensor& destination, SourceLocation at) {
  TensorImpl& written = *destination.impl();
  if (source.dtype() != destination.dtype() || !(source.shape() == destination.shape()))
    throw RuleError{text::cat("the new value is ", type_text(source), ", the tensor ", type_text(destination))};
  check_leaf_is_not_written(written, at);
  function_views_.check_is_not_written(destination);
  if (!custom_function_.name.empty()) check_write_of_custom_function(written, at);
  ++count_;
  if (written.base) {
    switch (views_.observed_sharing(written)) {
      case Sharing::is_copy: written.base = {}; break;
      case Sharing::unknown:
        throw RuleError{text::cat(
            "the tensor that is written in place was made by ", views_.of(written).symbol->name(),
            "() of an argument of the traced function; it is a view or a copy, by the argument's strides: use view() "
            "for a view, clone() for a copy")};
      case Sharing::shares:
        if (write_slice(source, destination, at)) return;
        write_viewed(source, written, at);
    }
  }
  assign(source, written, at);
}

void TraceWrites::write_viewed(const Tensor& source, TensorImpl& written, SourceLocation at) {
  const TraceViews::View view = views_.of(written);
  if (!view.symbol->write)
    throw RuleError{text::cat("writes through ", view.symbol->name(),
                              "() inside a traced function are not supported; write the whole tensor, or build "
                              "the new value with where, cat or pad")};
  const Tensor viewed(written.base);
  // The gradient does not see what is written through detach().
  const GradMode mode(grad_enabled() && !view.symbol->traits.not_differentiable);
  const Tensor operand = views_.visible(viewed, at);
  const Tensor whole = TraceViews::written_through(view, operand, source, at);
  write(whole, viewed, at);
  written.base_history = viewed.impl()->history;
}

void TraceWrites::assign(const Tensor& source, TensorImpl& written, SourceLocation at) {
  const Tensor given = may_be_overwritten(source) ? clone(source, at) : source;
  const detail::Ref<TensorProxy> value = grad_enabled() ? value_of(given) : value_without_gradients(given, written, at);
  if (grad_enabled() && (value->requires_grad || written.proxy->requires_grad)) inputs_.note_change_of_history(written);
  // Values never change, so two handles may share one.
  written.proxy = value;
  ++written.history;
}

std::vector<std::pair<int, int>> TraceWrites::add_written(std::vector<Value>& results) const {
  std::vector<std::pair<int, int>> written;
  for (size_t i = 0; i < inputs_.all().size(); ++i) {
    const TraceInput& input = inputs_.all()[i];
    if (!input.changes_history) continue;
    written.emplace_back(static_cast<int>(i), static_cast<int>(results.size()));
    results.emplace_back(input.handle.impl()->proxy);
  }
  return written;
}

detail::Ref<TensorProxy> TraceWrites::clone_of(const detail::Ref<TensorProxy>& value) {
  auto copy = builder_.make_proxy_like(*value, value->requires_grad);
  builder_.bind(clone_symbol, {Value(value)}, {Value(copy)});
  return copy;
}

// Memory stores plain values, without histories.
detail::Ref<TensorProxy> TraceWrites::without_history(detail::Ref<TensorProxy> value) const {
  for (auto found = values_of_history_.find(value->id); found != values_of_history_.end();
       found = values_of_history_.find(value->id))
    value = found->second;
  return value;
}

void TraceWrites::append_copies(std::vector<Value>& results) {
  std::vector<std::pair<detail::Ref<TensorProxy>, detail::Ref<TensorProxy>>> copies;
  std::unordered_set<int> overwritten;
  for (const TraceInput& input : inputs_.all()) {
    const detail::Ref<TensorProxy>& latest = input.handle.impl()->proxy;
    if (latest == input.original) continue;
    copies.emplace_back(without_history(latest), input.original);
    overwritten.insert(input.original->id);
  }
  if (copies.empty()) return;
  const std::vector<int> roots = view_roots(builder_.ops(), builder_.trace().next_id);
  for (auto& [latest, original] : copies)
    if (overwritten.contains(roots[latest->id])) latest = clone_of(latest);
  for (Value& result : results)
    if (result.is_tensor() && overwritten.contains(roots[result.proxy_id()]))
      result = Value(clone_of(result.tensor_ref()));
  for (const auto& [latest, original] : copies) {
    const auto written = builder_.make_proxy_like(*original, false);
    builder_.bind(prims_copy__symbol, {Value(latest), Value(original)}, {Value(written)});
  }
}

Trace TraceWrites::take_trace(std::vector<Value> results) {
  {
    const TraceBuilder::Unmarked unmarked(builder_);
    append_copies(results);
  }
  return builder_.take(std::move(results));
}

}  // namespace fulgurite
