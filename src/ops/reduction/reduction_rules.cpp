#include "ops/reduction/reduction_rules.h"

#include <fulgurite/operators.h>

namespace fulgurite {

SmallVector<bool, 6> reduced_dims(const Argument& dims, int64_t ndim) {
  const std::span<const Int> given = dims.integers();
  SmallVector<bool, 6> reduced;
  reduced.resize(static_cast<size_t>(ndim), given.empty());
  for (const Int dim : given) {
    const int64_t position = normalize_dim(dim, ndim);
    if (ndim == 0) {
      require(given.size() == 1, "dim 0 appears twice");
      continue;
    }
    require(!reduced[position], "dim ", position, " appears twice");
    reduced[position] = true;
  }
  return reduced;
}

Shape reduced_shape(const Shape& input, const Argument& dims, bool keepdim) {
  const SmallVector<bool, 6> reduced = reduced_dims(dims, static_cast<int64_t>(input.size()));
  Shape shape;
  for (size_t i = 0; i < input.size(); ++i) {
    if (!reduced[i]) shape.push_back(input[i]);
    else if (keepdim) shape.push_back(1);
  }
  return shape;
}

Int reduced_count(const Shape& input, const Argument& dims) {
  const SmallVector<bool, 6> reduced = reduced_dims(dims, static_cast<int64_t>(input.size()));
  Int count = 1;
  for (size_t i = 0; i < input.size(); ++i)
    if (reduced[i]) count *= input[i];
  return count;
}

Dims as_dims(const Argument& dims) { return Dims(dims.shape()); }

Tensor with_reduced_dims(const Tensor& reduced, const Shape& input, const Argument& dims, bool keepdim) {
  if (keepdim || input.empty()) return reduced;
  return reshape(reduced, reduced_shape(input, dims, true));
}

Tensor expanded_to_input(const Tensor& reduced, const Shape& input, const Argument& dims, bool keepdim) {
  const Tensor full = with_reduced_dims(reduced, input, dims, keepdim);
  return input.empty() ? full : expand(full, input);
}

void require_elements(const Tensor& input, const Argument& dims) {
  const Shape shape = input.shape();
  const SmallVector<bool, 6> reduced = reduced_dims(dims, static_cast<int64_t>(shape.size()));
  for (size_t i = 0; i < shape.size(); ++i)
    if (reduced[i]) require(shape[i] != 0, "dim ", i, " has no elements, and there is no value to give for none");
}

}  // namespace fulgurite
