#include "transforms/grad/broadcast_shapes.h"

#include <algorithm>

#include <fulgurite/operators.h>

namespace fulgurite {

bool sums_to(const Shape& from, const Shape& shape) {
  if (from.size() < shape.size()) return false;
  const size_t added = from.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (!(shape[i] == from[i + added]) && !(shape[i] == 1)) return false;
  return true;
}

bool is_same_shape(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Int x, Int y) { return x.proxy() == y.proxy() && x.hint() == y.hint(); });
}

Tensor sum_to_shape(const Tensor& cotangent, const Shape& shape) {
  const Shape from = cotangent.shape();
  if (from.size() == shape.size() && from == shape) return cotangent;
  const size_t added = from.size() - shape.size();
  Shape dims;
  bool stretched = false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i < added) {
      dims.push_back(static_cast<int64_t>(i));
    } else if (shape[i - added] == 1 && from[i] != 1) {
      dims.push_back(static_cast<int64_t>(i));
      stretched = true;
    }
  }
  const Tensor total = dims.empty() ? cotangent : sum(cotangent, dims, stretched);
  return stretched && added > 0 ? reshape(total, shape) : total;
}

}  // namespace fulgurite
