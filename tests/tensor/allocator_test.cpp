#include "tensor/memory/allocator.h"

#include <unistd.h>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include "support/base/sanitizers.h"
#include "support/test.h"
#include "support/text/text.h"

namespace fulgurite {

TEST("a tensor larger than the machine's memory is an error") {
  if (address_is_sanitized || thread_is_sanitized) return;  // their malloc ends the process
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const int64_t count = 16 * memory;  // bytes; swap may be as large as the memory, or a few times
  expect_error([&] { empty({count}, {.dtype = Dtype::u8}); },
               text::cat("out of memory: ", count, " bytes were asked for"));
  const Tensor small = ones({4 << 20});
  expect_error([&] { empty({count}, {.dtype = Dtype::u8}); },
               text::cat("out of memory: ", count, " bytes were asked for"));
  expect_equal(sum(small).item<double>(), 4. * (1 << 20));
}

}  // namespace fulgurite
