#include "autograd/engine/accumulate_grad.h"

#include <limits>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "runtime/copy_elements.h"
#include "support/context.h"

namespace fulgurite {

namespace {

Tensor own_copy(const Tensor& gradient) {
  Tensor copy = make_tensor(gradient.impl()->sizes, gradient.dtype(), gradient.device());
  copy_elements(gradient, copy);
  return copy;
}

}  // namespace

bool is_uniquely_owned(const Tensor& gradient) {
  const TensorImpl& impl = *gradient.impl();
  return impl.owners.load(std::memory_order_acquire) == 1 &&
         impl.storage->owners.load(std::memory_order_acquire) == 1 && impl.is_contiguous && !impl.requires_grad;
}

AccumulateGrad::AccumulateGrad(Tensor variable) : variable_(std::move(variable)) {
  set_sequence_nr(std::numeric_limits<uint64_t>::max());
  add_to_hash(static_cast<uint64_t>(variable_.dtype()) << 8 | variable_.impl()->sizes.size());
}

void accumulate_gradient(const Tensor& variable, Tensor gradient, bool create_graph) {
  const Tensor present = gradient_of(variable);
  if (!present.defined()) {
    if (!create_graph) gradient = is_uniquely_owned(gradient) ? std::move(gradient) : own_copy(gradient);
    set_gradient(variable, std::move(gradient));
    return;
  }
  if (create_graph) {
    set_gradient(variable, add(present, gradient));
    return;
  }
  // In place: other holders of the gradient see the sum.
  const GradModeScope no_grad(false);
  present.add_(gradient);
}

std::vector<std::function<void(Tensor)>> post_accumulate_hooks(const Tensor& variable) {
  const std::lock_guard lock(autograd_mutex(*variable.impl()));
  return autograd_of(*variable.impl()).post_accumulate_hooks.snapshot();
}

void accumulate_in_turn(const Tensor& variable, Tensor gradient, bool create_graph) {
  if (!gradient.defined()) return;
  // The gradient is written outside the variable's state lock, which is held only briefly.
  MutexPool& mutexes = context().accumulation_mutexes;
  const std::lock_guard lock(
      mutexes[reinterpret_cast<uintptr_t>(variable.impl().get()) / sizeof(TensorImpl) % mutexes.size()]);
  accumulate_gradient(variable, std::move(gradient), create_graph);
}

std::vector<Tensor> AccumulateGrad::apply(std::vector<Tensor> gradients, const NodeRun& run) {
  Tensor gradient = std::move(gradients[0]);
  gradients.clear();
  const std::vector<std::function<void(Tensor)>> after = post_accumulate_hooks(variable_);
  accumulate_in_turn(variable_, std::move(gradient), run.create_graph);
  for (const auto& hook : after) hook(variable_);
  return {};
}

}  // namespace fulgurite
