#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace fulgurite {

/// The times at which the steps of a program's runs finished, in nanoseconds of the steady clock. Times runs on the
/// thread that created it; runs on other threads are not timed.
class StepClock {
 public:
  struct Run {
    int64_t began = 0;
    std::vector<int64_t> done;  // one time for each step; fewer if one threw
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
  /// Returns the runs since the last call.
  std::deque<Run> take() { return std::exchange(runs_, {}); }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::deque<Run> runs_;
};

}  // namespace fulgurite
