#pragma once
#include <algorithm>

#include "executors/eager/kernels/common/strided.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The lines along one dimension of tensors whose other dimensions are equal; lines next to one another in the last of
/// these are neighbours. A 0-d tensor is one line of one element.
template <int count>
struct Lines {
  template <class... Tensors>
  explicit Lines(int64_t dim, const Tensors&... tensors) {
    const TensorImpl* const all[] = {tensors.impl().get()...};
    static_assert(sizeof...(Tensors) == count);
    loop.sizes = all[0]->sizes;
    const bool is_scalar = loop.sizes.empty();
    if (dim < 0) dim += static_cast<int64_t>(loop.sizes.size());
    const size_t along = static_cast<size_t>(dim);
    if (!is_scalar) loop.sizes.erase(along);
    for (int k = 0; k < count; ++k) {
      loop.strides[k] = all[k]->strides;
      length[k] = 1;
      if (is_scalar) continue;
      step[k] = loop.strides[k][along];
      length[k] = all[k]->sizes[along];
      loop.strides[k].erase(along);
    }
    loop.merge_dimensions();
  }
  int64_t number() const { return loop.row_count() * loop.row_length(); }
  /// The distance from a line to its neighbour.
  int64_t to_neighbour(int k) const { return loop.strides[k].back(); }

  /// The number of groups of up to `size` neighbours.
  int64_t groups(int64_t size) const { return loop.row_count() * ((loop.row_length() + size - 1) / size); }
  /// Calls f(start of the first line in each tensor, number of lines, the first line's number) for these groups.
  template <class F>
  void visit_groups(int64_t size, int64_t begin, int64_t end, const F& f) const {
    const int64_t row = loop.row_length(), in_row = (row + size - 1) / size;
    RowPosition<count> position(loop, begin / in_row);
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group % in_row * size;
      int64_t places[count];
      for (int k = 0; k < count; ++k) places[k] = position.offsets[k] + first * to_neighbour(k);
      f(static_cast<const int64_t*>(places), std::min(size, row - first), group / in_row * row + first);
      if ((group + 1) % in_row == 0) position.advance();
    }
  }

  StridedLoop<count> loop;  // without the lines' own dimension
  int64_t step[count] = {}, length[count];
};

}  // namespace fulgurite::FULGURITE_KERNELS
