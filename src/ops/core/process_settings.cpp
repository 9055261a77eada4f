// Process-wide settings. A traced function changes them at each call, in the order of its operators.
#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/text/text.h"

namespace fulgurite {

void manual_seed(uint64_t seed, SourceLocation at) {
  act_immediately("manual_seed()", at);
  context().generator.seed(seed);
}

void set_num_threads(int count, SourceLocation at) {
  if (count < 1)
    throw UserError(text::cat("set_num_threads(", count, "): the number of threads must be at least 1"), at);
  act_immediately("set_num_threads()", at);
  context().threads.store(count, std::memory_order_relaxed);
}

int num_threads() { return context().threads.load(std::memory_order_relaxed); }

void set_default_dtype(Dtype dtype, SourceLocation at) {
  if (!is_floating(dtype))
    throw UserError(text::cat("set_default_dtype(", dtype, "): the default dtype must be floating"), at);
  act_immediately("set_default_dtype()", at);
  context().default_dtype.store(dtype, std::memory_order_relaxed);
}

Dtype default_dtype() { return context().default_dtype.load(std::memory_order_relaxed); }

}  // namespace fulgurite
