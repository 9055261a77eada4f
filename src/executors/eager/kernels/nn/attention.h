#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/gemm/amx.h"
#include "codegen/gemm/cpu.h"
#include "executors/eager/kernels/common/wide.h"
#include "executors/eager/kernels/linalg/pack.h"
#include "runtime/threads/parallel_for.h"

// Shared by both directions of attention. Scores never become a whole matrix: a tile of them is computed, converted to
// probabilities and used immediately.
#if defined(__AVX512F__)
namespace fulgurite::kernels_avx512_bf16 {
void attention_kernel(Arguments, std::span<const Tensor> results);
void attention_backward_kernel(Arguments, std::span<const Tensor> results);
}  // namespace fulgurite::kernels_avx512_bf16
namespace fulgurite::kernels_amx {
void attention_kernel(Arguments, std::span<const Tensor> results);
void attention_backward_kernel(Arguments, std::span<const Tensor> results);
}  // namespace fulgurite::kernels_amx
#endif

namespace fulgurite::FULGURITE_KERNELS {

void attention_kernel(Arguments, std::span<const Tensor> results);
void attention_backward_kernel(Arguments, std::span<const Tensor> results);

/// An operand of attention: a stack of matrices with any strides. One whose rows are numbers (`row_dimensions` 1) has
/// no columns.
struct AttentionOperand {
  const char* data = nullptr;
  Dtype dtype = Dtype::f32;
  int64_t row = 0, column = 0;
  Sizes batch_strides;

  AttentionOperand(const Tensor& t, size_t batch_dimensions, size_t row_dimensions = 2) {
    const TensorImpl& x = *t.impl();
    data = x.data();
    dtype = x.dtype;
    const size_t ndim = x.sizes.size();
    const auto stride = [&](size_t from_end) {
      return from_end > ndim || x.sizes[ndim - from_end] == 1 ? int64_t{0} : x.strides[ndim - from_end];
    };
    column = row_dimensions == 2 ? stride(1) : 0;
    row = stride(row_dimensions);
    for (size_t d = batch_dimensions; d-- > 0;) batch_strides.push_back(stride(d + 1 + row_dimensions));
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
  Sizes batch, key_batch;  // of query, and of key and value, whose last one may be smaller
  int64_t matrices = 1;    // of query
  int64_t group = 1;       // consecutive matrices of query that share one matrix of key
  int64_t queries = 0, keys = 0, features = 0, value_features = 0;

  AttentionSizes(const Tensor& query, const Tensor& key, const Tensor& value) {
    const Sizes &q = sizes_of(query), &k = sizes_of(key);
    const size_t ndim = q.size();
    for (size_t d = 0; d + 2 < ndim; ++d) {
      batch.push_back(q[d]);
      key_batch.push_back(k[d]);
      matrices *= q[d];
    }
    if (ndim > 2 && key_batch.back() > 0) group = batch.back() / key_batch.back();
    queries = q[ndim - 2];
    features = q[ndim - 1];
    keys = k[ndim - 2];
    value_features = sizes_of(value).back();
  }
};

/// The rows of one matrix of a result. Results of four dimensions and more have rows and then heads. Any strides but of
/// the columns.
template <class Element>
struct ResultRows {
  Element* first;
  int64_t stride;

  ResultRows(const Tensor& result, int64_t matrix) : first(data_of<Element>(result)) {
    const TensorImpl& x = *result.impl();
    const size_t ndim = x.sizes.size(), row = ndim > 3 ? ndim - 3 : ndim - 2;
    stride = x.strides[row];
    if (ndim > 3) {
      first += matrix % x.sizes[ndim - 2] * x.strides[ndim - 2];
      matrix /= x.sizes[ndim - 2];
    }
    for (size_t d = row; d-- > 0;) {
      first += matrix % x.sizes[d] * x.strides[d];
      matrix /= x.sizes[d];
    }
  }
};

/// The arguments from `first` on: query, key, value, the backward's own, mask, is_causal, scale.
struct AttentionCall {
  AttentionSizes sizes;
  AttentionOperand query, key, value;
  std::optional<AttentionOperand> mask;
  bool is_causal;
  double scale;

  AttentionCall(Arguments a, size_t first)
      : sizes(a[first].tensor(), a[first + 1].tensor(), a[first + 2].tensor()),
        query(a[first].tensor(), sizes.batch.size()),
        key(a[first + 1].tensor(), sizes.batch.size()),
        value(a[first + 2].tensor(), sizes.batch.size()),
        is_causal(a[a.size() - 2].boolean()),
        scale(a[a.size() - 1].floating()) {
    const Tensor& added = a[a.size() - 3].tensor_or_none();
    if (added.defined()) mask.emplace(added, sizes.batch.size());
  }
  /// The number of keys that a query sees.
  int64_t seen_by(int64_t position) const { return is_causal ? std::min(sizes.keys, position + 1) : sizes.keys; }
  /// The number of keys up to the last one that some of these queries sees. A boolean mask may hide the others: those
  /// past the tokens in a cache, or after the rows of a prompt. They are not read, so that NaN in them does not spread.
  int64_t seen_by_rows(int64_t matrix, int64_t first, int64_t rows) const {
    int64_t seen = seen_by(first + rows - 1);
    if (!mask || mask->dtype != Dtype::boolean) return seen;
    const Boolean* const row = mask->matrix<Boolean>(matrix, sizes.batch) + first * mask->row;
    const auto is_seen = [&](int64_t key) {
      for (int64_t r = rows; r-- > 0;)
        if (row[r * mask->row + key * mask->column].byte != 0) return true;
      return false;
    };
    while (seen > 1 && !is_seen(seen - 1)) --seen;
    return seen;
  }
  /// Multiplications, approximately.
  int64_t work() const { return sizes.matrices * sizes.queries * sizes.keys * (sizes.features + sizes.value_features); }
};
struct AttentionBackwardCall : AttentionCall {
  AttentionOperand grad, logsumexp;
  explicit AttentionBackwardCall(Arguments a)
      : AttentionCall(a, 1), grad(a[0].tensor(), sizes.batch.size()), logsumexp(a[4].tensor(), sizes.batch.size(), 1) {}
};

/// Calls run(worker, matrix, first query, past the last query) for chunks of all matrices. If there are few matrices,
/// their queries are divided too.
template <class Make>
void for_each_chunk(const AttentionCall& call, Make&& make_worker) {
  const AttentionSizes& s = call.sizes;
  if (s.matrices * s.queries == 0) return;
  const int64_t wanted = s.matrices >= 16 ? 1 : (16 + s.matrices - 1) / s.matrices;
  const int64_t rows = std::max<int64_t>(64, ((s.queries + wanted - 1) / wanted + 31) / 32 * 32);
  const int64_t chunks = (s.queries + rows - 1) / rows, count = s.matrices * chunks;
  parallel_ranges(count, call.work() < 200000 ? count + 1 : 1, [&](Ranges& ranges) {
    auto worker = make_worker();
    for (int64_t begin, end; ranges.next(begin, end);)
      for (int64_t i = begin; i < end; ++i)
        worker.run(i / chunks, i % chunks * rows, std::min(s.queries, (i % chunks + 1) * rows));
  });
}
/// Calls worker.run(matrix of keys) for all of them.
template <class Make>
void for_each_key_matrix(const AttentionCall& call, Make&& make_worker) {
  const int64_t count = call.sizes.matrices / call.sizes.group;
  parallel_ranges(count, call.work() < 100000 ? count + 1 : 1, [&](Ranges& ranges) {
    auto worker = make_worker();
    for (int64_t begin, end; ranges.next(begin, end);)
      for (int64_t i = begin; i < end; ++i) worker.run(i);
  });
}

/// Returns true if the bf16 dot product instructions should be used where the CPU has them. They round probabilities
/// and their cotangents to bf16, which small matrices need not suffer. Decided by one matrix: its result must not
/// depend on their number.
inline bool is_worth_pairs(const AttentionSizes& sizes, Dtype dtype) {
  return dtype == Dtype::bf16 && std::min(sizes.queries, sizes.keys) >= 16 &&
         sizes.queries * sizes.keys * (sizes.features + sizes.value_features) >= 32768;
}

/// Returns true if f32 matrices are so small that f64 costs little. Scores of f32 are rounded relative to their own
/// size, which shows in the results if scores are large and weights even. Decided by one matrix: its result must not
/// depend on their number.
inline bool is_better_in_f64(const AttentionSizes& sizes, Dtype dtype) {
  return dtype == Dtype::f32 && sizes.queries * sizes.keys * (sizes.features + sizes.value_features) <= 2048;
}
/// Runs the kernel on f64 copies of its f32 operands, and rounds its results.
inline void run_in_f64(Kernel kernel, Arguments arguments, std::span<const Tensor> results) {
  const auto widened = [](const Tensor& t) { return t.impl()->dtype == Dtype::f32 ? Dtype::f64 : t.impl()->dtype; };
  std::vector<Tensor> operands(arguments.size()), wide_results;
  std::vector<Argument> wide_arguments(arguments.begin(), arguments.end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_tensor()) continue;
    const Tensor& t = arguments[i].tensor();
    operands[i] = make_tensor(sizes_of(t), widened(t));
    copy_elements(t, operands[i]);
    wide_arguments[i] = Argument(operands[i]);
  }
  for (const Tensor& t : results) wide_results.push_back(make_tensor(sizes_of(t), widened(t)));
  kernel(wide_arguments, wide_results);
  for (size_t i = 0; i < results.size(); ++i) copy_elements(wide_results[i], results[i]);
}

/// The mask's values for `count` keys of one query, as terms to be added to their scores.
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

/// The value's first `count` lanes; `fill` in the others.
FULGURITE_INLINE Floats first_lanes(const Floats& value, int64_t count, float fill) {
  static constexpr int numbers[lanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return count >= lanes ? value : select(load(numbers) < Ints(static_cast<int>(count)), value, Floats(fill));
}
FULGURITE_INLINE Doubles first_lanes(const Doubles& value, int64_t count, double fill) {
  Doubles result;
  for (int i = 0; i < lanes; ++i) result.lane[i] = i < count ? value.lane[i] : fill;
  return result;
}

/// `value` where `weight` is above a half, minus infinity elsewhere.
FULGURITE_INLINE Floats where_most(const Floats& weight, const Floats& value) {
  return select(weight > Floats(0.5f), value, Floats(-infinite<float>));
}
FULGURITE_INLINE Doubles where_most(const Doubles& weight, const Doubles& value) {
  Doubles result;
  for (int i = 0; i < lanes; ++i) result.lane[i] = weight.lane[i] > 0.5 ? value.lane[i] : -infinite<double>;
  return result;
}

/// The conversion of scores to exponents. Products of queries and keys are multiplied by the scale only after the row's
/// maximum has been subtracted, which loses nothing where exponents are near zero; with a mask, or a scale that would
/// reverse the order of the products, they are scaled before.
template <class T>
struct Scores {
  T scale, factor;  // of the products; of their differences to the maximum
  bool is_direct;

  Scores(double scale, bool has_mask)
      : scale(static_cast<T>(scale)),
        factor(!has_mask && scale > 0 ? static_cast<T>(scale) : T(1)),
        is_direct(!has_mask && scale > 0) {}

  /// Converts products of one query and `count` keys to scores, up to their factor.
  void finish(T* row, const T* added, int64_t count) const {
    if (is_direct) return;
    for (int64_t j = 0; j < count; j += lanes) {
      const Wides<T> value = load(row + j);
      store(row + j, added == nullptr ? value * Wides<T>(scale)
                                      : multiply_add(value, Wides<T>(scale), load_up_to(added + j, count - j)));
    }
  }
  /// The same; returns their maximum.
  T maximum_of(T* row, const T* added, int64_t count) const {
    finish(row, added, count);
    Wides<T> most(-infinite<T>);
    for (int64_t j = 0; j < count; j += lanes) {
      const Wides<T> value = load(row + j);
      most = maximum(most, first_lanes(value, count - j, -infinite<T>));
    }
    return maximum_of_lanes(most);
  }
};

/// Replaces `count` scores by the exponentials of factor * (score - most), and those after them up to `width` by zeros.
/// Calls each(j, value) with sixteen of them at a time.
template <class T, class Each>
void exponentials(T* row, T most, T factor, int64_t count, int64_t width, Each&& each) {
  const Wides<T> offset(most == -infinite<T> ? T(0) : most), factors(factor);  // no key seen: all of them are zeros
  int64_t j = 0;
  for (; j < count; j += lanes) {
    const Wides<T> value = first_lanes(exp((load(row + j) - offset) * factors), count - j, T(0));
    store(row + j, value);
    each(j, value);
  }
  for (; j < width; j += lanes) store(row + j, Wides<T>(T(0)));
}

/// Rows for a GEMM's left factor: in place if they have the computed type and are contiguous.
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
