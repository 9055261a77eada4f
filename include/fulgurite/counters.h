#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string_view>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Process-wide counters, by name. Thread-safe.
///
///   unique_graphs    traces that jit compiled: one for each cache entry of a function without graph breaks, one
///                    for each new subgraph of one with them
///   evicted_versions cache entries that jitted functions evicted (CacheLimits)
class Counters {
 public:
  int64_t operator[](std::string_view name) const;
  void clear();
};

/// Returns the counters of the process.
Counters counters();

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
