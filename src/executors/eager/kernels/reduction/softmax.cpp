#include <algorithm>

#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/streamed.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

// Softmax along any dimension: along the last one a row at a time, along another sixteen neighbouring columns at a
// time.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Sixteen lanes that stand for one value each (`columns`) or together for one row's.
template <bool columns, class T>
FULGURITE_INLINE Wides<T> all_maximum(const Wides<T>& x) {
  if constexpr (columns) return x;
  else return Wides<T>(maximum_of_lanes(x));
}
template <bool columns, class T>
FULGURITE_INLINE Wides<T> all_sum(const Wides<T>& x) {
  if constexpr (columns) return x;
  else return Wides<T>(sum_of_lanes(x));
}

/// The elements of a softmax: `steps` groups of up to sixteen elements, `stride` elements apart. The last group of a
/// row may be shorter; all groups of columns have `width` elements.
template <bool columns>
struct Groups {
  int64_t size, stride, width;
  int64_t steps() const { return columns ? size : (size + lanes - 1) / lanes; }
  int64_t offset(int64_t step) const { return columns ? step * stride : step * lanes; }
  int64_t count(int64_t step) const { return columns ? width : std::min<int64_t>(lanes, size - step * lanes); }
};

/// `memory` buffers a row's exponentials if y must not be read; otherwise y does.
template <class Element, bool logarithm, bool columns>
void softmax(const Element* x, const ResultRow<Element>& y, Element* memory, const Groups<columns>& groups) {
  using T = Compute<Element>;
  const int64_t steps = groups.steps();
  Wides<T> most(-infinite<T>);
  for (int64_t i = 0; i < steps; ++i) {
    if constexpr (!columns) prefetch_ahead(x + groups.offset(i));
    // The check of the first operand need not wait for the state.
    most = maximum(load_up_to(x + groups.offset(i), groups.count(i), -infinite<T>), most);
  }
  most = all_maximum<columns, T>(most);
  // 16-bit numbers would lose digits that the last pass needs.
  constexpr bool keeps = !logarithm && std::is_same_v<T, Element>;
  Element* const kept = memory != nullptr ? memory : y.first;
  Wides<T> sum(T(0));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = groups.offset(i), count = groups.count(i);
    if constexpr (!columns) prefetch_ahead(x + at);
    const Wides<T> value = exp(load_up_to(x + at, count, -infinite<T>) - most);
    sum = sum + value;
    if constexpr (keeps) store_up_to(kept + at, value, count);
  }
  sum = all_sum<columns, T>(sum);
  const Wides<T> factor = logarithm ? log(sum) : Wides<T>(T(1)) / sum;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = groups.offset(i), count = groups.count(i);
    if constexpr (logarithm) store_up_to(y, at, (load_up_to(x + at, count) - most) - factor, count);
    else if constexpr (keeps) store_up_to(y, at, load_up_to(kept + at, count) * factor, count);
    else store_up_to(y, at, exp(load_up_to(x + at, count) - most) * factor, count);
  }
}

template <class Element, bool logarithm, bool columns>
void softmax_backward(const Element* g, const Element* y, const ResultRow<Element>& dx, const Groups<columns>& groups) {
  using T = Compute<Element>;
  const int64_t steps = groups.steps();
  Wides<T> sum(T(0));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = groups.offset(i), count = groups.count(i);
    if constexpr (!columns) {
      prefetch_ahead(g + at);
      prefetch_ahead(y + at);
    }
    const Wides<T> gradient = load_up_to(g + at, count);
    sum = logarithm ? sum + gradient : multiply_add(gradient, load_up_to(y + at, count), sum);
  }
  sum = all_sum<columns, T>(sum);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = groups.offset(i), count = groups.count(i);
    if constexpr (!columns) {
      prefetch_ahead(g + at);
      prefetch_ahead(y + at);
    }
    const Wides<T> gradient = load_up_to(g + at, count), value = load_up_to(y + at, count);
    store_up_to(dx, at, logarithm ? gradient - exp(value) * sum : (gradient - sum) * value, count);
  }
}

/// Calls f(offset, groups, memory) for every row, or every sixteen columns, on all threads. Only rows use non-temporal
/// stores; they have memory for one then.
template <class Element, class F>
void for_each_group(const Along& along, bool streams, const F& f) {
  if (along.numel() == 0) return;
  if (along.inner == 1) {
    const Groups<false> groups{along.size, 1, lanes};
    parallel_for(along.outer, grain_of(along.size, 2048), [&](int64_t begin, int64_t end) {
      if (!streams) {
        for (int64_t i = begin; i < end; ++i) f(i * along.size, groups, static_cast<Element*>(nullptr));
        return;
      }
      const Scratch<Element> memory(along.size);
      for (int64_t i = begin; i < end; ++i) f(i * along.size, groups, memory.data());
      finish_streamed_stores();
    });
    return;
  }
  const int64_t chunks = (along.inner + lanes - 1) / lanes;
  parallel_for(along.outer * chunks, grain_of(along.size * lanes, 2048), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % chunks * lanes;
      const Groups<true> groups{along.size, along.inner, std::min<int64_t>(lanes, along.inner - column)};
      f(i / chunks * along.size * along.inner + column, groups, static_cast<Element*>(nullptr));
    }
  });
}

template <bool logarithm>
void softmax_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &input = arguments[0].tensor(), &result = results[0];
  // The result may serve as the contiguous input of the right dtype: every element is read before it is written.
  const bool in_place = !input.impl()->is_contiguous || input.impl()->dtype != result.impl()->dtype;
  if (in_place) copy_elements(input, result);
  const Tensor& source = in_place ? result : input;
  const bool streams = !in_place && is_streamed(result);
  const Along along(sizes_of(result), arguments[1].integer());
  visit_floating(result.impl()->dtype, [&]<class Element>() {
    const Element* x = data_of<Element>(source);
    Element* y = data_of<Element>(result);
    for_each_group<Element>(
        along, streams, [=]<bool columns>(int64_t at, const Groups<columns>& groups, Element* memory) {
          softmax<Element, logarithm>(x + at, ResultRow(y + at, !columns && streams), memory, groups);
        });
  });
}

template <bool logarithm>
void softmax_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor output = contiguous_elements(arguments[1].tensor());
  const Tensor &given = arguments[0].tensor(), &result = results[0];
  const bool in_place = !given.impl()->is_contiguous || given.impl()->dtype != result.impl()->dtype;
  if (in_place) copy_elements(given, result);
  const Tensor& gradient = in_place ? result : given;
  const bool streams = !in_place && is_streamed(result);
  const Along along(sizes_of(result), arguments[2].integer());
  visit_floating(result.impl()->dtype, [&]<class Element>() {
    const Element *g = data_of<Element>(gradient), *y = data_of<Element>(output);
    Element* dx = data_of<Element>(result);
    for_each_group<Element>(along, streams, [=]<bool columns>(int64_t at, const Groups<columns>& groups, Element*) {
      softmax_backward<Element, logarithm>(g + at, y + at, ResultRow(dx + at, !columns && streams), groups);
    });
  });
}

}  // namespace

KernelTable softmax_kernels() {
  static constexpr KernelEntry table[] = {
      {&softmax_symbol, softmax_kernel<false>},
      {&log_softmax_symbol, softmax_kernel<true>},
      {&prims_softmax_backward_symbol, softmax_backward_kernel<false>},
      {&prims_log_softmax_backward_symbol, softmax_backward_kernel<true>},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
