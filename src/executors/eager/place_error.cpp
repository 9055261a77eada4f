#include "executors/eager/place_error.h"

#include <fulgurite/error.h>

#include "support/text.h"

namespace fulgurite {

void throw_place_error(int64_t place, int64_t size) {
  throw UserError(text::cat("an index tensor holds ", place, ", which is out of range for a dimension of size ", size));
}

}  // namespace fulgurite
