#include "autograd/engine/tensor_autograd.h"

#include <cstring>

#include <fulgurite/error.h>

#include "autograd/engine/accumulate_grad.h"
#include "support/context.h"

namespace fulgurite {

std::mutex& autograd_mutex(const TensorImpl& impl) {
  MutexPool& mutexes = context().autograd_mutexes;
  return mutexes[reinterpret_cast<uintptr_t>(&impl) / sizeof(TensorImpl) % mutexes.size()];
}

TensorAutograd& autograd_of(const TensorImpl& impl) {
  auto& slot = const_cast<TensorImpl&>(impl).autograd;
  if (!slot) slot = std::make_unique<TensorAutograd>();
  return static_cast<TensorAutograd&>(*slot);
}

Edge gradient_edge(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.impl()->requires_grad) return {};
  const std::lock_guard lock(autograd_mutex(*tensor.impl()));
  TensorAutograd& state = autograd_of(*tensor.impl());
  if (state.grad_fn) return {state.grad_fn, state.output};
  std::shared_ptr<Node> accumulator = state.accumulator.lock();
  if (!accumulator) {
    accumulator = std::make_shared<AccumulateGrad>(tensor);
    state.accumulator = accumulator;
  }
  return {std::move(accumulator), 0};
}

std::shared_ptr<Node> node_of(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.impl()->requires_grad) return nullptr;
  const std::lock_guard lock(autograd_mutex(*tensor.impl()));
  return tensor.impl()->autograd ? autograd_of(*tensor.impl()).grad_fn : nullptr;
}

void set_history(const Tensor& tensor, std::shared_ptr<Node> node, int output) {
  const std::lock_guard lock(autograd_mutex(*tensor.impl()));
  tensor.impl()->requires_grad = true;
  TensorAutograd& state = autograd_of(*tensor.impl());
  if (state.retained_grad) {  // a retained gradient is that of the newest value
    if (state.grad_fn)
      std::erase(state.grad_fn->hooks().outputs[static_cast<size_t>(state.output)].retained, state.retained_grad);
    auto& hooks = node->hooks().outputs[static_cast<size_t>(output)];
    hooks.retained.push_back(state.retained_grad);
  }
  state.grad_fn = std::move(node);
  state.output = output;
}

Tensor without_history(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return make_view(impl.storage, impl.sizes, impl.strides, impl.offset, impl.dtype);
}

Tensor gradient_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const std::lock_guard lock(autograd_mutex(impl));
  if (!impl.autograd) return {};
  const TensorAutograd& state = autograd_of(impl);
  return state.retained_grad && state.retained_grad->defined() ? *state.retained_grad : state.grad;
}

void set_gradient(const Tensor& tensor, Tensor gradient) {
  const std::lock_guard lock(autograd_mutex(*tensor.impl()));
  TensorAutograd& state = autograd_of(*tensor.impl());
  if (state.retained_grad) *state.retained_grad = Tensor();
  std::swap(state.grad, gradient);
}

Tensor make_zeros(const TensorType& type) {
  Sizes sizes;
  for (const Int size : type.shape) sizes.push_back(size.hint());
  Tensor zeros = make_tensor(sizes, type.dtype, type.device);
  const TensorImpl& impl = *zeros.impl();
  std::memset(impl.data(), 0, static_cast<size_t>(impl.numel() * size_of(impl.dtype)));
  return zeros;
}

bool same_sizes(const Tensor& a, const Tensor& b) { return a.impl()->sizes == b.impl()->sizes; }

}  // namespace fulgurite
