#pragma once
#include <algorithm>

#include "executors/eager/kernels/pack.h"
#include "executors/eager/kernels/wide.h"

// What the two directions of attention share. Scores never become a whole matrix: a tile of them is computed, made into
// probabilities and used at once.
namespace fulgurite::FULGURITE_KERNELS {

void attention_kernel(Arguments, std::span<const Tensor> results);
void attention_backward_kernel(Arguments, std::span<const Tensor> results);

/// An operand of attention: a stack of matrices with any strides, its batch dimensions broadcast to those of the
/// result.
struct AttentionOperand {
  const char* data = nullptr;
  Dtype dtype = Dtype::f32;
  int64_t row = 0, column = 0;
  Sizes batch_strides;

  AttentionOperand(const Tensor& t, size_t batch_dimensions) {
    const TensorImpl& x = *t.impl();
    data = x.data();
    dtype = x.dtype;
    const size_t ndim = x.sizes.size();
    const auto stride = [&](size_t from_end) {
      return from_end > ndim || x.sizes[ndim - from_end] == 1 ? int64_t{0} : x.strides[ndim - from_end];
    };
    column = stride(1);
    row = stride(2);
    for (size_t d = batch_dimensions; d-- > 0;) batch_strides.push_back(stride(d + 3));
  }
  /// The first element of one matrix of the stack.
  template <class Element>
  const Element* matrix(int64_t index, const Sizes& batch) const {
    int64_t offset = 0;
    for (size_t d = batch.size(); d-- > 0;) {
      offset += index % batch[d] * batch_strides[d];
      index /= batch[d];
    }
    return reinterpret_cast<const Element*>(data) + offset;
  }
};

struct AttentionSizes {
  Sizes batch;
  int64_t matrices = 1;
  int64_t queries = 0, keys = 0, features = 0, value_features = 0;

  /// `result` has the shape of attention's first result.
  AttentionSizes(const Tensor& query, const Tensor& key, const Tensor& result) {
    const Sizes& sizes = sizes_of(result);
    const size_t ndim = sizes.size();
    for (size_t d = 0; d + 2 < ndim; ++d) {
      batch.push_back(sizes[d]);
      matrices *= sizes[d];
    }
    queries = sizes[ndim - 2];
    value_features = sizes[ndim - 1];
    features = sizes_of(query).back();
    keys = sizes_of(key)[sizes_of(key).size() - 2];
  }
};

/// The mask's values for `count` keys of one query, as what is added to their scores.
template <class T>
void mask_row(const AttentionOperand& mask, int64_t matrix, const Sizes& batch, int64_t query, int64_t key,
              int64_t count, T* to) {
  visit_dtype(mask.dtype, [&]<class Element>() {
    const Element* from = mask.matrix<Element>(matrix, batch) + query * mask.row + key * mask.column;
    for (int64_t j = 0; j < count; ++j) {
      const Element e = from[j * mask.column];
      if constexpr (std::is_same_v<Element, Boolean>) to[j] = e.byte != 0 ? T(0) : -static_cast<T>(__builtin_inf());
      else to[j] = static_cast<T>(widen(e));
    }
  });
}

/// Scales a row of `count` scores, adds the mask's values where there are any, and fills the row up to `width`, a
/// multiple of `lanes`, with minus infinity. Gives the maximum.
template <class T>
T scale_scores(T* scores, T scale, const T* added, int64_t count, int64_t width) {
  for (int64_t j = count; j < width; ++j) scores[j] = -infinite<T>;
  const Wides<T> factor(scale);
  Wides<T> most(-infinite<T>);
  for (int64_t j = 0; j < width; j += lanes) {
    Wides<T> value = load(scores + j) * factor;
    if (added != nullptr) value = value + load_up_to(added + j, count - j);
    store(scores + j, value);
    most = maximum(most, value);
  }
  return maximum_of_lanes(most);
}

/// values[j] = e^(values[j] - subtracted); gives their sum.
template <class T>
T exponentials(T* values, T subtracted, int64_t width) {
  const Wides<T> offset(subtracted);
  Wides<T> sum(T(0));
  for (int64_t j = 0; j < width; j += lanes) {
    const Wides<T> value = exp(load(values + j) - offset);
    store(values + j, value);
    sum = sum + value;
  }
  return sum_of_lanes(sum);
}

/// Rows that a product can take its scalars from: in place where they are of the computed type and lie consecutively.
template <class Element>
struct LeftRows {
  const Compute<Element>* data;
  int64_t stride;

  LeftRows(const Element* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
           Compute<Element>* scratch) {
    if constexpr (std::is_same_v<Element, Compute<Element>>) {
      if (column_stride == 1) {
        data = from;
        stride = row_stride;
        return;
      }
    }
    for (int64_t r = 0; r < rows; ++r)
      widen_row(from + r * row_stride, column_stride, columns, scratch + r * columns, columns);
    data = scratch;
    stride = columns;
  }
};

/// Writes `count` computed numbers as elements.
template <class Element>
void narrow_row(const Compute<Element>* from, Element* to, int64_t count) {
  int64_t i = 0;
  if constexpr (std::is_same_v<Compute<Element>, float>)
    for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = narrow<Element>(from[i]);
}

}  // namespace fulgurite::FULGURITE_KERNELS
