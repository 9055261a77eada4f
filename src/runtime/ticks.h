#pragma once
#include <chrono>
#include <cstdint>

namespace fulgurite {

/// Reads a clock in a few nanoseconds, in units of its own: the processor's counter if it has one.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
#endif
}

/// Measures the rate, which takes a millisecond.
inline double microseconds_per_tick() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const uint64_t first = ticks();
  Clock::time_point now;
  do now = Clock::now();
  while (now - start < std::chrono::milliseconds(1));
  return std::chrono::duration<double, std::micro>(now - start).count() / static_cast<double>(ticks() - first);
}

}  // namespace fulgurite
