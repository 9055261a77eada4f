// Scans along a dimension, each result of which depends on the one before it: cumprod, logcumsumexp, cummax and cummin,
// linear recurrences.
#include <cmath>

#include "executors/eager/kernels/common/compute.h"
#include "executors/eager/kernels/common/lines.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t side_by_side = 64;  // lines that are scanned together if they are neighbours

/// The type of the state between two elements: f64 for floating numbers.
template <class T>
using Kept = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, Boolean>, uint64_t, double>;

template <class T>
FULGURITE_INLINE Kept<T> kept(T element) {
  return static_cast<Kept<T>>(number_of(element));
}

/// Calls step(state of the line, the element's offset in each tensor, true for the line's first) for the elements of
/// `lines` neighbouring lines; the state begins as State().
template <class State, int fixed_lines, int count, class Step>
FULGURITE_INLINE void scan_group(const Lines<count>& all, const int64_t* first, int64_t given_lines, bool reverse,
                                 const Step& step) {
  const int64_t lines = fixed_lines ? fixed_lines : given_lines, length = all.length[0];
  State states[fixed_lines ? fixed_lines : side_by_side] = {};
  for (int64_t i = 0; i < length; ++i) {
    const int64_t at = reverse ? length - 1 - i : i;
    for (int64_t line = 0; line < lines; ++line) {
      int64_t places[count];
      for (int k = 0; k < count; ++k) places[k] = first[k] + at * all.step[k] + line * all.to_neighbour(k);
      step(states[line], places, i == 0);
    }
  }
}

/// The same for all lines, spread over the threads; `work` is the cost of an element.
template <class State, int count, class Step>
void scan(const Lines<count>& lines, bool reverse, int64_t work, const Step& step) {
  const int64_t length = lines.length[0];
  // Other lines are scanned four at a time: each element waits for the one before it, but the four lines are
  // independent.
  const int64_t group = lines.to_neighbour(0) == 1 && lines.step[0] != 1 ? side_by_side : 4;
  parallel_for(lines.groups(group), std::max<int64_t>(1, 16384 / (length * group * work)),
               [&](int64_t begin, int64_t end) {
                 lines.visit_groups(group, begin, end, [&](const int64_t* first, int64_t number, int64_t) {
                   if (number == 4) scan_group<State, 4>(lines, first, number, reverse, step);
                   else if (number == 1) scan_group<State, 1>(lines, first, number, reverse, step);
                   else scan_group<State, 0>(lines, first, number, reverse, step);
                 });
               });
}

void cumprod_kernel(Arguments arguments, std::span<const Tensor> results) {
  Tensor input = arguments[0].tensor();
  const Tensor& result = results[0];
  if (result.impl()->numel() == 0) return;
  if (input.impl()->dtype != result.impl()->dtype) {
    const Tensor converted = make_tensor(sizes_of(result), result.impl()->dtype);
    copy_elements(input, converted);
    input = converted;
  }
  const Lines<2> lines(arguments[1].integer(), result, input);
  visit_dtype(result.impl()->dtype, [&]<class Element>() {
    Element* const to = data_of<Element>(result);
    const Element* const from = data_of<Element>(input);
    scan<Kept<Element>>(lines, false, 1, [=](Kept<Element>& product, const int64_t* at, bool is_first) {
      product = is_first ? kept(from[at[1]]) : product * kept(from[at[1]]);
      to[at[0]] = element_of<Element>(product);
    });
  });
}

FULGURITE_INLINE double log_of_sum(double a, double b) {
  const double low = b < a || b != b ? b : a, high = b > a || b != b ? b : a;
  // inf - inf is NaN.
  if (low == high && std::isinf(low)) return low;
  return high + std::log1p(std::exp(low - high));
}

void logcumsumexp_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Lines<2> lines(arguments[1].integer(), results[0], arguments[0].tensor());
  visit_floating(results[0].impl()->dtype, [&]<class Element>() {
    Element* const to = data_of<Element>(results[0]);
    const Element* const from = data_of<Element>(arguments[0].tensor());
    scan<double>(lines, false, 16, [=](double& sum, const int64_t* at, bool is_first) {
      const double number = kept(from[at[1]]);
      sum = is_first ? number : log_of_sum(sum, number);
      to[at[0]] = element_of<Element>(sum);
    });
  });
}

void linear_recurrence_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Lines<3> lines(arguments[2].integer(), results[0], arguments[0].tensor(), arguments[1].tensor());
  visit_floating(results[0].impl()->dtype, [&]<class Element>() {
    Element* const to = data_of<Element>(results[0]);
    const Element *const from = data_of<Element>(arguments[0].tensor()), *const factor =
                                                                             data_of<Element>(arguments[1].tensor());
    scan<double>(lines, arguments[3].boolean(), 1, [=](double& last, const int64_t* at, bool is_first) {
      last = is_first ? kept(from[at[1]]) : kept(from[at[1]]) + kept(factor[at[2]]) * last;
      to[at[0]] = element_of<Element>(last);
    });
  });
}

/// The later one of equal elements counts, as does the later one of NaNs.
template <bool largest>
void extremum_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Lines<3> lines(arguments[1].integer(), results[0], results[1], arguments[0].tensor());
  visit_dtype(results[0].impl()->dtype, [&]<class Element>() {
    struct State {
      Compute<Element> best;
      int64_t number, place;
    };
    Element* const to = data_of<Element>(results[0]);
    int64_t* const places = data_of<int64_t>(results[1]);
    const Element* const from = data_of<Element>(arguments[0].tensor());
    scan<State>(lines, false, 1, [=](State& state, const int64_t* at, bool is_first) {
      const Compute<Element> x = widen(from[at[2]]);
      const bool is_better = largest ? x >= state.best : x <= state.best;
      if (is_first || x != x || (state.best == state.best && is_better)) {
        state.best = x;
        state.place = state.number;
      }
      ++state.number;
      to[at[0]] = narrow<Element>(state.best);
      places[at[1]] = state.place;
    });
  });
}

}  // namespace

KernelTable cumulative_kernels() {
  static constexpr KernelEntry table[] = {
      {&cumprod_symbol, cumprod_kernel},
      {&logcumsumexp_symbol, logcumsumexp_kernel},
      {&prims_linear_recurrence_symbol, linear_recurrence_kernel},
      {&cummax_symbol, extremum_kernel<true>},
      {&cummin_symbol, extremum_kernel<false>},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
