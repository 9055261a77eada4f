#include "executors/eager/kernels/common/indexed.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

void gather_kernel(Arguments arguments, std::span<const Tensor> results) {
  const OffsetsAlong places(arguments[0].tensor(), arguments[1].integer(), arguments[2].tensor(), results[0]);
  if (places.is_empty()) return;
  visit_size(results[0].impl()->dtype, [&]<class Element>() {
    const Element* from = data_of<Element>(arguments[0].tensor());
    Element* to = data_of<Element>(results[0]);
    places.visit_rows(
        [&](int64_t input, int64_t result, int64_t input_step, int64_t result_step, const auto& place, int64_t count) {
          for (int64_t j = 0; j < count; ++j) to[result + j * result_step] = from[input + j * input_step + place(j)];
        },
        true);
  });
}

// Gathers elements of `input` at indices, with any strides.
void index_kernel(Arguments arguments, std::span<const Tensor> results) {
  const IndexedOffsets places(arguments[0].tensor(), arguments[1].tensors());
  places.read(arguments[0].tensor(), results[0]);
}

void index_select_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& input = arguments[0].tensor();
  const int64_t ndim = static_cast<int64_t>(sizes_of(input).size());
  if (ndim == 0) {
    const Tensor index = contiguous_elements(arguments[2].tensor());
    visit_index(index.impl()->dtype,
                [&]<class Index>() { counted_place(static_cast<int64_t>(*data_of<Index>(index)), 1); });
    copy_elements(input, results[0]);
    return;
  }
  int64_t dim = arguments[1].integer();
  if (dim < 0) dim += ndim;
  SmallVector<Tensor, 6> indices(static_cast<size_t>(dim) + 1);
  indices.back() = arguments[2].tensor();
  const IndexedOffsets places(input, {indices.data(), indices.size()}, false);
  places.read(input, results[0]);
}

void embedding_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& index = arguments[0].tensor();
  const IndexedOffsets places(arguments[1].tensor(), {&index, 1}, false);
  places.read(arguments[1].tensor(), results[0]);
}

// Each row of the table adds up its own rows of the cotangent, in order: results do not depend on how the table is
// divided.
template <class Element>
void add_up_rows(const Element* grad, const int64_t* first, const int64_t* next, int64_t begin, int64_t end,
                 int64_t width, Element* to) {
  using T = Compute<Element>;
  const Scratch<T> sum(width);
  for (int64_t row = begin; row < end; ++row) {
    Element* const out = to + row * width;
    int64_t i = first[row];
    if (i < 0) {
      std::memset(static_cast<void*>(out), 0, static_cast<size_t>(width) * sizeof(Element));
      continue;
    }
    for (int64_t j = 0; j < width; ++j) sum[j] = widen(grad[i * width + j]);
    for (i = next[i]; i >= 0; i = next[i])
      for (int64_t j = 0; j < width; ++j) sum[j] += widen(grad[i * width + j]);
    for (int64_t j = 0; j < width; ++j) out[j] = narrow<Element>(sum[j]);
  }
}

void embedding_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor grad = contiguous_elements(arguments[0].tensor()), indices = contiguous_elements(arguments[1].tensor());
  const int64_t rows = sizes_of(results[0])[0], width = sizes_of(results[0])[1], padding = arguments[3].integer();
  const int64_t count = indices.impl()->numel();
  if (rows * width == 0) return;
  // For each row of the table, a linked list of its rows of the cotangent, in order.
  const Scratch<int64_t> first(rows), next(count);
  for (int64_t row = 0; row < rows; ++row) first[row] = -1;
  visit_index(indices.impl()->dtype, [&]<class Index>() {
    const Index* numbers = data_of<Index>(indices);
    for (int64_t i = count; i-- > 0;) {
      const int64_t row = counted_place(static_cast<int64_t>(numbers[i]), rows);
      if (row == padding) continue;
      next[i] = first[row];
      first[row] = i;
    }
  });
  visit_dtype(results[0].impl()->dtype, [&]<class Element>() {
    if constexpr (!std::is_same_v<Element, Boolean>)
      parallel_for(rows, grain_of((rows + count) * width / rows), [&](int64_t begin, int64_t end) {
        add_up_rows(data_of<Element>(grad), first.data(), next.data(), begin, end, width, data_of<Element>(results[0]));
      });
  });
}

}  // namespace

KernelTable gather_kernels() {
  static constexpr KernelEntry table[] = {
      {&gather_symbol, gather_kernel},
      {&prims_index_symbol, index_kernel},
      {&index_select_symbol, index_select_kernel},
  };
  return table;
}

KernelTable embedding_kernels() {
  static constexpr KernelEntry table[] = {
      {&embedding_symbol, embedding_kernel, [](Arguments a) { return a[3].is_none(); }},  // no max_norm
      {&prims_embedding_backward_symbol, embedding_backward_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
