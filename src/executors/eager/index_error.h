#pragma once
#include <cstdint>

namespace fulgurite {

/// Reports an index out of range of its dimension.
[[noreturn, gnu::cold]] void throw_index_error(int64_t place, int64_t size);
/// The same for class numbers of one_hot.
[[noreturn, gnu::cold]] void throw_class_error(int64_t number, int64_t classes);

/// Reports a zero among integer divisors.
[[noreturn, gnu::cold]] void throw_division_by_zero();

/// Returns an index counted from the front; throws an UnlocatedError if it is out of range.
inline __attribute__((always_inline)) int64_t checked_place(int64_t place, int64_t size) {
  if (place >= 0 && place < size) [[likely]]
    return place;
  if (place < 0 && place >= -size) return place + size;
  throw_index_error(place, size);
}
/// The same for operators whose indices never count from the end: gather, scatter, index_select, embedding.
inline __attribute__((always_inline)) int64_t counted_place(int64_t place, int64_t size) {
  if (place >= 0 && place < size) [[likely]]
    return place;
  throw_index_error(place, size);
}

}  // namespace fulgurite
