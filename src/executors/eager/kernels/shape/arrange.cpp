#include <algorithm>
#include <cstring>

#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/strided.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

// Operators that move elements: cat, flip, pad and the triangles of matrices.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

void cat_kernel(Arguments arguments, std::span<const Tensor> results) {
  const TensorImpl& result = *results[0].impl();
  int64_t dim = arguments[1].integer();
  if (dim < 0) dim += static_cast<int64_t>(result.sizes.size());
  int64_t offset = result.offset;
  for (const Tensor& part : arguments[0].tensors()) {
    const Sizes& sizes = sizes_of(part);
    if (sizes.size() != result.sizes.size() || part.impl()->numel() == 0) continue;  // empty operands add nothing
    copy_elements(part, make_view(result.storage, sizes, result.strides, offset, result.dtype));
    offset += sizes[dim] * result.strides[dim];
  }
}

/// result = the elements of `input` from `start` on, with strides of either sign.
void copy_turned(const Tensor& input, int64_t start, const Sizes& strides, const Tensor& result) {
  if (result.impl()->numel() == 0) return;
  StridedLoop<2> loop{sizes_of(result), {strides, strides_of(result)}};
  loop.merge_dimensions();
  const int64_t count = loop.row_length(), step = loop.strides[0].back(), result_step = loop.strides[1].back();
  visit_size(result.impl()->dtype, [&]<class Element>() {
    const Element* from = data_of<Element>(input) + start;
    Element* to = data_of<Element>(result);
    parallel_for(loop.row_count(), grain_of(count), [&](int64_t begin, int64_t end) {
      RowPosition<2> position(loop, begin);
      for (int64_t row = begin; row < end; ++row, position.advance())
        for (int64_t j = 0; j < count; ++j)
          to[position.offsets[1] + j * result_step] = from[position.offsets[0] + j * step];
    });
  });
}

void flip_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& input = arguments[0].tensor();
  const Sizes& sizes = sizes_of(input);
  Sizes strides = strides_of(input);
  int64_t start = 0;
  for (const Int given : arguments[1].integers()) {
    int64_t dim = given;
    if (dim < 0) dim += static_cast<int64_t>(sizes.size());
    if (sizes.empty() || sizes[dim] == 0) continue;
    start += (sizes[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  copy_turned(input, start, strides, results[0]);
}

void pad_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &input = arguments[0].tensor(), &result = results[0];
  const TensorImpl& whole = *result.impl();
  const double value = arguments[3].floating();
  const int64_t count = whole.numel();
  visit_dtype(whole.dtype, [&]<class Element>() {
    const Element element = element_of<Element>(value);
    Element* to = data_of<Element>(result);
    parallel_for(count, 32768, [=](int64_t begin, int64_t end) { std::fill(to + begin, to + end, element); });
  });
  if (input.impl()->numel() == 0) return;
  int64_t offset = whole.offset;
  const std::span<const Int> low = arguments[1].integers();
  for (size_t d = 0; d < low.size(); ++d) offset += low[d] * whole.strides[d];
  copy_elements(input, make_view(whole.storage, sizes_of(input), whole.strides, offset, whole.dtype));
}

template <bool lower>
void triangle_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &input = arguments[0].tensor(), &result = results[0];
  const Sizes& sizes = sizes_of(result);
  const int64_t rows = sizes[sizes.size() - 2], columns = sizes.back();
  const int64_t diagonal = std::clamp<int64_t>(arguments[1].integer(), -rows - 1, columns + 1);
  if (result.impl()->numel() == 0) return;
  const int64_t step = strides_of(input).back();
  StridedLoop<1> loop{sizes, {strides_of(input)}};  // its rows are the matrices'
  visit_size(result.impl()->dtype, [&]<class Element>() {
    const Element* from = data_of<Element>(input);
    Element* to = data_of<Element>(result);
    parallel_for(loop.row_count(), grain_of(columns), [&](int64_t begin, int64_t end) {
      RowPosition<1> position(loop, begin);
      for (int64_t row = begin; row < end; ++row, position.advance()) {
        const int64_t edge = std::clamp<int64_t>(row % rows + diagonal + (lower ? 1 : 0), 0, columns);
        const int64_t first = lower ? 0 : edge, last = lower ? edge : columns;
        Element* const out = to + row * columns;
        std::fill(out, out + first, Element(0));
        for (int64_t j = first; j < last; ++j) out[j] = from[position.offsets[0] + j * step];
        std::fill(out + last, out + columns, Element(0));
      }
    });
  });
}

/// Zeros, with the elements along a diagonal of two of the dimensions.
void diag_embed_kernel(Arguments arguments, std::span<const Tensor> results) {
  const TensorImpl& to = *results[0].impl();
  const int64_t ndim = static_cast<int64_t>(to.sizes.size()), count = to.numel() * size_of(to.dtype);
  parallel_for(count, 131072, [&](int64_t begin, int64_t end) {
    std::memset(to.data() + begin, 0, static_cast<size_t>(end - begin));
  });
  if (arguments[0].tensor().impl()->numel() == 0) return;
  const int64_t offset = arguments[1].integer();
  size_t dims[2];
  for (size_t i = 0; i < 2; ++i) {
    const int64_t dim = arguments[2 + i].integer();
    dims[i] = static_cast<size_t>(dim < 0 ? dim + ndim : dim);
  }
  Sizes strides;
  for (size_t d = 0; d < to.sizes.size(); ++d)
    if (d != dims[0] && d != dims[1]) strides.push_back(to.strides[d]);
  strides.push_back(to.strides[dims[0]] + to.strides[dims[1]]);
  const int64_t first = offset >= 0 ? offset * to.strides[dims[1]] : -offset * to.strides[dims[0]];
  copy_elements(arguments[0].tensor(),
                make_view(to.storage, sizes_of(arguments[0].tensor()), strides, to.offset + first, to.dtype));
}

bool is_matrix(Arguments arguments) { return arguments[0].tensor().ndim() >= 2; }

}  // namespace

KernelTable arrange_kernels() {
  static constexpr KernelEntry table[] = {
      {&cat_symbol, cat_kernel},
      {&flip_symbol, flip_kernel},
      {&prims_pad_symbol, pad_kernel},
      {&tril_symbol, triangle_kernel<true>, is_matrix},
      {&diag_embed_symbol, diag_embed_kernel},
      {&triu_symbol, triangle_kernel<false>, is_matrix},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
