#pragma once
#include <array>
#include <atomic>
#include <cstdint>

namespace fulgurite::detail {

/// Epoch-based reclamation: counts the threads inside a call, so that garbage is freed only when none of them may still
/// read it. Entering and leaving cost one atomic addition each, and no thread waits.
///
/// Garbage has no readers once each of the two epochs has been empty at some time after it became unreachable: its
/// readers entered one of them before. New visitors enter one epoch, so that the other becomes empty however many calls
/// there are.
class EpochCounter {
  struct Epoch {
    std::atomic<int64_t> entered{0}, left{0};
  };

 public:
  class Visit {
   public:
    explicit Visit(EpochCounter& readers)
        : epoch_(readers.epochs_[readers.entered_now_.load(std::memory_order_relaxed)]) {
      epoch_.entered.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Visit() { epoch_.left.fetch_add(1, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Epoch& epoch_;
  };

  static constexpr int epochs = 2;
  /// Returns true if the epoch was empty at the moment of the call.
  bool is_empty(int epoch) const {
    const Epoch& one = epochs_[epoch];
    const int64_t left = one.left.load(std::memory_order_seq_cst);  // read first: leaving in between counts as inside
    return one.entered.load(std::memory_order_seq_cst) == left;
  }
  /// From now on visitors enter the other generation.
  void advance() { entered_now_.store(1 - entered_now_.load(std::memory_order_relaxed), std::memory_order_relaxed); }
  /// The epoch that visitors enter now.
  int current() const { return entered_now_.load(std::memory_order_relaxed); }

  /// The number of visits so far.
  int64_t visits() const {
    return epochs_[0].entered.load(std::memory_order_relaxed) + epochs_[1].entered.load(std::memory_order_relaxed);
  }

 private:
  std::array<Epoch, epochs> epochs_;
  std::atomic<int> entered_now_{0};
};

}  // namespace fulgurite::detail
