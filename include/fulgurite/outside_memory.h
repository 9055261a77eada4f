#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// For front ends that hand in memory of other libraries: several tensors over one memory, and what is known of their
// storage.

/// Memory of another owner. Tensors in it share one storage, so that writes through one are counted for all. Copies are
/// the same memory.
class OutsideMemory {
 public:
  OutsideMemory() = default;
  /// `release` is called once, when neither a handle nor a tensor refers to the memory any more, on whatever thread
  /// that is. UserError where `data` is null though `bytes` is not 0, or `bytes` is negative.
  static OutsideMemory adopt(void* data, int64_t bytes, std::function<void()> release,
                             SourceLocation at = SourceLocation::here());
  /// Its size; 0 where none was adopted.
  int64_t bytes() const;
  /// A tensor in the memory: sizes, strides and offset count elements. UserError where an element is outside of the
  /// memory or not aligned.
  Tensor tensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset, Dtype dtype,
                SourceLocation at = SourceLocation::here()) const;

 private:
  Tensor whole_;  // u8, one dimension
};

/// Returns the number of writes into the tensor's storage. Tensors made in inference mode have no count: 0.
uint64_t write_count(const Tensor&, SourceLocation at = SourceLocation::here());
/// True if two tensors have one storage; in a traced function, if they are views of one tensor. Undefined ones share
/// nothing.
bool shares_memory(const Tensor&, const Tensor&);
/// True if two tensors are the same elements of one storage, in the same order and dtype.
bool is_same_view(const Tensor&, const Tensor&);
/// Another tensor over the same elements, without history.
Tensor alias(const Tensor&, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
