#include "executors/eager/index_error.h"

#include "ops/core/call_error.h"

namespace fulgurite {

void throw_place_error(int64_t place, int64_t size) {
  throw UnplacedError(
      text::cat("an index tensor holds ", place, ", which is out of range for a dimension of size ", size));
}

void throw_division_by_zero() { throw UnplacedError("division of integers by zero"); }

void throw_class_error(int64_t number, int64_t classes) {
  if (number < 0) throw UnplacedError(text::cat("class numbers must not be negative, got ", number));
  throw UnplacedError(
      text::cat("class numbers must be smaller than num_classes, got ", number, " for ", classes, " classes"));
}

}  // namespace fulgurite
