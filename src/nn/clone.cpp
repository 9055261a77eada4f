// Copies of models.
#include <cstring>
#include <map>
#include <set>

#include <fulgurite/autograd.h>
#include <fulgurite/nn.h>

#include "tensor/tensor_impl.h"

namespace fulgurite::nn::model_detail {

namespace {

/// Copies memory that several tensors of the model share once.
class SharedMemory {
 public:
  explicit SharedMemory(const std::vector<Tensor*>& tensors) {
    std::map<const Storage*, std::set<const TensorImpl*>> users;
    for (const Tensor* tensor : tensors)
      if (tensor->defined() && !is_proxy(*tensor)) users[&*tensor->impl()->storage].insert(&*tensor->impl());
    for (const auto& [storage, impls] : users)
      if (impls.size() > 1) copies_.emplace(storage, StorageRef());
  }

  bool holds(const Tensor& tensor) const { return !is_proxy(tensor) && copies_.contains(&*tensor.impl()->storage); }

  /// The same view of the copied memory.
  Tensor copy_of(const Tensor& tensor) {
    tensor.data_pointer();  // waits for pending elements
    const TensorImpl& impl = *tensor.impl();
    StorageRef& copy = copies_.at(&*impl.storage);
    if (!copy) {
      copy = allocate_storage(impl.storage->bytes, impl.device);
      std::memcpy(copy->data, impl.storage->data, static_cast<size_t>(impl.storage->bytes));
    }
    return make_view(copy, impl.sizes, impl.strides, impl.offset, impl.dtype);
  }

 private:
  std::map<const Storage*, StorageRef> copies_;
};

}  // namespace

void replace_by_copies(const std::vector<Tensor*>& tensors) {
  const NoGrad no_grad;
  SharedMemory shared(tensors);
  std::map<const TensorImpl*, Tensor> copies;
  std::vector<Tensor> originals;  // keeps the keys alive
  for (Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    Tensor& copy = copies[&*tensor->impl()];
    if (!copy.defined()) {
      copy = shared.holds(*tensor) ? shared.copy_of(*tensor) : tensor->detach().clone();
      if (const std::string name = tensor->name(); !name.empty() && !is_proxy(copy)) copy.set_name(name);
      if (tensor->requires_grad() && !is_proxy(copy)) copy.requires_grad_();
      originals.push_back(*tensor);
    }
    *tensor = copy;
  }
}

}  // namespace fulgurite::nn::model_detail
