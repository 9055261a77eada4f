// Views that custom functions return in a trace. A custom function is one op, whose result is a value of its own: no
// write can reach what the result views, so that writes through either are refused.
#include <fulgurite/error.h>

#include "tensor/function_view.h"
#include "tracing/tracer.h"

namespace fulgurite {

void Tracer::note_function_view(const Tensor& result, const Tensor& viewed) {
  Tensor root = current(viewed, {});
  while (root.impl()->base) root = Tensor(root.impl()->base);
  function_views_.push_back({result, root, root.impl()->history});
}

void Tracer::check_function_view_is_not_written(const Tensor& written) const {
  if (function_views_.empty()) return;
  for (const TensorImpl* impl = written.impl().get(); impl != nullptr; impl = impl->base.get())
    for (const FunctionView& view : function_views_)
      if (view.handle.impl().get() == impl) throw RuleError{function_view_written};
}

void Tracer::check_function_view_is_current(const TensorImpl& handle) const {
  for (const FunctionView& view : function_views_)
    if (view.handle.impl().get() == &handle && view.root.impl()->history != view.history)
      throw RuleError{function_view_outdated};
}

void Tracer::leave_function_views() {
  for (const FunctionView& view : function_views_) {
    const Tensor root = concrete_of(view.root);
    if (view.handle.impl()->proxy || root.impl()->proxy) continue;
    mark_function_view(*view.handle.impl(), root.impl());
  }
  function_views_.clear();
}

}  // namespace fulgurite
