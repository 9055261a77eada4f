// The gradient members of Tensor.
#include <fulgurite/error.h>

#include "autograd/engine/tensor_autograd.h"
#include "ops/core/dispatch.h"
#include "ops/core/recorder.h"

namespace fulgurite {

namespace {

/// In a function with graph breaks, the tensor that an argument's handle stands for: that one has the gradient.
Tensor given(const Tensor& handle) {
  for (const Recorder* i = innermost_recorder(); i != nullptr; i = i->outer_recorder())
    if (Tensor concrete = i->concrete_of(handle); !concrete.is_same(handle)) return concrete;
  return handle;
}

// Autograd state is not a value of a recording: the subgraph ends, and the tensor is materialized. A function with
// graph breaks runs at each call, so a materialized tensor needs no further break.
void leave_recording(const Tensor& tensor, const char* what, SourceLocation at) {
  const Recorder* const recorder = innermost_recorder();
  if (recorder && recorder->has_breaks() && !is_proxy(tensor)) return;
  act_immediately(what, at);
}

Tensor with_gradient(const Tensor& tensor, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, " of an undefined tensor"), at);
  leave_recording(tensor, what, at);
  if (is_proxy(tensor))
    throw UserError(text::cat(what, " of ", type_text(tensor),
                              ": this tensor is a value of a trace that has ended; return it from the traced "
                              "function instead"),
                    at);
  return given(tensor);
}

Tensor differentiable(const Tensor& tensor, const char* what, SourceLocation at) {
  const auto check = [&](const Tensor& t) {
    if (!t.requires_grad()) throw UserError(text::cat(what, " of ", type_text(t), ", which does not require grad"), at);
  };
  if (tensor.defined()) check(tensor);
  Tensor concrete = with_gradient(tensor, what, at);
  bring_history_up_to_date(concrete);
  check(concrete);
  return concrete;
}

}  // namespace

Tensor TensorMembers::detach_(SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  if (self.defined() && is_proxy(self) && innermost_interpreter())
    throw UserError("detach_ of a value of a trace; assign the result of detach instead", at);
  const Tensor concrete = with_gradient(self, "detach_()", at);
  TensorImpl& impl = *concrete.impl();
  if (impl.base && impl.requires_grad)
    throw UserError(text::cat("detach_ of ", type_text(concrete), ", a view; assign the result of detach instead"), at);
  const std::lock_guard lock(autograd_mutex(impl));
  impl.requires_grad = false;
  if (impl.autograd) autograd_of(impl).grad_fn = nullptr;
  return self;
}

bool Tensor::is_leaf() const {
  if (!defined() || is_proxy(*this)) return true;
  const Tensor concrete = given(*this);
  return !concrete.requires_grad() || (concrete.impl()->requires_grad && node_of(concrete) == nullptr);
}

Tensor Tensor::grad(SourceLocation at) const { return gradient_of(with_gradient(*this, "grad()", at)); }

void Tensor::set_grad(const Tensor& gradient, SourceLocation at) const {
  if (is_proxy(gradient)) act_immediately("set_grad()", at);
  const Tensor concrete = with_gradient(*this, "set_grad()", at);
  if (gradient.defined() && (!same_sizes(gradient, concrete) || gradient.dtype() != concrete.dtype()))
    throw UserError(
        text::cat("set_grad(): the gradient is ", type_text(gradient), ", the tensor ", type_text(concrete)), at);
  set_gradient(concrete, gradient);
}

std::shared_ptr<Node> Tensor::grad_fn() const {
  if (!defined()) return nullptr;
  const Tensor concrete = given(*this);
  if (!is_proxy(concrete)) bring_history_up_to_date(concrete);
  return node_of(concrete);
}

void Tensor::backward(const Tensor& gradient, SourceLocation at) const { backward(gradient, BackwardOptions{}, at); }

void Tensor::backward(const Tensor& gradient, const BackwardOptions& options, SourceLocation at) const {
  autograd::backward(*this, gradient.defined() ? autograd::TensorList(gradient) : autograd::TensorList(), options, at);
}

void Tensor::run_backward(const Tensor& gradient, bool retain_graph, bool create_graph, SourceLocation at) const {
  backward(gradient, {.retain_graph = retain_graph, .create_graph = create_graph}, at);
}

HookHandle Tensor::register_hook(const Hook& hook, SourceLocation at) const {
  const Tensor concrete = differentiable(*this, "register_hook()", at);
  const TensorImpl& impl = *concrete.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (!state.grad_fn) return state.hooks.add(hook);
  return state.grad_fn->hooks().outputs[static_cast<size_t>(state.output)].hooks.add(hook);
}

HookHandle Tensor::register_post_accumulate_grad_hook(std::function<void(Tensor)> hook, SourceLocation at) const {
  const Tensor concrete = differentiable(*this, "register_post_accumulate_grad_hook()", at);
  const TensorImpl& impl = *concrete.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (state.grad_fn)
    throw UserError(text::cat("register_post_accumulate_grad_hook() of ", type_text(*this),
                              ", which is not a leaf; use register_hook()"),
                    at);
  return state.post_accumulate_hooks.add(std::move(hook));
}

void Tensor::retain_grad(SourceLocation at) const {
  const Tensor concrete = differentiable(*this, "retain_grad()", at);
  const TensorImpl& impl = *concrete.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (!state.grad_fn || state.retained_grad) return;
  state.retained_grad = std::make_shared<Tensor>();
  state.grad_fn->hooks().outputs[static_cast<size_t>(state.output)].retained.push_back(state.retained_grad);
}

}  // namespace fulgurite
