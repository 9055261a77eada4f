#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include <fulgurite/number.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// A number saved for the backward, which reads as its original type.
class SavedNumber {
 public:
  SavedNumber(Int n) : kind_(Kind::integer), integer_(n) {}
  SavedNumber(Float n) : kind_(Kind::floating), floating_(n) {}
  SavedNumber(Bool b) : kind_(Kind::boolean), boolean_(b) {}
  Int integer() const { return integer_; }
  Float floating() const { return kind_ == Kind::integer ? Float(integer_) : floating_; }
  Bool boolean() const { return boolean_; }

 private:
  enum class Kind : uint8_t { integer, floating, boolean };
  Kind kind_;
  Int integer_;
  Float floating_;
  Bool boolean_;
};

// Used by the functions that traces print as (Trace::cpp).

/// The tensors and numbers that a forward saves for its backward.
using SavedForBackward = std::tuple<std::vector<Tensor>, std::vector<SavedNumber>>;
/// The result of a differentiated function's forward.
struct AugmentedForward {
  std::vector<Tensor> output;
  SavedForBackward saved_for_backward;
};
/// The result of a joint forward and backward: the gradients of the arguments, undefined if there is none, and the
/// results.
struct JointResult {
  std::vector<Tensor> output, fw_flat_out;
};

namespace prims {
/// The sizes of a tensor of Count dimensions.
template <size_t Count>
std::array<Int, Count> shape(const Tensor& tensor) {
  std::array<Int, Count> out;
  for (size_t i = 0; i < Count; ++i) out[i] = tensor.size(static_cast<int>(i));
  return out;
}
/// In a joint trace: the cotangent of the result at `position`. Ones stand for the cotangents that a backward's caller
/// would pass.
inline Tensor get_grad(const Tensor& result, int64_t /*position*/) { return ones_like(result); }
}  // namespace prims

/// The results of an operator that returns a list, to be bound to names: auto [a, b] = unpack<2>(split(x, 2));
template <size_t Count>
std::array<Tensor, Count> unpack(const std::vector<Tensor>& tensors) {
  std::array<Tensor, Count> out;
  for (size_t i = 0; i < Count; ++i) out[i] = tensors.at(i);
  return out;
}
/// Releases values before the end of their scope.
template <class... Handles>
void del(Handles&... handles) {
  ((handles = Handles{}), ...);
}
/// Releases a collection's contents.
template <class Collection>
void clear_collection(Collection& collection) {
  collection = Collection{};
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
