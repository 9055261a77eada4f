#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace fulgurite {

/// When the steps of a program's runs were done, in nanoseconds of the steady clock. A program that has one tells it of the runs on the thread
/// that made it; runs on other threads are not timed.
class StepClock {
 public:
  struct Run {
    int64_t began = 0;
    std::vector<int64_t> done;  // for each step; fewer where one threw
    void note() { done.push_back(now()); }
  };

  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }
  bool is_of_this_thread() const { return thread_ == std::this_thread::get_id(); }
  Run& begin(size_t steps) {
    Run& run = runs_.emplace_back();
    run.done.reserve(steps);
    run.began = now();
    return run;
  }
  /// The runs since it was asked last.
  std::deque<Run> take() { return std::exchange(runs_, {}); }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::deque<Run> runs_;
};

}  // namespace fulgurite
