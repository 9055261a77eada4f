#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/threads/spin_wait.h"

namespace fulgurite {

/// The threads that help a caller with parallel work: those of the program's ThreadRunner if it has set one, else the
/// team's own. These are started when first needed, wait for the next job (polling briefly, then asleep), and end with
/// the process.
///
/// A child made by fork() has only the calling thread, so it creates a team of its own when it first needs one.
class ThreadTeam {
 public:
  using Body = void (*)(void* context, int thread);

  static ThreadTeam& of_process();

  /// True within a job, and while another thread runs one.
  bool is_in_use() const { return is_in_use_.load(std::memory_order_relaxed); }
  /// Calls body(context, 0) on this thread and body(context, i) for 0 < i < threads on others, at most once each: does
  /// not wait for threads of the team that have not begun when this one finishes. Returns false, without any call, if
  /// the team is in use or has no threads. The body must not throw.
  bool run(int threads, Body, void* context);

 private:
  class Worker;

  ThreadTeam() = default;
  /// As run(), by the thread that has the team.
  bool run_on_workers(int threads, Body, void* context);
  int start_workers(int wanted);
  void wait_for_workers();
  static void start_anew_in_child();

  std::atomic<bool> is_in_use_ = false;
  // The running job.
  Body body_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> running_ = 0;  // workers that have not finished; the highest bit: the caller sleeps
  std::vector<Worker*> workers_;                   // used by the thread that has the team
  SpinWait spin_wait_;
  ThreadTeam* before_fork_ = nullptr;  // keeps it reachable for leak checkers
};

}  // namespace fulgurite
