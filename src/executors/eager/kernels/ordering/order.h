#pragma once
#include <utility>

#include "executors/eager/kernels/common/compute.h"

// Maps elements to unsigned numbers in the same order: zeros are equal, and NaN is the largest. A sorted item has this
// number in its upper bits and the element's index in its lower bits: no two items are equal, so any sort is stable.
namespace fulgurite::FULGURITE_KERNELS {

template <class Element>
using OrderKey = std::conditional_t<
    sizeof(Element) == 8, uint64_t,
    std::conditional_t<sizeof(Element) == 4, uint32_t, std::conditional_t<sizeof(Element) == 2, uint16_t, uint8_t>>>;

template <class Element>
inline constexpr bool is_floating_element =
    std::is_floating_point_v<Element> || std::is_same_v<Element, BFloat16> || std::is_same_v<Element, Float16>;
/// The bits of infinity: larger ones are NaN.
template <class Element>
inline constexpr OrderKey<Element> infinity_bits = 0;
template <>
inline constexpr uint64_t infinity_bits<double> = 0x7ff0000000000000;
template <>
inline constexpr uint32_t infinity_bits<float> = 0x7f800000;
template <>
inline constexpr uint16_t infinity_bits<BFloat16> = 0x7f80;
template <>
inline constexpr uint16_t infinity_bits<Float16> = 0x7c00;

template <class Element>
FULGURITE_INLINE OrderKey<Element> order_key(Element e) {
  using Key = OrderKey<Element>;
  constexpr Key sign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  if constexpr (is_floating_element<Element>) {
    const Key bits = __builtin_bit_cast(Key, e), size = static_cast<Key>(bits & static_cast<Key>(~sign));
    const Key ordered = static_cast<Key>(bits & sign ? ~bits : bits | sign);
    const Key number = size == 0 ? sign : ordered;
    return size > infinity_bits<Element> ? static_cast<Key>(~Key{0}) : number;
  } else if constexpr (std::is_same_v<Element, Boolean>) {
    return e.byte != 0;
  } else if constexpr (std::is_signed_v<Element>) {
    return static_cast<Key>(static_cast<Key>(e) ^ sign);
  } else {
    return e;
  }
}
/// The element of a key, except for elements that share a key: zeros and NaN.
template <class Element>
FULGURITE_INLINE Element element_of_key(OrderKey<Element> key) {
  using Key = OrderKey<Element>;
  constexpr Key sign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  if constexpr (is_floating_element<Element>)
    return __builtin_bit_cast(Element, static_cast<Key>(key & sign ? key ^ sign : ~key));
  else if constexpr (std::is_same_v<Element, Boolean>) return {static_cast<uint8_t>(key)};
  else if constexpr (std::is_signed_v<Element>) return static_cast<Element>(static_cast<Key>(key ^ sign));
  else return key;
}
template <class Element>
FULGURITE_INLINE bool shares_key(OrderKey<Element> key) {
  using Key = OrderKey<Element>;
  constexpr Key zero = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  return is_floating_element<Element> && (key == zero || key == static_cast<Key>(~Key{0}));
}

/// An element of up to 32 bits in a row: its key in the upper half, its index in the lower one.
using ShortItem = uint64_t;
/// Any element, in a row of any length.
struct LongItem {
  uint64_t key, place;
  friend bool operator<(const LongItem& a, const LongItem& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};
FULGURITE_INLINE uint64_t key_of(ShortItem item) { return item >> 32; }
FULGURITE_INLINE uint64_t key_of(const LongItem& item) { return item.key; }
FULGURITE_INLINE int64_t place_of(ShortItem item) { return static_cast<int64_t>(item & 0xffffffff); }
FULGURITE_INLINE int64_t place_of(const LongItem& item) { return static_cast<int64_t>(item.place); }
template <class Item>
FULGURITE_INLINE Item item_of(uint64_t key, int64_t place) {
  if constexpr (std::is_same_v<Item, ShortItem>) return key << 32 | static_cast<uint64_t>(place);
  else return {key, static_cast<uint64_t>(place)};
}

/// A row of elements some distance apart, smallest first or, `descending`, largest first.
template <class Element>
struct ElementRow {
  using Key = OrderKey<Element>;

  ElementRow(const Element* elements, int64_t step, bool descending)
      : elements_(elements), step_(step), turned_(descending ? static_cast<Key>(~Key{0}) : Key{0}) {}

  /// The items of `count` elements from the one at `first` on.
  template <class Item>
  void items(int64_t first, int64_t count, Item* to) const {
    const Element* const from = elements_ + first * step_;
    for (int64_t i = 0; i < count; ++i)
      to[i] = item_of<Item>(static_cast<Key>((order_key(from[i * step_]) ^ turned_) - least_), first + i);
  }
  template <class Item>
  Element element(const Item& item) const {
    const Key key = static_cast<Key>((static_cast<Key>(key_of(item)) + least_) ^ turned_);
    return shares_key<Element>(key) ? elements_[place_of(item) * step_] : element_of_key<Element>(key);
  }

  /// Returns true if short items can hold the keys relative to the smallest; from then on they are relative to it.
  bool shorten(int64_t count) {
    if (sizeof(Element) < 8 || count > int64_t{0xffffffff}) return false;
    Key least = static_cast<Key>(~Key{0}), most = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Key key = static_cast<Key>(order_key(elements_[i * step_]) ^ turned_);
      least = key < least ? key : least;
      most = key > most ? key : most;
    }
    if (static_cast<uint64_t>(most - least) > 0xffffffff) return false;
    least_ = least;
    return true;
  }

 private:
  const Element* elements_;
  int64_t step_;
  Key turned_, least_ = 0;
};

/// Calls f.operator()<Element, Item>() with the dtype's element type and the items for rows of `length`.
template <class F>
void visit_items(Dtype dtype, int64_t length, F&& f) {
  visit_dtype(dtype, [&]<class Element>() {
    if constexpr (sizeof(Element) < 8) {
      if (length <= int64_t{0xffffffff}) return f.template operator()<Element, ShortItem>();
    }
    f.template operator()<Element, LongItem>();
  });
}

/// For the standard library's algorithms, so that each instruction set has its own.
struct Before {
  template <class Item>
  bool operator()(const Item& a, const Item& b) const {
    return a < b;
  }
};

/// Treats items with one key as equal: the standard library's algorithms then give PyTorch's order of equal elements.
struct ByKey {
  template <class Item>
  bool operator()(const Item& a, const Item& b) const {
    return key_of(a) < key_of(b);
  }
};

/// Sorts items; returns the buffer that holds them, `items` or `spare`. `key_bytes` of the keys count.
ShortItem* sort_items(ShortItem* items, ShortItem* spare, int64_t count, int key_bytes);
LongItem* sort_items(LongItem* items, LongItem* spare, int64_t count, int key_bytes);

}  // namespace fulgurite::FULGURITE_KERNELS
