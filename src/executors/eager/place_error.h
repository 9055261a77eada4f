#pragma once
#include <cstdint>

namespace fulgurite {

/// A tensor of indices holds one that its dimension does not have.
[[noreturn, gnu::cold]] void throw_place_error(int64_t place, int64_t size);

/// An index counted from the front; throws a UserError where the dimension has no such place.
inline __attribute__((always_inline)) int64_t checked_place(int64_t place, int64_t size) {
  if (place >= 0 && place < size) [[likely]]
    return place;
  if (place < 0 && place >= -size) return place + size;
  throw_place_error(place, size);
}

}  // namespace fulgurite
