#pragma once
#include <cstdint>
#include <type_traits>

namespace fulgurite {

/// Calls body(context, begin, end) over [0, count) cut into ranges, on up to num_threads() threads; serially when count is below
/// `grain` or another thread has the team. Ranges may differ with the number of threads: work whose result depends on how it is
/// cut must be cut into fixed blocks by the caller, one index a block.
void parallel_for(int64_t count, int64_t grain, void (*body)(void* context, int64_t begin, int64_t end), void* context);

template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  parallel_for(count, grain, [](void* c, int64_t b, int64_t e) { (*static_cast<std::remove_reference_t<Body>*>(c))(b, e); },
               const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace fulgurite
