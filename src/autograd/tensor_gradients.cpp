// The members of Tensor that concern gradients.
#include <fulgurite/error.h>

#include "autograd/tensor_autograd.h"
#include "ops/dispatch.h"

namespace fulgurite {

namespace {

const TensorImpl& concrete_impl(const Tensor& tensor, const char* what) {
  if (!tensor.defined()) throw UserError(text::cat(what, " of an undefined tensor"));
  if (is_proxy(tensor))
    throw UserError(text::cat(what, " of ", type_text(tensor),
                              " inside a traced function: a value of a trace has no gradient of its "
                              "own; use value_and_grad()"));
  return *tensor.impl();
}

const TensorImpl& differentiable_impl(const Tensor& tensor, const char* what) {
  const TensorImpl& impl = concrete_impl(tensor, what);
  if (!impl.requires_grad) throw UserError(text::cat(what, " of ", type_text(tensor), ", which does not require grad"));
  return impl;
}

}  // namespace

bool Tensor::is_leaf() const {
  if (!defined() || is_proxy(*this)) return true;
  return node_of(*this) == nullptr;
}

Tensor Tensor::grad() const {
  concrete_impl(*this, "grad()");
  return gradient_of(*this);
}

void Tensor::set_grad(const Tensor& gradient) const {
  concrete_impl(*this, "set_grad()");
  if (gradient.defined() && (!same_sizes(gradient, *this) || gradient.dtype() != dtype()))
    throw UserError(text::cat("set_grad(): the gradient is ", type_text(gradient), ", the tensor ", type_text(*this)));
  set_gradient(*this, gradient);
}

std::shared_ptr<Node> Tensor::grad_fn() const { return node_of(*this); }

void Tensor::backward(const Tensor& gradient, SourceLocation at) const { backward(gradient, BackwardOptions{}, at); }

void Tensor::backward(const Tensor& gradient, const BackwardOptions& options, SourceLocation at) const {
  autograd::backward(*this, gradient.defined() ? autograd::TensorList(gradient) : autograd::TensorList(), options, at);
}

HookHandle Tensor::register_hook(const Hook& hook) const {
  const TensorImpl& impl = differentiable_impl(*this, "register_hook()");
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (!state.grad_fn) return state.hooks.add(hook);
  return state.grad_fn->output_hooks().outputs[static_cast<size_t>(state.output)].hooks.add(hook);
}

HookHandle Tensor::register_post_accumulate_grad_hook(std::function<void(Tensor)> hook) const {
  const TensorImpl& impl = differentiable_impl(*this, "register_post_accumulate_grad_hook()");
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (state.grad_fn)
    throw UserError(text::cat("register_post_accumulate_grad_hook() of ", type_text(*this),
                              ", which is not a leaf; use register_hook()"));
  return state.post_accumulate_hooks.add(std::move(hook));
}

void Tensor::retain_grad() const {
  const TensorImpl& impl = differentiable_impl(*this, "retain_grad()");
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (!state.grad_fn || state.retained_grad) return;
  state.retained_grad = std::make_shared<Tensor>();
  state.grad_fn->output_hooks().outputs[static_cast<size_t>(state.output)].retained.push_back(state.retained_grad);
}

}  // namespace fulgurite
