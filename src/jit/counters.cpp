#include <fulgurite/counters.h>

#include <fulgurite/error.h>

#include "support/context.h"
#include "support/text.h"

namespace fulgurite {

int64_t Counters::operator[](std::string_view name) const {
  if (name == "unique_graphs") return context().unique_graphs.load(std::memory_order_relaxed);
  throw UserError(text::cat("counters: there is no counter \"", name, "\"; there is unique_graphs"));
}

void Counters::clear() { context().unique_graphs.store(0, std::memory_order_relaxed); }

Counters counters() { return {}; }

}  // namespace fulgurite
