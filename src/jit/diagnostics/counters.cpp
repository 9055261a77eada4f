#include <fulgurite/counters.h>

#include <fulgurite/error.h>

#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

struct Counter {
  std::string_view name;
  std::atomic<int64_t> Context::*count;
};
constexpr Counter all[] = {{"unique_graphs", &Context::unique_graphs},
                           {"evicted_versions", &Context::evicted_versions}};

}  // namespace

int64_t Counters::operator[](std::string_view name) const {
  for (const Counter& counter : all)
    if (counter.name == name) return (context().*counter.count).load(std::memory_order_relaxed);
  throw UserError(text::cat("counters: there is no counter \"", name, "\"; there are ",
                            text::join(all, [](const Counter& one) { return one.name; })));
}

void Counters::clear() {
  act_immediately("Counters::clear()", {});
  for (const Counter& counter : all) (context().*counter.count).store(0, std::memory_order_relaxed);
}

Counters counters() { return {}; }

}  // namespace fulgurite
