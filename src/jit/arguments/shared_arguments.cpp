// Arguments of one call that share memory.
#include "jit/arguments/shared_arguments.h"

#include <algorithm>
#include <utility>

#include <fulgurite/operators.h>

#include "ir/structural.h"
#include "ops/core/recorder.h"

namespace fulgurite::detail {

namespace {

/// The storage positions of the first and the last element of a tensor that is not empty.
std::pair<int64_t, int64_t> extent(const TensorImpl& tensor) {
  int64_t last = tensor.offset;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) last += (tensor.sizes[d] - 1) * tensor.strides[d];
  return {tensor.offset, last};
}

// For values of an outer recording.
bool is_view_of(const TensorImpl* view, const TensorImpl* viewed) {
  while (view && view != viewed) view = view->base.get();
  return view == viewed;
}

}  // namespace

Containers find_containers(const RecordRequest& request) {
  const auto& tensors = request.flat.tensors();
  Containers containers(tensors.size(), -1);
  const auto takes_gradient = [&](size_t leaf) {
    return request.with_respect_to ? (*request.with_respect_to)[leaf] : tensors[leaf]->requires_grad();
  };
  const auto contains = [&](size_t outer, size_t inner) {
    const TensorImpl* a = tensors[outer]->impl().get();
    const TensorImpl* b = tensors[inner]->impl().get();
    if (!a || !b || a == b) return false;
    if (takes_gradient(outer) || takes_gradient(inner)) {
      // Both have one history, of which the gradient of the inner one is a part.
      const bool have_memory = !a->proxy && !b->proxy && !request.with_respect_to;
      if (!have_memory || takes_gradient(outer) != takes_gradient(inner) || family_of(*a) != family_of(*b))
        return false;
    }
    if (a->proxy || b->proxy) return is_view_of(b, a);
    if (a->storage != b->storage || !a->is_contiguous) return false;
    if (a->dtype != b->dtype || a->numel() == 0 || b->numel() == 0) return false;
    const auto [a_first, a_last] = extent(*a);
    const auto [b_first, b_last] = extent(*b);
    return a_first <= b_first && b_last <= a_last;
  };
  for (size_t inner = 0; inner < tensors.size(); ++inner) {
    int64_t most = 0;
    for (size_t outer = 0; outer < tensors.size(); ++outer) {
      // If each contains the other, the first is the container.
      if (!contains(outer, inner) || (contains(inner, outer) && inner < outer)) continue;
      if (tensors[outer]->numel() <= most) continue;
      most = tensors[outer]->numel();
      containers[inner] = static_cast<int>(outer);
    }
  }
  return containers;
}

Tensor view_of_container(const Tensor& container, const Tensor& containing, const Tensor& contained,
                         SourceLocation at) {
  const TensorImpl &outer = *containing.impl(), &inner = *contained.impl();
  if (inner.proxy) return recording_of(contained)->view_again(contained, containing, container);
  Dims sizes, strides;
  for (const int64_t size : inner.sizes) sizes.push_back(size);
  for (const int64_t stride : inner.strides) strides.push_back(stride);
  return prims::as_strided(container, sizes, strides, inner.offset - outer.offset, at);
}

const void* memory_of(const Tensor& tensor) {
  const TensorImpl* impl = tensor.impl().get();
  if (!impl->proxy) return impl->storage.get();
  while (impl->base) impl = impl->base.get();
  return impl;
}

bool share_memory(const FlatArguments& flat) {
  const auto& tensors = flat.tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (tensors[i]->defined() && tensors[j]->defined() && !tensors[i]->is_same(*tensors[j]) &&
          memory_of(*tensors[i]) == memory_of(*tensors[j]))
        return true;
  return false;
}

bool writes_into_shared(const Recording& recording, const FlatArguments& flat) {
  for (const BoundSymbol& bound : recording.trace.bound_symbols) {
    if (!is_write(bound)) continue;
    for (const RecordedInput& input : recording.inputs) {
      if (input.id != bound.args[1].proxy_id() || input.leaf == RecordedInput::captured) continue;
      const Tensor& written = *flat.tensors()[input.leaf];
      for (const Tensor* other : flat.tensors())
        if (other->defined() && !other->is_same(written) && memory_of(*other) == memory_of(written)) return true;
    }
  }
  return false;
}

}  // namespace fulgurite::detail
