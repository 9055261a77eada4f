#pragma once
#include <atomic>
#include <chrono>
#include <utility>

#include <sched.h>

namespace fulgurite {

/// Hints to the processor that the thread polls memory.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Decides how long threads that wait for each other poll memory before they sleep in the kernel. Waking a sleeping
/// thread takes some tens of microseconds, so on a quiet machine they poll for about a millisecond. On a loaded one
/// polling takes the CPU from threads that have work, possibly from the one that is waited for: then they sleep after a
/// few microseconds. Load is recognized by losing the CPU while polling: the thread offers it with sched_yield(), which
/// returns late if another thread is runnable there. Thread-safe.
class SpinWait {
 public:
  using Clock = std::chrono::steady_clock;

  /// Returns true as soon as ready() does, false when the thread should sleep.
  template <class Ready>
  bool spin(const Ready& ready) {
    if (poll(ready)) return true;
    const Clock::time_point begin = Clock::now();
    for (Clock::time_point now = begin; now - begin < limit(now);) {
      if (now - begin > brief) sched_yield();
      if (poll(ready)) return true;
      const Clock::time_point before = std::exchange(now, Clock::now());
      if (now - before > lost_cpu) note_load(now);
    }
    return ready();
  }

 private:
  static constexpr std::chrono::microseconds brief{5}, patient{1000};
  static constexpr std::chrono::microseconds lost_cpu{100};  // longer than an interrupt, shorter than a time slice
  static constexpr std::chrono::milliseconds load_lasts{100};
  static constexpr int polls = 32;

  template <class Ready>
  static bool poll(const Ready& ready) {
    for (int i = 0; i < polls; ++i) {
      if (ready()) return true;
      pause_processor();
    }
    return false;
  }
  std::chrono::microseconds limit(Clock::time_point now) const {
    return now.time_since_epoch().count() < loaded_until_.load(std::memory_order_relaxed) ? brief : patient;
  }
  void note_load(Clock::time_point now) {
    loaded_until_.store((now + load_lasts).time_since_epoch().count(), std::memory_order_relaxed);
  }

  std::atomic<Clock::rep> loaded_until_ = 0;
};

}  // namespace fulgurite
