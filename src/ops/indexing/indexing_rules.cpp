#include "ops/indexing/indexing_rules.h"

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

bool is_mask(const Tensor& index) { return index.dtype() == Dtype::boolean || index.dtype() == Dtype::u8; }

/// One i64 tensor for each dimension of the mask: the indices of its true elements, in row-major order.
std::vector<Tensor> true_indices(const Tensor& mask, SourceLocation at) {
  if (Interpreter* interpreter = innermost_interpreter()) interpreter->demand_value(mask, "a mask as an index", at);
  require(!is_proxy(mask),
          "a mask as an index gives a result whose size depends on its values, which are not known while "
          "tracing; use where(mask, x, other), or index outside the traced function");
  const InterpreterScope eager(nullptr);
  const Sizes sizes = mask.impl()->sizes;
  const size_t ndim = sizes.size();
  std::vector<std::vector<int64_t>> positions(ndim);
  std::vector<int64_t> position(ndim, 0);
  const std::vector<int64_t> flags = mask.to(Dtype::i64, at).to_vector<int64_t>(at);
  for (const int64_t flag : flags) {
    if (flag != 0)
      for (size_t d = 0; d < ndim; ++d) positions[d].push_back(position[d]);
    for (size_t d = ndim; d-- > 0;) {
      if (++position[d] < sizes[d]) break;
      position[d] = 0;
    }
  }
  std::vector<Tensor> tensors;
  for (const std::vector<int64_t>& numbers : positions)
    tensors.push_back(tensor(numbers, {.device = mask.device()}, at));
  return tensors;
}

void check_mask(const Shape& shape, int64_t dim, const Shape& mask) {
  require(dim + mask.size() <= shape.size(), "the mask's shape ", mask, " does not fit the indexed shape ", shape,
          " at dimension ", dim);
  for (size_t d = 0; d < mask.size(); ++d)
    require(mask[d] == shape[dim + d], "the mask's shape ", mask, " does not match the indexed shape ", shape,
            " at dimension ", dim + d);
}

/// Appends the index tensors of one mask or integer tensor at dimension `dim`; returns the number of dimensions it
/// indexes.
int64_t append_index(std::vector<Tensor>& indices, const Tensor& input, int64_t dim, const Tensor& index,
                     SourceLocation at) {
  if (!is_mask(index)) {
    indices.push_back(index);
    return 1;
  }
  check_mask(input.shape(), dim, index.shape());
  for (const Tensor& position : true_indices(index, at)) indices.push_back(position);
  return index.ndim();
}

/// A one-dimensional i64 tensor; while tracing, created by the trace.
Tensor integer_tensor(const std::vector<Int>& numbers, SourceLocation at) {
  if (innermost_interpreter()) return prims::integer_tensor(numbers, at);
  std::vector<int64_t> values;
  for (const Int n : numbers) values.push_back(n);
  return tensor(values, {}, at);
}

/// Flattens lists of numbers, possibly nested, into one tensor.
void flatten_list(const Argument& list, size_t depth, Shape& sizes, std::vector<Int>& numbers, bool& booleans) {
  if (list.kind() == Argument::Kind::list || list.kind() == Argument::Kind::integers) {
    const size_t count = list.kind() == Argument::Kind::list ? list.list().size() : list.integers().size();
    if (sizes.size() == depth) sizes.push_back(count);
    require(sizes[depth] == count, "the rows of an index list have different lengths");
    if (list.kind() == Argument::Kind::integers) {
      for (const Int n : list.integers()) numbers.push_back(n);
      return;
    }
    for (const Argument& item : list.list()) flatten_list(item, depth + 1, sizes, numbers, booleans);
    return;
  }
  require(list.is_integer() || list.is_boolean(), "an index list holds something other than integers and bools");
  booleans = list.is_boolean();
  numbers.push_back(list.integer());
}

Tensor list_tensor(const Argument& list, SourceLocation at) {
  Shape sizes;
  std::vector<Int> numbers;
  bool booleans = false;
  flatten_list(list, 0, sizes, numbers, booleans);
  Tensor result = integer_tensor(numbers, at);
  if (sizes.size() > 1) result = reshape(result, sizes, at);
  return booleans ? prims::convert_element_type(result, Dtype::boolean, at) : result;
}

/// The number of the tensor's dimensions that one index consumes.
int64_t dimensions_taken(const Argument& index) {
  switch (index.kind()) {
    case Argument::Kind::none:
    case Argument::Kind::ellipsis:
    case Argument::Kind::boolean: return 0;
    case Argument::Kind::tensor: return is_mask(index.tensor()) ? index.tensor().ndim() : 1;
    default: return 1;
  }
}

}  // namespace

Shape indexed_shape(const Tensor& input, std::span<const Tensor> indices) {
  const Shape shape = input.shape();
  require(indices.size() <= shape.size(), indices.size(), " indexes for a tensor of ", shape.size(), " dimensions");
  Shape positions;
  int64_t first = -1, last = -1, count = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    require(is_integer(indices[d].dtype()), "an index tensor must hold integers, got ", indices[d].dtype());
    positions = count == 0 ? indices[d].shape() : broadcast_shapes(positions, indices[d].shape());
    if (first < 0) first = static_cast<int64_t>(d);
    last = static_cast<int64_t>(d);
    ++count;
  }
  require(count > 0, "no index tensor is given");
  const bool adjacent = last - first + 1 == count;
  Shape result;
  const auto add_indices = [&] {
    for (const Int size : positions) result.push_back(size);
  };
  if (!adjacent) add_indices();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (adjacent && static_cast<int64_t>(d) == first) add_indices();
    if (d >= indices.size() || !indices[d].defined()) result.push_back(shape[d]);
  }
  return result;
}

std::vector<Tensor> integer_indices(const Tensor& input, const std::vector<Tensor>& indices, SourceLocation at) {
  std::vector<Tensor> result;
  int64_t dim = 0;
  for (const Tensor& index : indices) {
    if (index.defined()) {
      dim += append_index(result, input, dim, index, at);
    } else {
      result.emplace_back();
      ++dim;
    }
  }
  return result;
}

Tensor put_under_mask(const Tensor& input, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate,
                      SourceLocation at) {
  // The mask may be preceded and followed by full dimensions.
  size_t dim = 0;
  while (dim < indices.size() && !indices[dim].defined()) ++dim;
  if (dim == indices.size() || !is_mask(indices[dim]) || indices[dim].ndim() == 0) return {};
  for (size_t i = dim + 1; i < indices.size(); ++i)
    if (indices[i].defined()) return {};
  const Tensor& given = indices[dim];
  check_mask(input.shape(), static_cast<int64_t>(dim), given.shape());
  const auto behind = static_cast<size_t>(input.ndim() - given.ndim()) - dim;
  Shape sizes = values.shape();
  if (sizes.size() > dim + 1 + behind || values.dtype() != input.dtype()) return {};
  if (sizes.size() > behind) {
    // One size covers all positions.
    const size_t positions = sizes.size() - behind - 1;
    if (!(sizes[positions] == 1)) return {};
    for (int64_t d = 1; d < given.ndim(); ++d) sizes.insert(static_cast<int64_t>(positions), 1);
  }
  if (!(broadcast_shapes(sizes, input.shape()) == input.shape())) return {};
  const Tensor spread = reshape(values, sizes, at);
  const Tensor written = accumulate ? add(input, spread, 1, at) : spread;
  Shape positions = given.shape();
  positions.resize(positions.size() + behind, 1);
  const Tensor boolean =
      given.dtype() == Dtype::boolean ? given : prims::convert_element_type(given, Dtype::boolean, at);
  return where(reshape(boolean, positions, at), written, input, at);
}

bool is_whole(std::span<const Argument> indices) {
  for (const Argument& index : indices) {
    if (index.kind() == Argument::Kind::ellipsis) continue;
    if (index.kind() != Argument::Kind::slice) return false;
    const Slice& s = index.slice();
    if (s.start || s.stop || s.step) return false;
  }
  return true;
}

IndexedView indexed_view(const Tensor& input, std::span<const Argument> indices, SourceLocation at) {
  int64_t taken = 0, ellipses = 0;
  for (const Argument& index : indices) {
    taken += dimensions_taken(index);
    ellipses += index.kind() == Argument::Kind::ellipsis;
  }
  require(ellipses <= 1, "an index has at most one Ellipsis");
  require(taken <= input.ndim(), "too many indexes: ", taken, " for a tensor of ", input.ndim(), " dimensions");

  // Integers, slices and None first, as views; index tensors wait for the one prims.index at the end.
  Tensor x = input;
  std::vector<Tensor> waiting;
  int64_t dim = 0, listed = 0;  // dimensions so far, and those that `waiting` indexes
  const auto wait = [&](const Tensor& index) {
    for (; listed < dim; ++listed) waiting.emplace_back();
    waiting.push_back(index);
    dim += is_mask(index) ? index.ndim() : 1;
    listed = dim;
  };
  for (const Argument& index : indices) {
    switch (index.kind()) {
      case Argument::Kind::integer: x = select(x, dim, index.integer(), at); break;
      case Argument::Kind::slice: {
        const Slice& s = index.slice();
        if (s.start || s.stop || s.step) x = prims::slice(x, dim, s.start, s.stop, s.step.value_or(1), at);
        ++dim;
        break;
      }
      case Argument::Kind::ellipsis: dim += input.ndim() - taken; break;
      case Argument::Kind::none: x = unsqueeze(x, dim++, at); break;
      case Argument::Kind::boolean: {
        // A bool is a mask without dimensions: one new dimension of size 1 or 0.
        x = unsqueeze(x, dim, at);
        wait(integer_tensor(std::vector<Int>(index.boolean() ? 1 : 0, 0), at));
        break;
      }
      case Argument::Kind::tensor: {
        const Tensor& t = index.tensor();
        if (t.ndim() == 0 && is_mask(t)) {
          x = unsqueeze(x, dim, at);
          wait(reshape(t, {1}, at));
        } else {
          wait(t);
        }
        break;
      }
      case Argument::Kind::integers:
      case Argument::Kind::list: wait(list_tensor(index, at)); break;
      default: require(false, "an index is not an integer, slice, Ellipsis, None, tensor or list of integers");
    }
  }
  return {x, waiting};
}

Tensor index_with(const Tensor& input, std::span<const Argument> indices, SourceLocation at) {
  const IndexedView indexed = indexed_view(input, indices, at);
  if (indexed.indices.empty()) return indexed.view;
  const std::vector<Tensor> positions = integer_indices(indexed.view, indexed.indices, at);
  return prims::index(indexed.view, positions, at);
}

}  // namespace fulgurite
