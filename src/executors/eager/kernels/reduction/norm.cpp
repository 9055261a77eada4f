#include <algorithm>

#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/streamed.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

struct Rows {
  int64_t count = 1, size = 1;
};
/// A tensor as rows of its last `normalized` dimensions.
Rows rows_of(const Tensor& t, size_t normalized) {
  const Sizes& sizes = sizes_of(t);
  Rows rows;
  for (size_t d = 0; d < sizes.size(); ++d) (d + normalized < sizes.size() ? rows.count : rows.size) *= sizes[d];
  return rows;
}

/// Reads `count` elements of a tensor, widened; does nothing for an undefined tensor.
template <class T>
void read_widened(const Tensor& t, T* to, int64_t count) {
  const Tensor whole = contiguous_elements(t);
  visit_floating(t.impl()->dtype, [&]<class Element>() {
    const Element* from = data_of<Element>(whole);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(widen(from[i]));
  });
}

template <class Element>
struct LayerNorm {
  using T = Compute<Element>;
  const Element* x;
  const T *weight, *bias;  // null: none
  Element* y;
  bool streams;  // y
  T *mean, *rstd;
  int64_t size;
  T eps;

  void row(int64_t i) const {
    const Element* const from = x + i * size;
    const ResultRow<Element> to(y + i * size, streams);
    Wides<T> sum(T(0));
    for (int64_t j = 0; j < size; j += lanes) {
      prefetch_ahead(from + j);
      sum = sum + load_up_to(from + j, size - j);
    }
    const T average = sum_of_lanes(sum) / static_cast<T>(size);
    const Wides<T> averages(average);
    Wides<T> squares(T(0));
    for (int64_t j = 0; j < size; j += lanes) {
      prefetch_ahead(from + j);
      const Wides<T> centered = load_up_to(from + j, size - j, average) - averages;
      squares = multiply_add(centered, centered, squares);
    }
    const T variance = sum_of_lanes(squares) / static_cast<T>(size);
    const T scale =
        T(1) / static_cast<T>(std::is_same_v<T, double> ? __builtin_sqrt(variance + eps)
                                                        : __builtin_sqrtf(static_cast<float>(variance + eps)));
    const Wides<T> scales(scale);
    for (int64_t j = 0; j < size; j += lanes) {
      const int64_t some = size - j;
      prefetch_ahead(from + j);
      Wides<T> value = (load_up_to(from + j, some) - averages) * scales;
      if (weight != nullptr) value = value * load_up_to(weight + j, some);
      if (bias != nullptr) value = value + load_up_to(bias + j, some);
      store_up_to(to, j, value, some);
    }
    mean[i] = average;
    rstd[i] = scale;
  }
};

void layer_norm_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor input = contiguous_elements(arguments[0].tensor());
  const Tensor &weight = arguments[2].tensor_or_none(), &bias = arguments[3].tensor_or_none();
  const Rows rows = rows_of(input, arguments[1].integers().size());
  visit_floating(input.impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const Scratch<T> factors(2 * rows.size);
    if (weight.defined()) read_widened(weight, factors.data(), rows.size);
    if (bias.defined()) read_widened(bias, factors.data() + rows.size, rows.size);
    const LayerNorm<Element> norm{data_of<Element>(input),
                                  weight.defined() ? factors.data() : nullptr,
                                  bias.defined() ? factors.data() + rows.size : nullptr,
                                  data_of<Element>(results[0]),
                                  is_streamed(results[0]),
                                  data_of<T>(results[1]),
                                  data_of<T>(results[2]),
                                  rows.size,
                                  static_cast<T>(arguments[4].floating())};
    parallel_for(rows.count, grain_of(rows.size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) norm.row(i);
      if (norm.streams) finish_streamed_stores();
    });
  });
}

template <class Element>
struct LayerNormBackward {
  using T = Compute<Element>;
  const Element *g, *x;
  const T *mean, *rstd, *weight;  // weight null: none
  Element* dx;
  bool streams;  // dx
  int64_t size;

  /// Computes one row's cotangent; adds its part of the weight's and the bias's. `weighted` holds a row's products with
  /// the weight: recomputed, they could be rounded differently than in their sum, which they have to cancel.
  void row(int64_t i, T* weighted, T* dweight, T* dbias) const {
    const Element *const gradient = g + i * size, *const from = x + i * size;
    const ResultRow<Element> to(dx + i * size, streams);
    const Wides<T> average(mean[i]), scale(rstd[i]);
    Wides<T> sum(T(0)), along(T(0));
    for (int64_t j = 0; j < size; j += lanes) {
      const int64_t some = size - j;
      prefetch_ahead(gradient + j);
      prefetch_ahead(from + j);
      const Wides<T> value = load_up_to(gradient + j, some);
      const Wides<T> normal = (load_up_to(from + j, some, mean[i]) - average) * scale;
      const Wides<T> scaled = weight != nullptr ? value * load_up_to(weight + j, some) : value;
      store(weighted + j, scaled);
      sum = sum + scaled;
      along = multiply_add(scaled, normal, along);
      store(dweight + j, multiply_add(value, normal, load(dweight + j)));
      store(dbias + j, load(dbias + j) + value);
    }
    const Wides<T> mean_sum(sum_of_lanes(sum) / static_cast<T>(size)),
        mean_along(sum_of_lanes(along) / static_cast<T>(size));
    for (int64_t j = 0; j < size; j += lanes) {
      const int64_t some = size - j;
      prefetch_ahead(gradient + j);
      prefetch_ahead(from + j);
      const Wides<T> normal = (load_up_to(from + j, some, mean[i]) - average) * scale;
      store_up_to(to, j, (load(weighted + j) - mean_sum - normal * mean_along) * scale, some);
    }
  }
};

void layer_norm_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor grad = contiguous_elements(arguments[0].tensor()), input = contiguous_elements(arguments[1].tensor());
  const Tensor mean = contiguous_elements(arguments[2].tensor()), rstd = contiguous_elements(arguments[3].tensor());
  const Tensor& weight = arguments[4].tensor_or_none();
  const Rows rows = rows_of(input, arguments[5].integers().size());
  // Rows are added up in blocks that depend on their number alone, and the blocks in order.
  const int64_t per_block = std::max<int64_t>(16, (rows.count + 63) / 64);
  const int64_t blocks = (rows.count + per_block - 1) / per_block, width = whole_lanes(rows.size);
  visit_floating(input.impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const Scratch<T> sums(std::max<int64_t>(blocks, 1) * 2 * width), factors(rows.size);
    std::fill_n(sums.data(), std::max<int64_t>(blocks, 1) * 2 * width, T(0));
    if (weight.defined()) read_widened(weight, factors.data(), rows.size);
    const LayerNormBackward<Element> norm{data_of<Element>(grad),
                                          data_of<Element>(input),
                                          data_of<T>(mean),
                                          data_of<T>(rstd),
                                          weight.defined() ? factors.data() : nullptr,
                                          data_of<Element>(results[0]),
                                          is_streamed(results[0]),
                                          rows.size};
    parallel_for(blocks, grain_of(per_block * rows.size), [&](int64_t begin, int64_t end) {
      const Scratch<T> weighted(width);
      for (int64_t block = begin; block < end; ++block) {
        T* const dweight = sums.data() + block * 2 * width;
        const int64_t last = std::min(rows.count, (block + 1) * per_block);
        for (int64_t i = block * per_block; i < last; ++i) norm.row(i, weighted.data(), dweight, dweight + width);
      }
      if (norm.streams) finish_streamed_stores();
    });
    for (int64_t block = 1; block < blocks; ++block)
      for (int64_t j = 0; j < 2 * width; ++j) sums[j] += sums[block * 2 * width + j];
    visit_floating(results[1].impl()->dtype, [&]<class Weight>() {
      for (int64_t j = 0; j < rows.size; ++j) {
        data_of<Weight>(results[1])[j] = element_of<Weight>(sums[j]);
        data_of<Weight>(results[2])[j] = element_of<Weight>(sums[width + j]);
      }
    });
  });
}

}  // namespace

KernelTable norm_kernels() {
  static constexpr KernelEntry table[] = {
      {&prims_layer_norm_symbol, layer_norm_kernel},
      {&prims_layer_norm_backward_symbol, layer_norm_backward_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
