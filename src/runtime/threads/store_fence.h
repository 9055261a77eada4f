#pragma once
#include <cstdint>

namespace fulgurite {

/// Results of so many bytes are stored past the caches. Measured on a last cache of 32 MB: who reads such a result at once gets it as
/// fast, who reads something else before gets it 1.2 to 1.5 times as fast, and smaller ones are better kept.
inline constexpr int64_t streamed_bytes = int64_t{16} << 20;

/// Other threads see what this one has stored past the caches.
inline void finish_streamed_stores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace fulgurite
