#include "ops/shape/shape_rules.h"

#include <algorithm>

#include "ops/core/dispatch.h"

namespace fulgurite {

int64_t wrap_dim(Int dim, int64_t ndim) { return normalize_dim(dim, ndim == 0 ? 1 : ndim); }

SmallVector<int64_t, 6> wrap_dims(std::span<const Int> dims, int64_t ndim) {
  SmallVector<int64_t, 6> wrapped;
  for (const Int dim : dims) {
    const int64_t d = wrap_dim(dim, ndim);
    for (const int64_t other : wrapped) require(other != d, "dimension ", d, " appears twice");
    wrapped.push_back(d);
  }
  return wrapped;
}

TensorType like(const Tensor& x, Shape shape) { return {std::move(shape), x.dtype(), x.device()}; }

Int wrap_index(Int index, Int size) {
  const Int from_front = index < 0 ? index + size : index;
  require(from_front >= 0 && from_front < size, "index ", index.hint(), " is out of range for a dimension of size ",
          size.hint());
  return from_front;
}

Range clamp_range(std::optional<Int> start, std::optional<Int> stop, Int size) {
  const auto clamp = [&](Int n) -> Int {
    if (n < 0) n = n + size;
    if (n < 0) return 0;
    if (n > size) return size;
    return n;
  };
  Range range{start ? clamp(*start) : Int(0), stop ? clamp(*stop) : size};
  if (stop || start)
    if (range.stop < range.start) range.stop = range.start;
  return range;
}

Int step_within(Int step, Int size) {
  if (step.is_symbolic() || size.is_symbolic()) return step;
  return std::min(step.hint(), std::max<int64_t>(size.hint(), 1));
}

Int range_length(const Range& range, Int step) {
  const Int length = range.stop - range.start;
  if (!step.is_symbolic() && step.hint() == 1) return length;
  return (length + step - 1) / step;
}

namespace {

/// Removes a size equal to `size` from `sizes` without reading a symbol's value.
bool cancel(Shape& sizes, Int size) {
  if (!size.is_symbolic() && size.hint() == 0) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool same = size.is_symbolic() ? sizes[i].proxy() == size.proxy()
                                         : !sizes[i].is_symbolic() && sizes[i].hint() == size.hint();
    if (!same) continue;
    sizes.erase(i);
    return true;
  }
  return false;
}

}  // namespace

bool may_be_size(Int n) { return n.hint() >= 0; }

Shape resolve_shape(const Shape& input, std::span<const Int> wanted) {
  Shape shape(wanted.data(), wanted.size());
  // Sizes that occur on both sides are excluded from the products, so that symbols are not guarded.
  const bool symbolic = input.is_symbolic() || shape.is_symbolic();
  Shape rest = symbolic ? input : Shape(), left_out;
  Int known = 1;
  size_t inferred = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!may_be_size(shape[i]) && shape[i] == -1) {
      require(inferred == shape.size(), "only one size may be -1, got ", shape);
      inferred = i;
      continue;
    }
    require(may_be_size(shape[i]), "a size is negative: ", shape);
    if (!symbolic || !cancel(rest, shape[i])) known = known * shape[i];
    else left_out.push_back(shape[i]);
  }
  const Int numel = symbolic ? rest.numel() : input.numel();
  if (inferred == shape.size()) {
    // If an excluded size is 0, both shapes are empty.
    const auto is_empty = [&] {
      return std::ranges::any_of(left_out, [](Int size) { return static_cast<bool>(size == 0); });
    };
    require(static_cast<bool>(numel == known) || is_empty(), "a tensor of shape ", input, " cannot have the shape ",
            shape, ": the numbers of elements differ");
    return shape;
  }
  require(known != 0, "the size -1 could be anything in ", shape, " beside a size of 0");
  // The sizes excluded from the product count here.
  for (size_t i = 0; i < shape.size() && symbolic; ++i)
    require(i == inferred || shape[i] != 0, "the size -1 could be anything in ", shape, " beside a size of 0");
  if (!known.is_symbolic() && known.hint() == 1) {
    shape[inferred] = numel;
    return shape;
  }
  require(numel % known == 0, "a tensor of shape ", input, " cannot have the shape ", shape, ": ", numel.hint(),
          " elements cannot be divided by ", known.hint());
  shape[inferred] = numel / known;
  return shape;
}

bool reshape_strides(const Sizes& sizes, const Sizes& strides, const Sizes& wanted, Sizes& result) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  if (numel == 0 || sizes.empty()) {
    result = contiguous_strides(wanted);
    return true;
  }
  result = Sizes(wanted.size());
  int64_t to = static_cast<int64_t>(wanted.size()) - 1;
  int64_t base = strides.back(), elements = 1, placed = 1;  // of the block of contiguous dimensions
  for (int64_t from = static_cast<int64_t>(sizes.size()) - 1; from >= 0; --from) {
    elements *= sizes[from];
    const bool block_ends = from == 0 || (sizes[from - 1] != 1 && strides[from - 1] != elements * base);
    if (!block_ends) continue;
    while (to >= 0 && (placed < elements || wanted[to] == 1)) {
      result[to] = placed * base;
      placed *= wanted[to];
      --to;
    }
    if (placed != elements) return false;
    if (from > 0) {
      base = strides[from - 1];
      elements = placed = 1;
    }
  }
  return to == -1;
}

Sizes concrete_sizes(const Shape& shape) {
  Sizes sizes;
  sizes.reserve(shape.size());
  for (const Int size : shape) sizes.push_back(size);
  return sizes;
}

ViewGeometry geometry_of(const Tensor& x) { return {x.impl()->sizes, x.impl()->strides, x.impl()->offset}; }

}  // namespace fulgurite
