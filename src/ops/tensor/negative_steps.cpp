// Slices with a negative step, x(Slice(None, None, -1)): strides are not negative, so that the elements are those of a
// forward slice, in the opposite order.
#include "ops/tensor/negative_steps.h"

#include <algorithm>

#include <fulgurite/error.h>

namespace fulgurite {

namespace {

bool is_negative(const Argument& index) {
  return index.kind() == Argument::Kind::slice && index.slice().step && *index.slice().step < 0;
}

/// An end of a slice with a negative step, counted from the front: from -1, before the first element, to size - 1.
Int clamp_end(const std::optional<Int>& end, Int size, Int absent) {
  if (!end) return absent;
  const Int counted = *end < 0 ? *end + size : *end;
  if (counted < 0) return -1;
  return counted < size ? counted : size - 1;
}

/// The slice with a positive step that has the same elements.
Slice forward_slice(const Slice& slice, Int size) {
  const Int step = -*slice.step, first = clamp_end(slice.start, size, size - 1), end = clamp_end(slice.stop, size, -1);
  if (first <= end) return {0, 0};
  const Int last = first - (first - end - 1) / step * step;
  return {last, first + 1, step};
}

}  // namespace

bool has_negative_step(std::span<const Argument> indices) { return std::ranges::any_of(indices, is_negative); }

ForwardIndices forward_indices(const Tensor& x, std::span<const Argument> indices, SourceLocation at) {
  ForwardIndices out;
  out.slices.reserve(indices.size());  // arguments refer to them
  const auto takes_dimension = [](const Argument& index) {
    return index.kind() == Argument::Kind::integer || index.kind() == Argument::Kind::slice;
  };
  const int64_t taken = std::ranges::count_if(indices, takes_dimension);
  int64_t dim = 0, result_dim = 0;  // of x; of the result
  for (const Argument& index : indices) {
    switch (index.kind()) {
      case Argument::Kind::integer: ++dim; break;
      case Argument::Kind::none: ++result_dim; break;
      case Argument::Kind::slice: ++dim, ++result_dim; break;
      case Argument::Kind::ellipsis: {
        const int64_t rest = std::max<int64_t>(x.ndim() - taken, 0);
        dim += rest, result_dim += rest;
        break;
      }
      default:
        throw UserError("x(…): a slice with a negative step stands beside a tensor, a mask or a list; flip() first",
                        at);
    }
    if (!is_negative(index) || dim > x.ndim()) {
      out.indices.push_back(index);
      continue;
    }
    out.slices.push_back(forward_slice(index.slice(), x.size(static_cast<int>(dim - 1))));
    out.indices.emplace_back(out.slices.back());
    out.flipped.emplace_back(result_dim - 1);
  }
  return out;
}

}  // namespace fulgurite
