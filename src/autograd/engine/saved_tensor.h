#pragma once
#include <any>
#include <memory>

#include <fulgurite/autograd.h>

#include "tensor/tensor_impl.h"

namespace fulgurite {

class CheckpointedCall;
struct SavedTensorPacking;

/// A tensor that a node saves for backward: the elements without history, and the origin of the history. Nodes must not
/// own tensors whose history leads to the node itself. Inside a checkpointed function it holds no elements but a slot
/// of that call, which recomputes them; under SavedTensorsHooks it holds the packed object.
class SavedTensor {
 public:
  enum class Origin : uint8_t { input, output, inside };
  SavedTensor() = default;
  SavedTensor(const Tensor&, Origin, size_t index);

  bool defined() const { return elements_.defined() || checkpoint_ || packed_; }
  Origin origin() const { return origin_; }
  size_t index() const { return index_; }
  /// Returns true if it was made inside the call and may carry a gradient.
  bool is_floating_inside() const { return defined() && origin_ == Origin::inside && is_floating(dtype_); }
  /// The elements; throws if they were written since. `saved_by` is the node's name.
  Tensor elements(const std::string& saved_by) const;
  /// Copies the elements if they are stored in `storage`, which is about to be written.
  void keep_elements_of(const Storage& storage);
  /// The elements with the history that they have as an input or an output of `node`.
  Tensor with_history(Node& node) const;

 private:
  friend CheckpointedCall;
  struct Packed {
    std::any value;
    std::shared_ptr<const SavedTensorPacking> packing;
  };
  void pack(const Tensor&);
  Tensor elements_;
  uint32_t version_ = 0;
  Origin origin_ = Origin::inside;
  Dtype dtype_ = Dtype::f32;
  size_t index_ = 0;
  std::shared_ptr<CheckpointedCall> checkpoint_;
  size_t slot_ = 0;  // in checkpoint_
  std::shared_ptr<const Packed> packed_;
};

/// The error of a backward through a node whose saved tensors were freed.
[[noreturn]] void throw_already_freed(const std::string& node);

}  // namespace fulgurite
