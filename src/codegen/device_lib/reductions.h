// Row reductions, in the order of the columns, and column reductions, in the order of the rows, whatever the registers'
// width.
#pragma once
#include "codegen/device_lib/rows.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX512F__)
// Specializations of the templates below, without a blend.
FULGURITE_INLINE void add_inside(const Columns& c, Floats& sum, const Floats& x) {
  asm("vaddps %1, %0, %0%{%2%}" : "+v"(sum.part[0]) : "v"(x.part[0]), "Yk"(c.mask));
}
FULGURITE_INLINE void take_numbers_missing(const Columns& c, Floats& most, const Floats& x) {
  unsigned short is_missing;
  asm("vcmpunordps %1, %1, %0%{%2%}" : "=Yk"(is_missing) : "v"(x.part[0]), "Yk"(c.mask));
  asm("vmovaps %1, %0%{%2%}" : "+v"(most.part[0]) : "v"(x.part[0]), "Yk"(is_missing));
}
FULGURITE_INLINE void raise_inside(const Columns& c, Floats& most, const Floats& x) {
  asm("vmaxps %0, %1, %0%{%2%}" : "+v"(most.part[0]) : "v"(x.part[0]), "Yk"(c.mask));
  take_numbers_missing(c, most, x);
}
FULGURITE_INLINE void lower_inside(const Columns& c, Floats& least, const Floats& x) {
  asm("vminps %0, %1, %0%{%2%}" : "+v"(least.part[0]) : "v"(x.part[0]), "Yk"(c.mask));
  take_numbers_missing(c, least, x);
}
#endif

FULGURITE_INLINE void set_to_lowest(Floats& x) { x = Floats(-__builtin_inff()); }
FULGURITE_INLINE void set_to_highest(Floats& x) { x = Floats(__builtin_inff()); }
FULGURITE_INLINE void set_to_lowest(Ints& x) { x = Ints(-0x7fffffff - 1); }
FULGURITE_INLINE void set_to_highest(Ints& x) { x = Ints(0x7fffffff); }
// Lanes past the row's end change nothing. The next elements come first: the check of the first operand need not wait
// for the state then.
template <class Lanes>
FULGURITE_INLINE void add_inside(const Columns& c, Lanes& sum, const Lanes& x) {
  sum = sum + keep_inside(c, x, Lanes(0));
}
template <class Lanes>
FULGURITE_INLINE void raise_inside(const Columns& c, Lanes& most, const Lanes& x) {
  Lanes lowest;
  set_to_lowest(lowest);
  most = maximum(keep_inside(c, x, lowest), most);
}
template <class Lanes>
FULGURITE_INLINE void lower_inside(const Columns& c, Lanes& least, const Lanes& x) {
  Lanes highest;
  set_to_highest(highest);
  least = minimum(keep_inside(c, x, highest), least);
}

/// A row's sum: in sixteen lanes over blocks of columns, blocks joined pairwise, then a fixed tree.
template <class Lanes>
struct Sum {
  Lanes sum, joined[48];
  long blocks = 0;
  int depth = 0;
  __attribute__((always_inline)) Sum() : sum(0) {}
  __attribute__((always_inline)) void add(const Columns& c, const Lanes& x) {
    add_inside(c, sum, x);
    if (!c.end_block()) return;
    for (long n = blocks++; n & 1; n >>= 1) sum = joined[--depth] + sum;
    joined[depth++] = sum;
    sum = Lanes(0);
  }
  __attribute__((always_inline)) Lanes total() {
    for (; depth > 0; --depth) sum = joined[depth - 1] + sum;
    return Lanes(sum_of_lanes(sum));
  }
};
FULGURITE_INLINE int maximum_of_lanes(const Ints& x) {
  int value[lanes];
  store(value, x);
  for (int lane = 1; lane < lanes; ++lane) value[0] = value[lane] > value[0] ? value[lane] : value[0];
  return value[0];
}
FULGURITE_INLINE int minimum_of_lanes(const Ints& x) {
  int value[lanes];
  store(value, x);
  for (int lane = 1; lane < lanes; ++lane) value[0] = value[lane] < value[0] ? value[lane] : value[0];
  return value[0];
}
/// A row's maximum, and its minimum; NaN if any element is.
template <class Lanes>
struct Max {
  Lanes most;
  __attribute__((always_inline)) Max() { set_to_lowest(most); }
  __attribute__((always_inline)) void add(const Columns& c, const Lanes& x) { raise_inside(c, most, x); }
  __attribute__((always_inline)) Lanes total() { return Lanes(maximum_of_lanes(most)); }
};
template <class Lanes>
struct Min {
  Lanes least;
  __attribute__((always_inline)) Min() { set_to_highest(least); }
  __attribute__((always_inline)) void add(const Columns& c, const Lanes& x) { lower_inside(c, least, x); }
  __attribute__((always_inline)) Lanes total() { return Lanes(minimum_of_lanes(least)); }
};

/// The column sums over the rows of one launch: of `summed_rows` rows at a time, joined pairwise. The launch's operand
/// is zeros, with rows for the sums that wait to be joined; the first becomes the result.
template <class Element>
class ColumnSums {
 public:
  __attribute__((always_inline)) ColumnSums(const Launch& launch, int operand)
      : launch_(launch), sums_{(Element*)launch.operands[operand].data} {}
  template <class Lanes>
  __attribute__((always_inline)) void add(const Columns& c, const Lanes& value) const {
    store(sums_, c, load(sums_, c) + value);
  }
  __attribute__((always_inline)) void end_row() {
    if (++rows_ % summed_rows == 0) sums_ = join(launch_, sums_, rows_ / summed_rows);
  }
  __attribute__((always_inline)) void finish() {
    for (long waiting = rows_ / summed_rows; waiting != 0; waiting &= waiting - 1) sums_ = add_to_last(launch_, sums_);
  }

 private:
  // Out of line and static, so that members stay in registers.
  FULGURITE_OUT_OF_LINE KeptRow<Element> join(const Launch& launch, KeptRow<Element> sums, long times) {
    for (; times % 2 == 0; times /= 2) sums = add_to_last(launch, sums);
    return {(Element*)((char*)sums.first + launch.kept_stride)};
  }
  FULGURITE_OUT_OF_LINE KeptRow<Element> add_to_last(const Launch& launch, KeptRow<Element> sums) {
    const KeptRow<Element> last{(Element*)((char*)sums.first - launch.kept_stride)};
    for (Columns c(launch); c.more(); c.next()) {
      const auto joined = load(last, c) + load(sums, c);
      store(last, c, joined);
      store(sums, c, decltype(joined)(0));
    }
    return last;
  }

  const Launch& launch_;
  KeptRow<Element> sums_;
  long rows_ = 0;
};

}  // namespace fulgurite::FULGURITE_KERNELS
