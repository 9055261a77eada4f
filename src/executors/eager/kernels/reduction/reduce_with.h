#pragma once
#include "executors/eager/kernels/common/combine.h"
#include "executors/eager/kernels/reduction/column_reduction.h"

namespace fulgurite::FULGURITE_KERNELS {

/// Reduces with Combine, applies `map` to each total and stores it in the result's dtype.
template <class Combine, class Map>
void reduce_with(const ReductionLayout& places, const Tensor& result, Map map) {
  using Element = typename Combine::Element;
  const TensorImpl& to = *result.impl();
  const Convert convert = find_conversion(Combine::element_dtype, to.dtype);
  char* data = to.data();
  const int64_t item = size_of(to.dtype);
  if (places.results == 0) return;
  if (places.count == 0) {
    const Element value = map(Combine::identity());
    return convert(&value, 0, data, places.results);
  }
  if (places.is_columns()) {
    reduce_columns<Combine>(places, [&](int64_t first, const Element* totals, int64_t count) {
      Element values[strip];
      for (int64_t i = 0; i < count; ++i) values[i] = map(totals[i]);
      convert(values, 1, data + first * item, count);
    });
    return;
  }
  reduce_rows<RowReducer<Combine>>(places, [&](int64_t i, Element total) {
    const Element value = map(total);
    convert(&value, 0, data + i * item, 1);
  });
}

struct Same {
  template <class T>
  T operator()(T x) const {
    return x;
  }
};

}  // namespace fulgurite::FULGURITE_KERNELS
