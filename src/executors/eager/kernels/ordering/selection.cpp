// kthvalue and medians: one element of each row.
#include <algorithm>

#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/lines.h"
#include "executors/eager/kernels/ordering/order.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// Writes the element that `choose` picks from the items of each line of the first argument, and its index.
template <class Choose>
void select_from_lines(const Tensor& input, int64_t dim, std::span<const Tensor> results, const Choose& choose) {
  if (results[0].impl()->numel() == 0) return;
  const Lines<1> lines(dim, input);
  const int64_t count = lines.length[0];
  visit_items(input.impl()->dtype, count, [&]<class Element, class Item>() {
    const Element* const from = data_of<Element>(input);
    Element* const values = data_of<Element>(results[0]);
    int64_t* const places = data_of<int64_t>(results[1]);
    parallel_for(lines.number(), grain_of(count), [&](int64_t begin, int64_t end) {
      const Scratch<Item> items(count);
      lines.visit_groups(1, begin, end, [&](const int64_t* first, int64_t, int64_t line) {
        const ElementRow<Element> row{from + first[0], lines.step[0], false};
        row.items(0, count, items.data());
        const Item chosen = choose.template operator()<Element>(items.data(), count);
        values[line] = row.element(chosen);
        places[line] = place_of(chosen);
      });
    });
  });
}

void kthvalue_kernel(Arguments arguments, std::span<const Tensor> results) {
  const int64_t k = arguments[1].integer();
  select_from_lines(arguments[0].tensor(), arguments[2].integer(), results,
                    [&]<class Element, class Item>(Item* items, int64_t count) {
                      std::nth_element(items, items + k - 1, items + count, Before());
                      return items[k - 1];
                    });
}

template <bool ignores_nan>
void median_kernel(Arguments arguments, std::span<const Tensor> results) {
  const auto choose = []<class Element, class Item>(Item* items, int64_t count) {
    int64_t numbers = count;
    if constexpr (is_floating_element<Element>) {
      const auto is_missing = [](const Item& item) { return static_cast<OrderKey<Element>>(~key_of(item)) == 0; };
      numbers = count - std::count_if(items, items + count, is_missing);
      if (numbers < count && (!ignores_nan || numbers == 0)) return *std::find_if(items, items + count, is_missing);
    }
    const int64_t middle = (numbers - 1) / 2;
    std::nth_element(items, items + middle, items + count, Before());
    return items[middle];
  };
  select_from_lines(arguments[0].tensor(), arguments[1].integer(), results, choose);
}

}  // namespace

KernelTable selection_kernels() {
  static constexpr KernelEntry table[] = {{&kthvalue_symbol, kthvalue_kernel},
                                          {&prims_median_with_indices_symbol, median_kernel<false>},
                                          {&prims_nanmedian_with_indices_symbol, median_kernel<true>}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
