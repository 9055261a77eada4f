#pragma once
#include <cstdint>

namespace fulgurite {

/// Results of at least this size use non-temporal stores. Measured with a 32 MB last-level cache: a consumer that reads
/// such a result immediately is as fast, one that reads other memory first is 1.2 to 1.5 times as fast; smaller results
/// are better cached.
inline constexpr int64_t streamed_bytes = int64_t{16} << 20;

/// Makes this thread's non-temporal stores visible to other threads.
inline void finish_streamed_stores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace fulgurite
