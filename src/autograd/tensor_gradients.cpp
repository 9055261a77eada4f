// The members of Tensor that concern gradients.
#include <fulgurite/error.h>

#include "autograd/tensor_autograd.h"
#include "ops/dispatch.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

/// In a function with graph breaks, what an argument's handle stands for: that one has the gradient.
Tensor given(const Tensor& handle) {
  for (Interpreter* i = innermost_interpreter(); i != nullptr;) {
    const auto* const tracer = dynamic_cast<const Tracer*>(i);
    if (!tracer) break;
    if (const Tensor concrete = tracer->concrete_of(handle); !concrete.is_same(handle)) return concrete;
    i = tracer->outer();
  }
  return handle;
}

void check_has_gradient(const Tensor& tensor, const char* what) {
  if (!tensor.defined()) throw UserError(text::cat(what, " of an undefined tensor"));
  if (is_proxy(tensor))
    throw UserError(text::cat(what, " of ", type_text(tensor),
                              " inside a traced function: a value of a trace has no gradient of its "
                              "own; use value_and_grad()"));
}

Tensor with_gradient(const Tensor& tensor, const char* what) {
  check_has_gradient(tensor, what);
  return given(tensor);
}

Tensor differentiable(const Tensor& tensor, const char* what) {
  Tensor concrete = with_gradient(tensor, what);
  bring_history_up_to_date(concrete);
  if (!concrete.requires_grad()) throw UserError(text::cat(what, " of ", type_text(concrete), ", which does not require grad"));
  return concrete;
}

}  // namespace

bool Tensor::is_leaf() const {
  if (!defined() || is_proxy(*this)) return true;
  const Tensor concrete = given(*this);
  return !concrete.requires_grad() || (concrete.impl()->requires_grad && node_of(concrete) == nullptr);
}

Tensor Tensor::grad() const { return gradient_of(with_gradient(*this, "grad()")); }

void Tensor::set_grad(const Tensor& gradient) const {
  const Tensor concrete = with_gradient(*this, "set_grad()");
  if (gradient.defined() && (!same_sizes(gradient, concrete) || gradient.dtype() != concrete.dtype()))
    throw UserError(text::cat("set_grad(): the gradient is ", type_text(gradient), ", the tensor ", type_text(concrete)));
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

HookHandle Tensor::register_hook(const Hook& hook) const {
  const Tensor concrete = differentiable(*this, "register_hook()");
  const TensorImpl& impl = *concrete.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (!state.grad_fn) return state.hooks.add(hook);
  return state.grad_fn->hooks().outputs[static_cast<size_t>(state.output)].hooks.add(hook);
}

HookHandle Tensor::register_post_accumulate_grad_hook(std::function<void(Tensor)> hook) const {
  const Tensor concrete = differentiable(*this, "register_post_accumulate_grad_hook()");
  const TensorImpl& impl = *concrete.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (state.grad_fn)
    throw UserError(text::cat("register_post_accumulate_grad_hook() of ", type_text(*this),
                              ", which is not a leaf; use register_hook()"));
  return state.post_accumulate_hooks.add(std::move(hook));
}

void Tensor::retain_grad() const {
  const Tensor concrete = differentiable(*this, "retain_grad()");
  const TensorImpl& impl = *concrete.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  TensorAutograd& state = autograd_of(impl);
  if (!state.grad_fn || state.retained_grad) return;
  state.retained_grad = std::make_shared<Tensor>();
  state.grad_fn->hooks().outputs[static_cast<size_t>(state.output)].retained.push_back(state.retained_grad);
}

}  // namespace fulgurite
