#include "autograd/engine/saved_tensor.h"

#include <fulgurite/error.h>

#include "autograd/checkpoint/checkpoint.h"
#include "autograd/engine/tensor_autograd.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"
#include "tensor/write_count.h"

namespace fulgurite {

SavedTensor::SavedTensor(const Tensor& tensor, Origin origin, size_t index) : origin_(origin), index_(index) {
  if (!tensor.defined()) return;
  elements_ = without_history(tensor);
  version_ = tensor.impl()->storage->version.load(std::memory_order_relaxed);
  dtype_ = tensor.dtype();
  if (version_ == uncounted) [[unlikely]]
    throw UserError(text::cat(
        "an inference tensor, ", type_text(tensor),
        ", cannot be saved for backward: clone() it outside of InferenceMode, or make it under NoGrad instead"));
  if (CheckpointedCall* checkpoint = CheckpointedCall::active()) [[unlikely]]
    checkpoint->save(*this, tensor.requires_grad() && node_of(tensor) == nullptr);
  else if (autograd_modes().packing) [[unlikely]] pack(tensor);
}

void SavedTensor::pack(const Tensor& tensor) {
  const GradModeScope no_grad(false);
  const std::shared_ptr<const SavedTensorPacking> packing = *autograd_modes().packing;
  // Tensors saved by the hooks themselves are not packed.
  const ModesScope modes;
  autograd_modes().packing = nullptr;
  auto packed =
      std::make_shared<Packed>(Packed{packing->pack(origin_ == Origin::output ? elements_ : tensor), packing});
  if (tensor.impl()->storage->version.load(std::memory_order_relaxed) != version_)
    throw UserError(text::cat("SavedTensorsHooks: pack wrote the tensor that it was given, ", type_text(tensor),
                              "; write into a clone"));
  packed_ = std::move(packed);
  elements_ = Tensor();
}

Tensor SavedTensor::elements(const std::string& saved_by) const {
  if (packed_) {
    const GradModeScope no_grad(false);
    Tensor tensor = packed_->packing->unpack(packed_->value);
    if (!tensor.defined()) throw UserError(text::cat("SavedTensorsHooks: unpack gave no tensor for ", saved_by));
    return tensor;
  }
  if (!elements_.defined()) return checkpoint_ ? checkpoint_->take(slot_, saved_by) : Tensor();
  const uint32_t version = elements_.impl()->storage->version.load(std::memory_order_relaxed);
  if (version == version_) return elements_;
  const char* role = origin_ == Origin::input ? "input " : origin_ == Origin::output ? "output " : "intermediate ";
  throw UserError(text::cat("a tensor needed for backward was changed in place: ", type_text(elements_), ", ", role,
                            index_, " of ", saved_by, ", is at version ", version, " but was saved at version ",
                            version_, "; write into a clone, or after backward()"));
}

void SavedTensor::keep_elements_of(const Storage& storage) {
  if (checkpoint_) checkpoint_->keep_elements_of(slot_, storage);
  if (!elements_.defined() || elements_.impl()->storage.get() != &storage) return;
  if (storage.version.load(std::memory_order_relaxed) != version_) return;  // too late: elements() will report it
  const Tensor copy = make_tensor(elements_.impl()->sizes, elements_.dtype(), elements_.device());
  copy_elements(elements_, copy);
  elements_ = copy;
  version_ = 0;
}

Tensor SavedTensor::with_history(Node& node) const {
  Tensor elements = this->elements(node.name());
  if (!elements.defined() || origin_ == Origin::inside || !is_floating(elements.dtype())) return elements;
  Tensor tensor = without_history(elements);
  if (origin_ == Origin::output) {
    set_history(tensor, node.shared_from_this(), static_cast<int>(index_));
  } else if (index_ < node.next_edges().size() && node.next_edges()[index_].node) {
    const Edge& edge = node.next_edges()[index_];
    set_history(tensor, edge.node, edge.output);
  }
  return tensor;
}

void throw_already_freed(const std::string& node) {
  throw UserError(text::cat("backward through ", node,
                            " a second time: what it had saved was freed by the first backward(); give "
                            "{.retain_graph = true} to every backward() or autograd::grad() but the last"));
}

}  // namespace fulgurite
