// Sorts items: insertion sort for a few, merges for some, a radix sort for many.
#include "executors/eager/kernels/ordering/order.h"

#include <cstring>

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t run_length = 16, few = 24;

template <class Item>
void sort_by_insertion(Item* items, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const Item item = items[i];
    int64_t at = i;
    for (; at > 0 && item < items[at - 1]; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

/// Merges two adjacent ordered runs; the next item is computed without branches.
template <class Item>
void merge(const Item* left, int64_t left_count, int64_t right_count, Item* to) {
  const Item *right = left + left_count, *const left_end = right, *const right_end = right + right_count;
  while (left != left_end && right != right_end) {
    const bool takes_right = *right < *left;
    *to++ = *(takes_right ? right : left);
    right += takes_right;
    left += !takes_right;
  }
  for (; left != left_end; ++left) *to++ = *left;
  for (; right != right_end; ++right) *to++ = *right;
}

template <class Item>
Item* sort_by_merges(Item* items, Item* spare, int64_t count) {
  for (int64_t first = 0; first < count; first += run_length)
    sort_by_insertion(items + first, count - first < run_length ? count - first : run_length);
  for (int64_t length = run_length; length < count; length *= 2) {
    for (int64_t first = 0; first < count; first += 2 * length) {
      const int64_t rest = count - first, left = rest < length ? rest : length;
      const int64_t right = rest - left < length ? rest - left : length;
      merge(items + first, left, right, spare + first);
    }
    std::swap(items, spare);
  }
  return items;
}

/// Radix sort by the bytes of the keys, the lowest first; skips bytes that are the same in all keys.
template <class Item>
Item* sort_by_bytes(Item* items, Item* spare, int64_t count, int key_bytes) {
  const Scratch<int64_t> counts(256 * key_bytes);
  std::memset(counts.data(), 0, sizeof(int64_t) * 256 * static_cast<size_t>(key_bytes));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = key_of(items[i]);
    for (int byte = 0; byte < key_bytes; ++byte) ++counts[256 * byte + static_cast<int64_t>(key >> (8 * byte) & 0xff)];
  }
  for (int byte = 0; byte < key_bytes; ++byte) {
    int64_t* const next = &counts[256 * byte];
    const auto digit = [&](const Item& item) { return key_of(item) >> (8 * byte) & 0xff; };
    if (next[digit(items[0])] == count) continue;
    int64_t total = 0;
    for (int d = 0; d < 256; ++d) total += std::exchange(next[d], total);
    for (int64_t i = 0; i < count; ++i) spare[next[digit(items[i])]++] = items[i];
    std::swap(items, spare);
  }
  return items;
}

template <class Item>
Item* sorted(Item* items, Item* spare, int64_t count, int key_bytes) {
  const int64_t some = 24 * key_bytes;  // each byte has its own cost, whatever the number of items
  if (count > some) return sort_by_bytes(items, spare, count, key_bytes);
  if (count > few) return sort_by_merges(items, spare, count);
  sort_by_insertion(items, count);
  return items;
}

}  // namespace

ShortItem* sort_items(ShortItem* items, ShortItem* spare, int64_t count, int key_bytes) {
  return sorted(items, spare, count, key_bytes);
}
LongItem* sort_items(LongItem* items, LongItem* spare, int64_t count, int key_bytes) {
  return sorted(items, spare, count, key_bytes);
}

}  // namespace fulgurite::FULGURITE_KERNELS
