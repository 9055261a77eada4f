#include "tracing/functionalization/trace_views.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ops/core/dispatch.h"
#include "ops/core/recorder.h"
#include "tensor/meta_tensor.h"
#include "tracing/argument_pack.h"
#include "tracing/grad_mode.h"

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

bool has_symbols(const RecordedView& view) {
  bool found = false;
  for (size_t i = 1; i < view.args.size(); ++i) for_each_proxy(view.args[i], [&](int) { found = true; });
  return found;
}

// A view that reads another tensor cannot be recreated of the viewed one alone.
bool reads_another_tensor(const TraceViews::View& view) {
  for (size_t i = 1; i < view.args.size(); ++i)
    if (view.args[i].is_tensor()) return true;
  return false;
}

}  // namespace

const TensorImpl& TraceViews::root_of(const TensorImpl& handle) {
  const TensorImpl* root = &handle;
  while (root->base) root = root->base.get();
  return *root;
}

void TraceViews::note(const Tensor& view, const Tensor& viewed, const BoundSymbol& bound) {
  TensorImpl& impl = *view.impl();
  impl.base = viewed.impl();
  impl.base_history = viewed.impl()->history;
  impl.view = static_cast<int>(views_.size());
  views_.push_back({bound.symbol, bound.args, builder_.scope(), false, grad_enabled()});
}

void TraceViews::leave_scope(TensorImpl& result, const Symbol& symbol, Arguments arguments) {
  if (!result.base) return;
  const TensorImpl& root = root_of(result);
  bool views_argument = false;
  for (const Argument& argument : arguments)
    views_argument = views_argument || (argument.is_tensor() && &root_of(*argument.tensor().impl()) == &root);
  if (!views_argument) {
    result.base = {};
    return;
  }
  View& view = views_[result.view];
  view.scope = builder_.scope();
  view.shares_surely = view.shares_surely || symbol.semantics.never_copies;
}

void TraceViews::clear() {
  views_.clear();
  observed_strides_.clear();
}

std::optional<bool> TraceViews::view_geometry(const TensorImpl& handle, ViewGeometry& out) {
  ViewGeometry viewed;
  if (!geometry(*handle.base, viewed)) return std::nullopt;
  const View& view = of(handle);
  const ViewCall call(*view.symbol, view.args, without_memory(viewed, handle.proxy->dtype));
  return view.symbol->view(call.arguments(), out);
}

bool TraceViews::geometry(const TensorImpl& handle, ViewGeometry& out) {
  const Shape& shape = handle.proxy->shape;
  if (shape.is_symbolic() && input_strides_ != InputStrides::observed) return false;
  const TraceInput* input = nullptr;
  if (handle.base) {
    const std::optional<bool> is_view = view_geometry(handle, out);
    if (!is_view || *is_view) return is_view.has_value();
    out = ViewGeometry();
  } else {
    input = inputs_.find(handle);
    if (input && (!input->concrete.defined() || input_strides_ == InputStrides::unknown)) return false;
  }
  // Strides are a matter of sizes: those that are symbols are fixed.
  for (const Int size : shape) out.sizes.push_back(static_cast<int64_t>(size));
  if (!input) out.strides = contiguous_strides(out.sizes);
  else if (input_strides_ == InputStrides::observed) out.strides = observe_strides(*input);
  else out.strides = input->concrete.impl()->strides;
  return true;
}

Sizes TraceViews::observe_strides(const TraceInput& input) {
  if (std::ranges::find(observed_strides_, input.original->id) == observed_strides_.end())
    observed_strides_.push_back(input.original->id);
  Recorder* const outside = is_proxy(input.concrete) ? recording_of(input.concrete) : nullptr;
  return outside ? outside->strides_of(input.concrete) : input.concrete.impl()->strides;
}

TraceViews::Sharing TraceViews::sharing(const TensorImpl& handle) {
  const View& view = of(handle);
  if (view.shares_surely || !view.symbol->semantics.may_copy) return Sharing::shares;
  ViewGeometry out;
  const std::optional<bool> is_view = view_geometry(handle, out);
  if (!is_view) return Sharing::unknown;
  return *is_view ? Sharing::shares : Sharing::is_copy;
}

TraceViews::Sharing TraceViews::observed_sharing(const TensorImpl& handle) {
  if (const Sharing found = sharing(handle); found != Sharing::unknown) return found;
  const StridesScope observed(*this, InputStrides::observed);
  return sharing(handle);
}

Sizes TraceViews::strides_of(const Tensor& handle) {
  ViewGeometry found;
  {
    const StridesScope observed(*this, InputStrides::observed);
    if (geometry(*handle.impl(), found)) return found.strides;
  }
  throw UserError(
      text::cat(
          "strides() of ", handle.impl()->proxy->name, ", ", type_text(handle),
          ": whether it is a view or a copy is not known inside a traced function; use view() or clone() where it is "
          "made"),
      handle.impl()->born);
}

bool TraceViews::step_to_viewed(StorageView& found) {
  TensorImpl& impl = *found.root.impl();
  if (!impl.base) return false;
  const Sharing shares = sharing(impl);
  if (shares == Sharing::is_copy) {
    impl.base = {};
    return false;
  }
  const View& view = of(impl);
  if (reads_another_tensor(view)) return false;
  found.views.insert(found.views.begin(),
                     {view.symbol, view.args, view.has_gradients, shares == Sharing::unknown, found.root});
  found.root = Tensor(impl.base);
  return true;
}

void TraceViews::find_geometry(StorageView& storage) {
  const TensorProxy& root = *storage.root.impl()->proxy;
  if (root.shape.is_symbolic()) return;
  ViewGeometry found;
  for (const Int size : root.shape) found.sizes.push_back(size.hint());
  found.strides = contiguous_strides(found.sizes);
  for (const RecordedView& view : storage.views) {
    if (has_symbols(view)) return;
    const ViewCall call(*view.symbol, view.args, without_memory(found, root.dtype));
    ViewGeometry next;
    if (!view.symbol->view(call.arguments(), next)) return;
    found = std::move(next);
  }
  storage.geometry = std::move(found);
}

Tensor TraceViews::replay(const View& view, const Tensor& viewed, SourceLocation at) {
  const View made = view;  // recording adds views
  const GradMode mode(made.has_gradients);
  const ViewCall call(*made.symbol, made.args, viewed);
  Results results;
  calls_.record_primitive(*made.symbol, call.arguments(), at, results);
  return results[0];
}

Tensor TraceViews::recreate(const View& view, const Tensor& viewed) {
  const ViewCall call(*view.symbol, view.args, viewed);
  return dispatch(*view.symbol, call.arguments(), {});
}

Tensor TraceViews::recreate(const Tensor& view, const Tensor& viewed, const Tensor& other) const {
  if (view.is_same(viewed)) return other;
  const TensorImpl& impl = *view.impl();
  const Tensor base = recreate(Tensor(impl.base), viewed, other);
  return recreate(of(impl), base);
}

Tensor TraceViews::visible(const Tensor& handle, SourceLocation at) {
  const TensorImpl& impl = *handle.impl();
  if (!impl.base || is_visible(impl)) return handle;
  const Tensor viewed = visible(Tensor(impl.base), at);
  return replay(of(impl), viewed, at);
}

Tensor TraceViews::written_through(const View& view, const Tensor& viewed, const Tensor& source, SourceLocation at) {
  const ViewCall call(*view.symbol, view.args, viewed);
  return view.symbol->write(call.arguments(), source, at);
}

}  // namespace fulgurite
