#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace fulgurite::detail {

/// One thread at a time compiles a key; others that need the same key wait, and then look it up again. A function that
/// calls itself while it is compiled does not wait for itself.
class SingleFlight {
 public:
  /// While it exists, no other thread compiles the key.
  class Flight {
   public:
    Flight(SingleFlight& flights, uint64_t key) : flights_(&flights), key_(key) {
      std::unique_lock lock(flights.mutex_);
      const std::thread::id self = std::this_thread::get_id();
      for (;;) {
        const auto [running, is_free] = flights.running_.emplace(key, self);
        if (is_free) return;
        if (running->second == self) break;
        flights.ended_.wait(lock);
      }
      flights_ = nullptr;
    }
    ~Flight() { end(); }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    void end() {
      if (!flights_) return;
      {
        const std::lock_guard lock(flights_->mutex_);
        flights_->running_.erase(key_);
      }
      flights_->ended_.notify_all();
      flights_ = nullptr;
    }

   private:
    SingleFlight* flights_;  // null: it has ended, or belongs to an outer one
    uint64_t key_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_map<uint64_t, std::thread::id> running_;
};

}  // namespace fulgurite::detail
