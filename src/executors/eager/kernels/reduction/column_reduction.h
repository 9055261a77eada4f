#pragma once
#include "executors/eager/kernels/common/compute.h"
#include "executors/eager/kernels/reduction/reduction.h"

namespace fulgurite::FULGURITE_KERNELS {

// Reductions over outer dimensions: of [N, C] to [C], whole chunks of rows are added to one another, so that memory is
// read in its own order. Each column is reduced in groups of 4 rows, 32 rows to a batch, 32 batches to a batch of
// batches, and so on.

inline constexpr int64_t strip = 1024;  // columns that are reduced together
inline constexpr int64_t batch = 32;
inline constexpr int batch_levels = 4;

/// Combine: Element, element_dtype, identity() and static Element combine(Element, Element).
template <class Combine, class Element = typename Combine::Element>
void join_rows(Element* __restrict to, const Element* __restrict row, int64_t count) {
  int64_t i = 0;
  if constexpr (std::is_same_v<Element, float>)
    for (; i + lanes <= count; i += lanes) store(to + i, Combine::combine(load(to + i), load(row + i)));
  for (; i < count; ++i) to[i] = Combine::combine(to[i], row[i]);
}
template <class Combine, class Element = typename Combine::Element>
void join_four_rows(Element* __restrict to, const Element* const* rows, int64_t count) {
  const Element *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  const int64_t ahead = 4 * (b - a);  // usually the offset of the next four rows
  int64_t i = 0;
  if constexpr (std::is_same_v<Element, float>)
    for (; i + lanes <= count; i += lanes) {
      for (const Element* row : {a, b, c, d}) __builtin_prefetch(row + i + ahead);
      const Floats ab = Combine::combine(load(a + i), load(b + i)), cd = Combine::combine(load(c + i), load(d + i));
      store(to + i, Combine::combine(load(to + i), Combine::combine(ab, cd)));
    }
  for (; i < count; ++i)
    to[i] = Combine::combine(to[i], Combine::combine(Combine::combine(a[i], b[i]), Combine::combine(c[i], d[i])));
}

template <class Combine>
class StripReducer {
 public:
  using Element = typename Combine::Element;
  explicit StripReducer(int64_t width) : width_(width) { clear(0); }
  void add(const Element* const* rows, int64_t count) {
    if (count == 4) join_four_rows<Combine>(totals_[0], rows, width_);
    else
      for (int64_t r = 0; r < count; ++r) join_rows<Combine>(totals_[0], rows[r], width_);
    int64_t n = rows_ += count;
    if (n % batch != 0) return;
    for (int level = 1; level < batch_levels; ++level) {
      if (level > depth_) {
        clear(level);
        depth_ = level;
      }
      join_rows<Combine>(totals_[level], totals_[level - 1], width_);
      clear(level - 1);
      if ((n /= batch) % batch != 0) break;
    }
  }
  const Element* finish() {
    for (int level = 1; level <= depth_; ++level) join_rows<Combine>(totals_[level], totals_[level - 1], width_);
    return totals_[depth_];
  }

 private:
  void clear(int level) { std::fill_n(totals_[level], width_, Combine::identity()); }
  alignas(64) Element totals_[batch_levels][strip];
  int64_t width_, rows_ = 0;
  int depth_ = 0;
};

/// Reduces rows [begin, end) of the reduced elements, columns from `offset` on.
template <class Combine>
void reduce_strip(const ReductionLayout& places, int64_t offset, int64_t count, int64_t begin, int64_t end,
                  Convert convert, StripReducer<Combine>& reducer) {
  using Element = typename Combine::Element;
  alignas(64) Element buffer[4][strip];
  const bool direct = places.dtype == Combine::element_dtype;
  const int64_t item = size_of(places.dtype), rows = places.reduced.row_length(),
                stride = places.reduced.strides[0].back();
  RowPosition<1> position(places.reduced, begin / rows);
  int64_t row = begin % rows;
  const Element* group[4];
  int64_t grouped = 0;
  for (int64_t left = end - begin; left > 0; --left) {
    const char* from = places.data + (offset + position.offsets[0] + row * stride) * item;
    group[grouped] = reinterpret_cast<const Element*>(from);
    if (!direct) {
      convert(from, 1, buffer[grouped], count);
      group[grouped] = buffer[grouped];
    }
    if (++grouped == 4) {
      reducer.add(group, 4);
      grouped = 0;
    }
    if (++row == rows) {
      row = 0;
      position.advance();
    }
  }
  if (grouped > 0) reducer.add(group, grouped);
}

/// Calls finish(first result, states, count) for chunks of the results.
template <class Combine, class Finish>
void reduce_columns(const ReductionLayout& places, Finish finish) {
  using Element = typename Combine::Element;
  const Convert convert = find_conversion(places.dtype, Combine::element_dtype);
  const int64_t columns = places.kept.row_length(), outer = places.kept.row_count();
  const int64_t strips = (columns + strip - 1) / strip, tasks = outer * strips;
  // If there are few strips the rows are divided too, into as many segments as the sizes determine.
  const int64_t segments = tasks >= 16 ? 1 : std::clamp<int64_t>(places.count / 256, 1, 16 / tasks);
  const int64_t segment = (places.count + segments - 1) / segments;
  const Scratch<Element> partial(segments > 1 ? segments * places.results : 0);
  const auto columns_of = [&](int64_t task) { return std::min(strip, columns - task % strips * strip); };
  const auto result_of = [&](int64_t task) { return task / strips * columns + task % strips * strip; };
  const int64_t work = segment * std::min(strip, columns);
  parallel_for(tasks * segments, std::max<int64_t>(1, 32768 / work), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t task = chunk / segments, first = chunk % segments * segment, count = columns_of(task);
      const int64_t offset = RowPosition<1>(places.kept, task / strips).offsets[0] + task % strips * strip;
      StripReducer<Combine> reducer(count);
      reduce_strip(places, offset, count, first, std::min(places.count, first + segment), convert, reducer);
      const Element* totals = reducer.finish();
      if (segments == 1) finish(result_of(task), totals, count);
      else std::copy_n(totals, count, partial.data() + chunk % segments * places.results + result_of(task));
    }
  });
  if (segments == 1) return;
  for (int64_t task = 0; task < tasks; ++task) {
    Element* totals = partial.data() + result_of(task);
    for (int64_t s = 1; s < segments; ++s) join_rows<Combine>(totals, totals + s * places.results, columns_of(task));
    finish(result_of(task), totals, columns_of(task));
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
