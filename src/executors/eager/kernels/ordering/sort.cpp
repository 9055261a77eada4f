// sort and topk.
#include <algorithm>

#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/lines.h"
#include "executors/eager/kernels/ordering/order.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// The destination of one row's results.
template <class Element>
struct OrderedRow {
  Element* values;
  int64_t values_step;
  int64_t* places;
  int64_t places_step;

  template <class Item>
  void write(const ElementRow<Element>& row, const Item* items, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      values[i * values_step] = row.element(items[i]);
      places[i * places_step] = place_of(items[i]);
    }
  }
};

/// Calls f(row, destination of its results) for the lines with these numbers, one after another.
template <class Element, class F>
void visit_rows(const Lines<3>& lines, Arguments arguments, std::span<const Tensor> results, bool descending,
                int64_t begin, int64_t end, const F& f) {
  const Element* const from = data_of<Element>(arguments[0].tensor());
  Element* const values = data_of<Element>(results[0]);
  int64_t* const places = data_of<int64_t>(results[1]);
  lines.visit_groups(1, begin, end, [&](const int64_t* first, int64_t, int64_t) {
    f(ElementRow<Element>{from + first[0], lines.step[0], descending},
      OrderedRow<Element>{values + first[1], lines.step[1], places + first[2], lines.step[2]});
  });
}

template <class Item>
bool has_equal_neighbours(const Item* items, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (key_of(items[i - 1]) == key_of(items[i])) return true;
  return false;
}

/// Sorts a row; `items` and `spare` have room for all of it. If the sort need not be stable, equal elements are ordered
/// as in PyTorch, which uses the standard library's introsort: it is stable for up to 16 elements.
template <class Element, class Item>
void sort_row(const ElementRow<Element>& row, int64_t count, bool stable, Item* items, Item* spare,
              const OrderedRow<Element>& out) {
  constexpr int key_bytes = static_cast<int>(std::min(sizeof(Element), sizeof(Item) / 2));
  row.items(0, count, items);
  const Item* ordered = sort_items(items, spare, count, key_bytes);
  if (!stable && count > 16 && has_equal_neighbours(ordered, count)) {
    row.items(0, count, items);
    std::sort(items, items + count, ByKey());
    ordered = items;
  }
  out.write(row, ordered, count);
}

void sort_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& input = arguments[0].tensor();
  if (input.impl()->numel() == 0) return;
  const Lines<3> lines(arguments[1].integer(), input, results[0], results[1]);
  const int64_t count = lines.length[0];
  const bool descending = arguments[2].boolean();
  // PyTorch uses a radix sort for long single rows of integers.
  const bool sorts_digits =
      sizes_of(input).size() == 1 && !descending && is_integer(input.impl()->dtype) && count >= 32768;
  const bool stable = arguments[3].boolean() || sorts_digits;
  visit_items(input.impl()->dtype, count, [&]<class Element, class Item>() {
    parallel_ranges(lines.number(), grain_of(count, 2048), [&](Ranges& ranges) {
      const Scratch<Item> items(count), spare(count);
      for (int64_t begin, end; ranges.next(begin, end);)
        visit_rows<Element>(lines, arguments, results, descending, begin, end,
                            [&](ElementRow<Element> row, const auto& out) {
                              if (row.shorten(count)) {
                                sort_row(row, count, stable, reinterpret_cast<ShortItem*>(items.data()),
                                         reinterpret_cast<ShortItem*>(spare.data()), out);
                              } else {
                                sort_row(row, count, stable, items.data(), spare.data(), out);
                              }
                            });
    });
  });
}

/// The first `wanted` items of a row, in order: items after the last of them are skipped.
template <class Element, class Item>
class FirstItems {
 public:
  FirstItems(int64_t wanted) : wanted_(wanted), items_(capacity()), some_(at_once) {}

  const Item* find(const ElementRow<Element>& row, int64_t count) {
    int64_t kept = 0;
    bool is_full = false;
    OrderKey<Element> bound = 0;  // of the last wanted item so far
    for (int64_t first = 0; first < count; first += at_once) {
      const int64_t length = std::min(at_once, count - first);
      row.items(first, length, some_.data());
      if (is_full && !any_below(length, bound)) continue;
      for (int64_t i = 0; i < length; ++i) {
        if (is_full && static_cast<OrderKey<Element>>(key_of(some_[i])) >= bound) continue;
        items_[kept++] = some_[i];
        if (kept < capacity()) continue;
        std::nth_element(items_.data(), items_.data() + wanted_ - 1, items_.data() + kept, Before());
        kept = wanted_;
        bound = static_cast<OrderKey<Element>>(key_of(items_[wanted_ - 1]));
        is_full = true;
      }
    }
    if (wanted_ < kept) std::nth_element(items_.data(), items_.data() + wanted_ - 1, items_.data() + kept, Before());
    std::sort(items_.data(), items_.data() + wanted_, Before());
    return items_.data();
  }

 private:
  static constexpr int64_t at_once = 256;
  int64_t capacity() const { return 2 * wanted_ + 64; }
  /// Items of higher indices with the bound's key come after it.
  bool any_below(int64_t length, OrderKey<Element> bound) const {
    int64_t below = 0;
    for (int64_t i = 0; i < length; ++i) below += static_cast<OrderKey<Element>>(key_of(some_[i])) < bound;
    return below != 0;
  }

  int64_t wanted_;
  Scratch<Item> items_, some_;
};

/// The result of PyTorch's topk for a row, including its order of equal elements.
template <class Item>
void select_as_pytorch(Item* items, int64_t count, int64_t wanted, bool sorted) {
  if (wanted * 64 <= count) {
    std::partial_sort(items, items + wanted, items + count, ByKey());
    return;
  }
  std::nth_element(items, items + wanted - 1, items + count, ByKey());
  if (sorted) std::sort(items, items + wanted - 1, ByKey());
}

template <class Element, class Item>
void topk_lines(const Lines<3>& lines, Arguments arguments, std::span<const Tensor> results, int64_t begin,
                int64_t end) {
  const bool descending = arguments[3].boolean(), sorted = arguments[4].boolean();
  const int64_t count = lines.length[0], wanted = lines.length[1];
  // If the wanted elements differ from one another and from the next one, the answer is unique, and there is a short
  // way to it.
  const bool has_short_way = sorted && wanted <= count / 8;
  FirstItems<Element, Item> first(has_short_way ? wanted + 1 : 1);
  const Scratch<Item> items(count);
  visit_rows<Element>(lines, arguments, results, descending, begin, end, [&](const auto& row, const auto& out) {
    if (has_short_way) {
      const Item* found = first.find(row, count);
      if (!has_equal_neighbours(found, wanted + 1)) return out.write(row, found, wanted);
    }
    row.items(0, count, items.data());
    select_as_pytorch(items.data(), count, wanted, sorted);
    out.write(row, items.data(), wanted);
  });
}

void topk_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& input = arguments[0].tensor();
  if (results[0].impl()->numel() == 0) return;
  const Lines<3> lines(arguments[2].integer(), input, results[0], results[1]);
  visit_items(input.impl()->dtype, lines.length[0], [&]<class Element, class Item>() {
    parallel_for(lines.number(), grain_of(lines.length[0]),
                 [&](int64_t begin, int64_t end) { topk_lines<Element, Item>(lines, arguments, results, begin, end); });
  });
}

}  // namespace

KernelTable sort_kernels() {
  static constexpr KernelEntry table[] = {{&sort_symbol, sort_kernel}, {&topk_symbol, topk_kernel}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
