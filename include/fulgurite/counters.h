#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string_view>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Counts of what the process has done so far, by name. Any thread may ask and clear.
///
///   unique_graphs    traces that jit compiled: one for each version of a function without graph breaks, one for each new piece of one
///                    with them
///   evicted_versions what jitted functions let go to make room for other versions (CacheLimits)
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
