#pragma once
#include <unordered_map>
#include <vector>

#include "tensor/tensor_impl.h"
#include "tracing/trace_builder.h"

namespace fulgurite {

/// Gives the values that leave a recording memory of their own. In a trace two tensors may share a value (after copy_),
/// which eager mode stores twice.
class OwnMemory {
 public:
  explicit OwnMemory(TraceBuilder&);
  /// The value of `handle`, which is `owner` or a view of it: a copy if its memory is an argument's or another owner's.
  /// A value left in another memory order by a write is made contiguous.
  Value of(const Value& value, const Tensor& handle, const Tensor& owner);

 private:
  Value bound(const Symbol&, const detail::Ref<TensorProxy>&);

  TraceBuilder& builder_;
  std::vector<int> roots_;                             // by proxy id
  std::unordered_map<int, const TensorImpl*> owners_;  // by the root's id; null: an argument
};

}  // namespace fulgurite
