#include "executors/eager/place_error.h"

#include "ops/call_error.h"

namespace fulgurite {

void throw_place_error(int64_t place, int64_t size) {
  throw UnplacedError(text::cat("an index tensor holds ", place, ", which is out of range for a dimension of size ", size));
}

void throw_division_by_zero() { throw UnplacedError("division of integers by zero"); }

}  // namespace fulgurite
