// Views, and in-place writes through them, in a trace where every value is assigned once: a write creates new values of
// the viewed tensor, and views of it are recorded again when they are next read.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ir/analysis/view_roots.h"
#include "ops/generated/symbols.h"
#include "tensor/meta_tensor.h"
#include "tensor/overlap.h"
#include "tracing/argument_pack.h"
#include "tracing/grad_mode.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

/// A view's call, applied to `viewed` instead of its original operand.
class ViewCall final : public ArgumentPack::Resolver {
 public:
  ViewCall(const Symbol& symbol, const SharedVector<Value>& args, Tensor viewed) : viewed_(std::move(viewed)) {
    bound_.symbol = &symbol;
    bound_.args = args;
    pack_.emplace(bound_, *this);
  }
  Arguments arguments() const { return pack_->arguments(); }
  Tensor tensor(const detail::Ref<TensorProxy>&) override { return viewed_; }

 private:
  BoundSymbol bound_;
  Tensor viewed_;
  std::optional<ArgumentPack> pack_;
};

Tensor without_memory(const ViewGeometry& geometry, Dtype dtype) {
  return meta_tensor(geometry.sizes, geometry.strides, geometry.offset, dtype);
}

}  // namespace

void Tracer::note_view(const Tensor& view, const Tensor& viewed, const BoundSymbol& bound) {
  TensorImpl& impl = *view.impl();
  impl.base = viewed.impl();
  impl.base_history = viewed.impl()->history;
  impl.view = static_cast<int>(views_.size());
  views_.push_back({bound.symbol, bound.args, builder_.scope(), false, grad_enabled()});
}

void Tracer::leave_scope(TensorImpl& result, const Symbol& symbol, Arguments arguments) {
  if (!result.base) return;
  const auto root_of = [](const TensorImpl* impl) {
    while (impl->base) impl = impl->base.get();
    return impl;
  };
  const TensorImpl* const root = root_of(&result);
  bool views_argument = false;
  for (const Argument& argument : arguments)
    views_argument = views_argument || (argument.is_tensor() && root_of(argument.tensor().impl().get()) == root);
  if (!views_argument) {
    result.base = {};
    return;
  }
  View& view = views_[result.view];
  view.scope = builder_.scope();
  view.shares_surely = view.shares_surely || symbol.semantics.never_copies;
}

bool Tracer::geometry(const TensorImpl& handle, ViewGeometry& out) {
  const TensorProxy& proxy = *handle.proxy;
  if (proxy.shape.is_symbolic() && !strides_observed_) return false;
  ViewGeometry viewed;
  if (handle.base) {
    if (!geometry(*handle.base, viewed)) return false;
    const View& view = views_[handle.view];
    const ViewCall call(*view.symbol, view.args, without_memory(viewed, proxy.dtype));
    if (view.symbol->view(call.arguments(), out)) return true;
    out = ViewGeometry();
  } else {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].handle.impl().get() != &handle) continue;
      if (!inputs_[i].concrete.defined() || !(knows_strides_ || strides_observed_)) return false;
      // Strides are a matter of sizes: those that are symbols are fixed.
      for (const Int size : proxy.shape) out.sizes.push_back(static_cast<int64_t>(size));
      if (strides_observed_) observe_strides(i, out);
      else out.strides = inputs_[i].concrete.impl()->strides;
      return true;
    }
  }
  for (const Int size : proxy.shape) out.sizes.push_back(static_cast<int64_t>(size));
  out.strides = contiguous_strides(out.sizes);
  return true;
}

Tracer::Sharing Tracer::sharing(const TensorImpl& handle) {
  const View& view = views_[handle.view];
  if (view.shares_surely || !view.symbol->semantics.may_copy) return Sharing::shares;
  ViewGeometry viewed, out;
  if (!geometry(*handle.base, viewed)) return Sharing::unknown;
  const ViewCall call(*view.symbol, view.args, without_memory(viewed, handle.proxy->dtype));
  return view.symbol->view(call.arguments(), out) ? Sharing::shares : Sharing::is_copy;
}

Tracer::Sharing Tracer::observed_sharing(const TensorImpl& handle) {
  if (const Sharing found = sharing(handle); found != Sharing::unknown) return found;
  const ObservedStrides observed(*this);
  return sharing(handle);
}

const Tensor* Tracer::concrete_of_input(const Tensor& handle) const {
  for (const WrittenInput& input : inputs_)
    if (input.handle.is_same(handle)) return input.concrete.defined() ? &input.concrete : nullptr;
  return nullptr;
}

bool Tracer::step_to_viewed(StorageView& place) {
  TensorImpl& impl = *place.root.impl();
  if (!impl.base) return false;
  const Sharing shares = sharing(impl);
  if (shares == Sharing::is_copy) {
    impl.base = {};
    return false;
  }
  const View& view = views_[impl.view];
  // A view that reads another tensor cannot be recreated of the viewed one alone.
  for (size_t i = 1; i < view.args.size(); ++i)
    if (view.args[i].is_tensor()) return false;
  place.views.insert(place.views.begin(),
                     {view.symbol, view.args, view.has_gradients, shares == Sharing::unknown, place.root});
  place.root = Tensor(impl.base);
  return true;
}

void Tracer::find_geometry(StorageView& place) {
  const TensorProxy& root = *place.root.impl()->proxy;
  if (root.shape.is_symbolic()) return;
  ViewGeometry found;
  for (const Int size : root.shape) found.sizes.push_back(size.hint());
  found.strides = contiguous_strides(found.sizes);
  for (const RecordedView& view : place.views) {
    bool has_symbols = false;
    for (size_t i = 1; i < view.args.size(); ++i) for_each_proxy(view.args[i], [&](int) { has_symbols = true; });
    if (has_symbols) return;
    const ViewCall call(*view.symbol, view.args, without_memory(found, root.dtype));
    ViewGeometry next;
    if (!view.symbol->view(call.arguments(), next)) return;
    found = std::move(next);
  }
  place.geometry = std::move(found);
}

Tensor Tracer::replay(const View& view, const Tensor& viewed, SourceLocation at) {
  const View made = view;  // recording adds views
  const GradMode mode(made.has_gradients);
  const ViewCall call(*made.symbol, made.args, viewed);
  Results results;
  record_primitive(*made.symbol, call.arguments(), at, results);
  return results[0];
}

Tensor Tracer::replayed_view(const View& view, const Tensor& viewed) {
  const ViewCall call(*view.symbol, view.args, viewed);
  return dispatch(*view.symbol, call.arguments(), {});
}

Tensor Tracer::view_again(const Tensor& view, const Tensor& viewed, const Tensor& other) const {
  if (view.is_same(viewed)) return other;
  const TensorImpl& impl = *view.impl();
  return replayed_view(views_[impl.view], view_again(Tensor(impl.base), viewed, other));
}

void Tracer::refresh(TensorImpl& view) {
  check_function_view_is_current(view);
  if (!view.base) return;
  refresh(*view.base);
  if (view.base_history == view.base->history) return;
  switch (observed_sharing(view)) {
    case Sharing::is_copy: view.base = {}; return;
    case Sharing::unknown:
      throw RuleError{text::cat(
          view.proxy->name, ", which ", views_[view.view].symbol->name(),
          "() made of an argument of the traced function, is read after that was written in place; it is a view or a "
          "copy, by the argument's strides: use view() for a view, clone() for a copy")};
    case Sharing::shares: break;
  }
  view.proxy =
      replay(views_[view.view], Tensor(view.base), builder_.location().value_or(SourceLocation{})).impl()->proxy;
  view.base_history = view.base->history;
  ++view.history;
}

Tensor Tracer::visible(const Tensor& tensor, SourceLocation at) {
  const TensorImpl& impl = *tensor.impl();
  if (!impl.base) return tensor;
  if (builder_.is_open(views_[impl.view].scope)) return tensor;
  const Tensor viewed = visible(Tensor(impl.base), at);
  return replay(views_[impl.view], viewed, at);
}

// A tensor that is written while gradients are off keeps its history: its gradient is that of the old value.
detail::Ref<TensorProxy> Tracer::value_without_gradients(const Tensor& source, const TensorImpl& written,
                                                         SourceLocation at) {
  const detail::Ref<TensorProxy> value = proxy_of(source);
  if (!written.proxy->requires_grad) return value->requires_grad ? detach(source, at).impl()->proxy : value;
  const GradMode with_gradients(true);
  const Tensor result = prims::with_history(source, adopt(written.proxy), at);
  const detail::Ref<TensorProxy>& proxy = result.impl()->proxy;
  values_of_history_.emplace(proxy->id, value);
  return proxy;
}

void Tracer::check_leaf_is_not_written(const TensorImpl& handle, SourceLocation at) const {
  if (!grad_enabled()) return;
  for (const WrittenInput& input : inputs_) {
    if (!input.is_leaf || !input.original->requires_grad) continue;
    const TensorImpl* viewed = &handle;
    bool is_detached = false;
    while (viewed != input.handle.impl().get() && viewed->base) {
      is_detached = is_detached || views_[viewed->view].symbol->traits.not_differentiable;
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
void Tracer::check_write_of_custom_function(const TensorImpl& written, SourceLocation at) const {
  const TensorImpl* root = &written;
  while (root->base) root = root->base.get();
  const auto is_input = [&](const WrittenInput& input) { return input.handle.impl().get() == root; };
  if (root->proxy->id >= custom_function_.first_id && std::ranges::none_of(inputs_, is_input)) return;
  throw UserError(
      text::cat(
          custom_function_.name, " writes into ", written.proxy->name, ", ", written.proxy->type_text(),
          ", which is none of its arguments; inside a traced function pass it as an argument, mark_dirty() it and "
          "return it"),
      at);
}

bool Tracer::write_slice(const Tensor& source, const Tensor& written, SourceLocation at) {
  bool needs_slice = false, is_detached = false;
  for (const TensorImpl* impl = written.impl().get(); impl->base; impl = impl->base.get()) {
    const Shape &shape = impl->proxy->shape, &viewed = impl->base->proxy->shape;
    if (shape.is_symbolic() || viewed.is_symbolic()) return false;
    needs_slice = needs_slice || !views_[impl->view].symbol->write || shape.numel().hint() > viewed.numel().hint();
    is_detached = is_detached || views_[impl->view].symbol->traits.not_differentiable;
  }
  if (!needs_slice) return false;
  const StorageView place = storage_view(written, [](const Tensor&) { return false; });
  if (!place.geometry || may_overlap_itself(place.geometry->sizes, place.geometry->strides)) return false;
  const GradMode mode(grad_enabled() && !is_detached);
  Dims sizes, strides;
  for (const int64_t size : place.geometry->sizes) sizes.push_back(size);
  for (const int64_t stride : place.geometry->strides) strides.push_back(stride);
  const Tensor root = visible(place.root, at);
  const Argument region[] = {Argument(root), Argument(static_cast<const Shape&>(sizes)),
                             Argument(static_cast<const Shape&>(strides)), Argument(Int(place.geometry->offset))};
  const Tensor whole = prims_as_strided_symbol.write({region, std::size(region)}, source, at);
  write(whole, place.root, at);  // views of it are recorded again when they are next read
  return true;
}

// An argument's memory, which the caller may overwrite before a backward: a gradient needs what was copied from it.
bool Tracer::may_be_overwritten(const Tensor& source) const {
  const TensorImpl* root = source.impl().get();
  while (root->base) root = root->base.get();
  if (!grad_enabled() ||
      std::ranges::none_of(inputs_, [](const WrittenInput& input) { return input.original->requires_grad; }))
    return false;
  return std::ranges::any_of(inputs_, [&](const WrittenInput& input) {
    return input.handle.impl().get() == root && input.original == root->proxy;
  });
}

void Tracer::write(const Tensor& source, const Tensor& destination, SourceLocation at) {
  TensorImpl& written = *destination.impl();
  if (source.dtype() != destination.dtype() || !(source.shape() == destination.shape()))
    throw RuleError{text::cat("the new value is ", type_text(source), ", the tensor ", type_text(destination))};
  check_leaf_is_not_written(written, at);
  check_function_view_is_not_written(destination);
  if (!custom_function_.name.empty()) check_write_of_custom_function(written, at);
  ++writes_;
  if (written.base) {
    switch (observed_sharing(written)) {
      case Sharing::is_copy: written.base = {}; break;
      case Sharing::unknown:
        throw RuleError{text::cat(
            "the tensor that is written in place was made by ", views_[written.view].symbol->name(),
            "() of an argument of the traced function; it is a view or a copy, by the argument's strides: use view() "
            "for a view, clone() for a copy")};
      case Sharing::shares: {
        if (write_slice(source, destination, at)) return;
        const View view = views_[written.view];
        if (!view.symbol->write)
          throw RuleError{text::cat("writes through ", view.symbol->name(),
                                    "() inside a traced function are not supported; write the whole tensor, or build "
                                    "the new value with where, cat or pad")};
        const Tensor viewed(written.base);
        // The gradient does not see what is written through detach().
        const GradMode mode(grad_enabled() && !view.symbol->traits.not_differentiable);
        const ViewCall call(*view.symbol, view.args, visible(viewed, at));
        const Tensor whole = view.symbol->write(call.arguments(), source, at);
        write(whole, viewed, at);
        written.base_history = viewed.impl()->history;
      }
    }
  }
  const Tensor given = may_be_overwritten(source) ? clone(source, at) : source;
  const detail::Ref<TensorProxy> value = grad_enabled() ? proxy_of(given) : value_without_gradients(given, written, at);
  for (WrittenInput& input : inputs_)
    if (grad_enabled() && input.handle.impl().get() == &written)
      input.changes_history = input.changes_history || value->requires_grad || written.proxy->requires_grad;
  // Values never change, so two handles may share one.
  written.proxy = value;
  ++written.history;
}

std::vector<std::pair<int, int>> Tracer::add_written(std::vector<Value>& results) const {
  std::vector<std::pair<int, int>> written;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].changes_history) continue;
    written.emplace_back(static_cast<int>(i), static_cast<int>(results.size()));
    results.emplace_back(inputs_[i].handle.impl()->proxy);
  }
  return written;
}

// One copy for each changed input. Values that alias an overwritten input, and are copied elsewhere or returned, are
// cloned before any copy is made.
void Tracer::append_copies(std::vector<Value>& results) {
  std::vector<std::pair<detail::Ref<TensorProxy>, detail::Ref<TensorProxy>>> copies;
  for (const WrittenInput& input : inputs_)
    if (!(input.handle.impl()->proxy == input.original))
      copies.emplace_back(input.handle.impl()->proxy, input.original);
  if (copies.empty()) return;
  const std::vector<int> roots = view_roots(builder_.ops(), trace().next_id);
  std::unordered_set<int> overwritten;
  for (const auto& [latest, original] : copies) overwritten.insert(original->id);
  const auto keep = [&](const detail::Ref<TensorProxy>& value) {
    const auto copy = make_proxy({value->shape, value->dtype, value->device}, value->requires_grad);
    bind(clone_symbol, {Value(value)}, {Value(copy)});
    return copy;
  };
  // Memory stores plain values, without histories.
  for (auto& [latest, original] : copies)
    for (auto found = values_of_history_.find(latest->id); found != values_of_history_.end();
         found = values_of_history_.find(latest->id))
      latest = found->second;
  for (auto& [latest, original] : copies)
    if (overwritten.contains(roots[latest->id])) latest = keep(latest);
  for (Value& result : results)
    if (result.is_tensor() && overwritten.contains(roots[result.proxy_id()])) result = Value(keep(result.tensor_ref()));
  for (const auto& [latest, original] : copies) {
    const auto written = make_proxy({original->shape, original->dtype, original->device}, false);
    bind(prims_copy__symbol, {Value(latest), Value(original)}, {Value(written)});
  }
}

Trace Tracer::finish(Value results) {
  if (builder_.has_inner_scope()) throw InternalError("a trace was finished inside an open scope");
  std::vector<Value> args;
  if (results.is_list()) args = results.list();
  else args.push_back(std::move(results));
  return take_trace(std::move(args));
}

Trace Tracer::take_trace(std::vector<Value> results) {
  {
    const TraceBuilder::Unmarked unmarked(builder_);
    append_copies(results);
  }
  return builder_.take(std::move(results));
}

}  // namespace fulgurite
