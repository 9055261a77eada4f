// Common shapes and dtypes of operands.
#include "ops/core/dispatch.h"

namespace fulgurite {

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Int& size = result[offset + i];
    const Int other = shorter[i];
    if (size.proxy() == other.proxy() && size.hint() == other.hint()) continue;  // one symbol: no guard is needed
    if (size == 1) {
      size = other;
      continue;
    }
    require(other == 1 || size == other, "shapes ", a, " and ", b, " do not broadcast: sizes ", size.hint(), " and ",
            other.hint(), " differ");
  }
  return result;
}

namespace {

// Operands of one rank: tensors with dimensions, tensors without, or numbers.
struct Rank {
  bool given = false;
  Dtype dtype = Dtype::boolean;
  void add(Dtype other) {
    dtype = given ? promote_types(dtype, other) : other;
    given = true;
  }
};

// A lower rank counts only if it is of a higher category: boolean < integer < floating.
Rank combine(const Rank& higher, const Rank& lower) {
  if (!lower.given) return higher;
  if (!higher.given) return lower;
  if (is_floating(higher.dtype)) return higher;
  if (is_boolean(higher.dtype) || is_floating(lower.dtype)) return {true, promote_types(higher.dtype, lower.dtype)};
  return higher;
}

}  // namespace

Dtype result_dtype(Arguments operands) {
  Rank tensors, scalars, numbers;
  for (const Argument& operand : operands) {
    switch (operand.kind()) {
      case Argument::Kind::tensor:
        (operand.tensor().ndim() > 0 ? tensors : scalars).add(operand.tensor().dtype());
        break;
      case Argument::Kind::integer: numbers.add(Dtype::i64); break;
      case Argument::Kind::floating: numbers.add(default_dtype()); break;
      case Argument::Kind::boolean: numbers.add(Dtype::boolean); break;
      default: break;
    }
  }
  return combine(tensors, combine(scalars, numbers)).dtype;
}

int64_t normalize_dim(int64_t dim, int64_t ndim) {
  const int64_t count = ndim > 0 ? ndim : 1;  // a tensor without dimensions accepts dim 0 and -1
  require(dim >= -count && dim < count, "dim ", dim, " is out of range for ", ndim,
          ndim == 1 ? " dimension" : " dimensions");
  return dim < 0 ? dim + count : dim;
}

}  // namespace fulgurite
