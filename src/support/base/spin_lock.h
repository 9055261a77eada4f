#pragma once
#include <atomic>
#include <thread>

namespace fulgurite {

/// A mutex for critical sections of a few instructions: half the cost of an uncontended std::mutex.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  // After some spins the holder may have been descheduled.
  void wait() const {
    for (int i = 0; i < 200; ++i)
      if (!locked_.load(std::memory_order_relaxed)) return;
    std::this_thread::yield();
  }

  std::atomic<bool> locked_ = false;
};

}  // namespace fulgurite
