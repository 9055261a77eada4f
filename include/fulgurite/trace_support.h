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

/// A number that a forward saved for its backward; it is read as what it was.
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

// What the functions that traces print as (Trace::cpp) are made of.

/// The tensors and numbers that a forward hands to its backward.
using SavedForBackward = std::tuple<std::vector<Tensor>, std::vector<SavedNumber>>;
/// What the forward of a differentiated function returns.
struct AugmentedForward {
  std::vector<Tensor> output;
  SavedForBackward saved_for_backward;
};
/// What a joint forward and backward returns: the gradients of the arguments, undefined where there is none, and the results.
struct JointResult {
  std::vector<Tensor> output, fw_flat_out;
};

namespace prims {
/// The sizes of a tensor of so many dimensions.
template <size_t Count>
std::array<Int, Count> shape(const Tensor& tensor) {
  std::array<Int, Count> out;
  for (size_t i = 0; i < Count; ++i) out[i] = tensor.size(static_cast<int>(i));
  return out;
}
/// In a joint trace: the cotangent of the result at `position`. Ones stand for what the caller of a backward would give.
inline Tensor get_grad(const Tensor& result, int64_t /*position*/) { return ones_like(result); }
}  // namespace prims

/// The results of an operator that gives a list, to be bound to names: auto [a, b] = unpack<2>(split(x, 2));
template <size_t Count>
std::array<Tensor, Count> unpack(const std::vector<Tensor>& tensors) {
  std::array<Tensor, Count> out;
  for (size_t i = 0; i < Count; ++i) out[i] = tensors.at(i);
  return out;
}
/// Ends the life of values before the end of their scope.
template <class... Handles>
void del(Handles&... handles) {
  ((handles = Handles{}), ...);
}
/// Lets go of what a collection holds.
template <class Collection>
void clear_collection(Collection& collection) {
  collection = Collection{};
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
