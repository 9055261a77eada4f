// searchsorted, one_hot.
#include <algorithm>

#include "executors/eager/index_error.h"
#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/compute.h"
#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

Tensor converted(const Tensor& x, Dtype dtype) {
  if (x.impl()->dtype == dtype) return contiguous_elements(x);
  Tensor copy = make_tensor(x.impl()->sizes, dtype);
  copy_elements(x, copy);
  return copy;
}

Tensor scalar(const Argument& number, Dtype dtype) {
  Tensor result = make_tensor({}, dtype);
  visit_dtype(dtype, [&]<class Element>() {
    *data_of<Element>(result) = number.is_floating() ? element_of<Element>(static_cast<double>(number.floating()))
                                                     : element_of<Element>(static_cast<int64_t>(number.integer()));
  });
  return result;
}

/// lower_bound / upper_bound (`right`); NaN sorts last.
template <class Number, class At>
int64_t places_before(int64_t count, Number value, bool right, const At& at) {
  int64_t first = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    const Number middle = at(first + half);
    const bool is_before = right ? !(middle > value) : !(middle >= value);
    first = is_before ? first + half + 1 : first;
    count = is_before ? count - half - 1 : half;
  }
  return first;
}

template <class Element, class Index>
void search_rows(const Tensor& sequence, const Tensor& values, const int64_t* sorter, bool right,
                 const Tensor& result) {
  const int64_t length = sizes_of(sequence).back(), count = values.impl()->numel();
  if (count == 0) return;
  // A sequence of one row serves all values; else each row of values has its own.
  const int64_t rows = sizes_of(sequence).size() == 1 ? 1 : sequence.impl()->numel() / std::max<int64_t>(length, 1);
  const int64_t in_row = length == 0 ? count : count / rows;
  const Element *const ordered = data_of<Element>(sequence), *const wanted = data_of<Element>(values);
  Index* const to = data_of<Index>(result);
  parallel_for(count, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / in_row * length;
      const auto value = widen(wanted[i]);
      const Element* const row = ordered + first;
      const int64_t* const order = sorter ? sorter + first : nullptr;
      to[i] = static_cast<Index>(
          order ? places_before(length, value, right, [&](int64_t at) { return widen(row[order[at]]); })
                : places_before(length, value, right, [&](int64_t at) { return widen(row[at]); }));
    }
  });
}

void searchsorted_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Argument& given = arguments[1];
  const Dtype dtype = result_dtype(arguments.first(2));
  const Tensor sequence = converted(arguments[0].tensor(), dtype);
  const Tensor values = given.is_tensor() ? converted(given.tensor(), dtype) : scalar(given, dtype);
  const bool right = arguments[3].boolean() || (!arguments[4].is_none() && arguments[4].string() == "right");
  Tensor sorter;
  if (arguments[5].is_tensor()) {
    sorter = contiguous_elements(arguments[5].tensor());
    const int64_t length = sizes_of(sequence).back();
    const int64_t* const order = data_of<int64_t>(sorter);
    for (int64_t i = 0; i < sorter.impl()->numel(); ++i)
      if (order[i] < 0 || order[i] >= length) throw_index_error(order[i], length);
  }
  const int64_t* const order = sorter.defined() ? data_of<int64_t>(sorter) : nullptr;
  visit_dtype(dtype, [&]<class Element>() {
    if (results[0].impl()->dtype == Dtype::i32)
      search_rows<Element, int32_t>(sequence, values, order, right, results[0]);
    else search_rows<Element, int64_t>(sequence, values, order, right, results[0]);
  });
}

void one_hot_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor classes = contiguous_elements(arguments[0].tensor());
  const int64_t count = classes.impl()->numel(), number = arguments[1].integer();
  const int64_t* const from = data_of<int64_t>(classes);
  int64_t* const to = data_of<int64_t>(results[0]);
  for (int64_t i = 0; i < count; ++i)
    if (from[i] < 0 || from[i] >= number) throw_class_error(from[i], number);
  parallel_for(count, grain_of(number), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t c = 0; c < number; ++c) to[i * number + c] = c == from[i];
  });
}

}  // namespace

KernelTable search_kernels() {
  static constexpr KernelEntry table[] = {{&searchsorted_symbol, searchsorted_kernel},
                                          {&prims_one_hot_symbol, one_hot_kernel}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
