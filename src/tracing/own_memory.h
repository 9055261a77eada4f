#pragma once
#include <unordered_map>
#include <vector>

#include "tracing/tracer.h"

namespace fulgurite {

/// Gives the values that leave a recording memory of their own. In a trace two tensors may share a value (after copy_), which eager mode
/// keeps in two places.
class OwnMemory {
 public:
  explicit OwnMemory(Tracer&);
  /// The value of `handle`, which is `owner` or a view of it: a copy where its memory is an argument's or another owner's. What a write
  /// left in another order of its elements is brought into the usual one.
  Value of(const Tensor& handle, const Tensor& owner);

 private:
  Value bound(const Symbol&, const detail::Ref<TensorProxy>&);

  Tracer& tracer_;
  std::vector<int> roots_;  // by proxy id
  std::unordered_map<int, const TensorImpl*> owners_;  // by the root's id; null: an argument
};

}  // namespace fulgurite
