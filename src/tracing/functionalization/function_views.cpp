#include "tracing/functionalization/function_views.h"

#include "ops/core/rules.h"
#include "tensor/function_view.h"

namespace fulgurite {

void FunctionViews::note(const Tensor& result, const Tensor& viewed) {
  Tensor root = viewed;
  while (root.impl()->base) root = Tensor(root.impl()->base);
  views_.push_back({result, root, root.impl()->history});
}

void FunctionViews::check_is_not_written(const Tensor& written) const {
  if (views_.empty()) return;
  for (const TensorImpl* impl = written.impl().get(); impl != nullptr; impl = impl->base.get())
    for (const View& view : views_)
      if (view.handle.impl().get() == impl) throw RuleError{function_view_written};
}

void FunctionViews::check_is_current(const TensorImpl& handle) const {
  for (const View& view : views_)
    if (view.handle.impl().get() == &handle && view.root.impl()->history != view.history)
      throw RuleError{function_view_outdated};
}

void FunctionViews::leave(const std::function<Tensor(const Tensor&)>& concrete_of) {
  for (const View& view : views_) {
    const Tensor root = concrete_of(view.root);
    if (view.handle.impl()->proxy || root.impl()->proxy) continue;
    mark_function_view(*view.handle.impl(), root.impl());
  }
  views_.clear();
}

}  // namespace fulgurite
