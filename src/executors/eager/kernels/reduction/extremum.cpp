// amax, amin, argmax, argmin, and both at once.
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "executors/eager/kernels/reduction/reduce_with.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

template <template <class> class Combine>
void extremum(Arguments arguments, std::span<const Tensor> results) {
  const ReductionLayout places(arguments[0].tensor(), arguments[1]);
  visit_compute_type(places.dtype, [&](auto type) {
    reduce_with<Combine<typename decltype(type)::type>>(places, results[0], Same());
  });
}

/// The extremum and the index of its first occurrence; the first NaN is the extremum.
template <class Combine>
struct IndexReducer {
  using Element = typename Combine::Element;
  static constexpr Dtype element_dtype = Combine::element_dtype;
  struct State {
    Element value;
    int64_t place;
  };
  static State block(const Element* x, int64_t count, int64_t first) {
    const Element value = RowReducer<Combine>::block(x, count, first);
    int64_t i = 0;
    if constexpr (std::is_same_v<Element, float>)
      for (const Floats wanted = value; i + lanes <= count; i += lanes) {
        const Floats some = load(x + i);
        if (any((some == wanted) | (some != some))) break;
      }
    while (x[i] != value && x[i] == x[i]) ++i;
    return {value, first + i};
  }
  static State join(State before, State after) {
    if (before.value != before.value) return before;
    const Element better = Combine::combine(after.value, before.value);
    return after.value != before.value && (after.value != after.value || better == after.value) ? after : before;
  }
};

template <template <class> class Combine>
void find_places(const ReductionLayout& places, const Tensor* values, const Tensor& indices) {
  if (places.results == 0) return;
  int64_t* place = reinterpret_cast<int64_t*>(indices.impl()->data());
  visit_compute_type(places.dtype, [&](auto type) {
    using Reducer = IndexReducer<Combine<typename decltype(type)::type>>;
    const Convert convert = find_conversion(Reducer::element_dtype, places.dtype);
    const int64_t item = size_of(places.dtype);
    reduce_rows<Reducer>(places, [&](int64_t i, typename Reducer::State state) {
      place[i] = state.place;
      if (values) convert(&state.value, 0, values->impl()->data() + i * item, 1);
    });
  });
}

template <template <class> class Combine>
void place(Arguments arguments, std::span<const Tensor> results) {
  find_places<Combine>(ReductionLayout(arguments[0].tensor(), arguments[1]), nullptr, results[0]);
}
template <template <class> class Combine>
void value_and_place(Arguments arguments, std::span<const Tensor> results) {
  find_places<Combine>(ReductionLayout(arguments[0].tensor(), arguments[1]), &results[0], results[1]);
}

constexpr KernelEntry table[] = {
    {&amax_symbol, extremum<Max>},
    {&amin_symbol, extremum<Min>},
    {&argmax_symbol, place<Max>},
    {&argmin_symbol, place<Min>},
    {&prims_max_with_indices_symbol, value_and_place<Max>},
    {&prims_min_with_indices_symbol, value_and_place<Min>},
};

}  // namespace

KernelTable extremum_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
