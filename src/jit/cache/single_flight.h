#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace fulgurite::detail {

/// One thread at a time compiles a key; others that want the same one wait, and look again for what it made. A function that calls itself while it
/// is compiled does not wait for itself.
class CompileTurns {
 public:
  /// From here to its end nobody else compiles the key.
  class Turn {
   public:
    Turn(CompileTurns& turns, uint64_t key) : turns_(&turns), key_(key) {
      std::unique_lock lock(turns.mutex_);
      const std::thread::id self = std::this_thread::get_id();
      for (;;) {
        const auto [running, is_free] = turns.running_.emplace(key, self);
        if (is_free) return;
        if (running->second == self) break;
        turns.ended_.wait(lock);
      }
      turns_ = nullptr;
    }
    ~Turn() { end(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    void end() {
      if (!turns_) return;
      {
        const std::lock_guard lock(turns_->mutex_);
        turns_->running_.erase(key_);
      }
      turns_->ended_.notify_all();
      turns_ = nullptr;
    }

   private:
    CompileTurns* turns_;  // null: it has ended, or is part of an outer one
    uint64_t key_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_map<uint64_t, std::thread::id> running_;
};

}  // namespace fulgurite::detail
