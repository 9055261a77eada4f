#pragma once
#include <cstdint>

namespace fulgurite {

/// A tensor of indices holds one that its dimension does not have.
[[noreturn, gnu::cold]] void throw_place_error(int64_t place, int64_t size);
/// Of class numbers for one_hot.
[[noreturn, gnu::cold]] void throw_class_error(int64_t number, int64_t classes);

/// A divisor among integers is zero.
[[noreturn, gnu::cold]] void throw_division_by_zero();

/// An index counted from the front; throws an UnplacedError where the dimension has no such place.
inline __attribute__((always_inline)) int64_t checked_place(int64_t place, int64_t size) {
  if (place >= 0 && place < size) [[likely]]
    return place;
  if (place < 0 && place >= -size) return place + size;
  throw_place_error(place, size);
}
/// The same for operators whose indexes never count from the end: gather, scatter, index_select, embedding.
inline __attribute__((always_inline)) int64_t counted_place(int64_t place, int64_t size) {
  if (place >= 0 && place < size) [[likely]]
    return place;
  throw_place_error(place, size);
}

}  // namespace fulgurite
