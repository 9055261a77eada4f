#include "runtime/threads/thread_team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <fulgurite/thread_runner.h>

#include "support/context.h"

// Defined in programs built with ThreadSanitizer, which ends a child that starts threads if its parent had several.
extern "C" [[gnu::weak, gnu::visibility("default")]] void __tsan_init();

namespace fulgurite {

namespace {

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake_sleeper(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// The signals that workers block, leaving them to the program's own threads: all but those that a fault raises on the
/// thread itself.
sigset_t signals_of_others() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
    sigdelset(&signals, fault);
  return signals;
}

}  // namespace

class alignas(64) ThreadTeam::Worker {
 public:
  Worker(ThreadTeam& team, int thread) : team_(team), thread_(thread) {}

  /// Starts its thread; returns false if the system refuses.
  bool start() {
    sigset_t before;
    const sigset_t blocked = signals_of_others();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    pthread_t started;
    const int error = pthread_create(
        &started, &attributes, [](void* worker) -> void* { static_cast<Worker*>(worker)->work(); }, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return error == 0;
  }
  void assign_job() {
    if (state_.exchange(assigned, std::memory_order_acq_rel) == asleep) wake_sleeper(state_);
  }
  /// Takes the job back; returns false if the worker has begun.
  bool withdraw_job() {
    uint32_t expected = assigned;
    return state_.compare_exchange_strong(expected, idle, std::memory_order_acq_rel);
  }

 private:
  enum State : uint32_t { idle, asleep, assigned, running };

  [[noreturn]] void work() {
    while (true) {
      wait_for_job();
      uint32_t expected = assigned;
      if (!state_.compare_exchange_strong(expected, running, std::memory_order_acq_rel)) continue;  // withdrawn
      team_.body_(team_.context_, thread_);
      state_.store(idle, std::memory_order_release);
      if (team_.running_.fetch_sub(1, std::memory_order_acq_rel) == (caller_sleeps | 1)) wake_sleeper(team_.running_);
    }
  }
  void wait_for_job() {
    if (team_.spin_wait_.spin([this] { return state_.load(std::memory_order_relaxed) == assigned; })) return;
    uint32_t expected = idle;
    state_.compare_exchange_strong(expected, asleep, std::memory_order_acq_rel);
    while (state_.load(std::memory_order_relaxed) == asleep) sleep_while(state_, asleep);
  }

  ThreadTeam& team_;
  const int thread_;
  std::atomic<uint32_t> state_ = idle;

 public:
  static constexpr uint32_t caller_sleeps = uint32_t{1} << 31;
};

ThreadTeam& ThreadTeam::of_process() {
  if (ThreadTeam* const team = context().team.load(std::memory_order_acquire)) return *team;
  // Never destroyed: its threads may run until the process ends.
  auto* const made = new ThreadTeam;
  ThreadTeam* other = nullptr;
  if (!context().team.compare_exchange_strong(other, made, std::memory_order_acq_rel)) {
    delete made;
    return *other;
  }
  pthread_atfork(nullptr, nullptr, start_anew_in_child);
  return *made;
}

void ThreadTeam::start_anew_in_child() {
  auto* const team = new ThreadTeam;
  team->before_fork_ = context().team.exchange(team);
  context().thread_runner = nullptr;  // its threads do not exist here
  if (__tsan_init) context().may_start_threads = false;
}

int ThreadTeam::start_workers(int wanted) {
  while (static_cast<int>(workers_.size()) < wanted && context().may_start_threads.load(std::memory_order_relaxed)) {
    auto* const worker = new Worker(*this, static_cast<int>(workers_.size()) + 1);
    if (!worker->start()) {
      delete worker;
      break;
    }
    workers_.push_back(worker);
  }
  return std::min(wanted, static_cast<int>(workers_.size()));
}

bool ThreadTeam::run(int threads, Body body, void* context) {
  if (is_in_use() || is_in_use_.exchange(true, std::memory_order_acquire)) return false;
  bool has_run = true;
  if (const ThreadRunner runner = fulgurite::context().thread_runner.load(std::memory_order_acquire))
    runner(threads, body, context);
  else has_run = run_on_workers(threads, body, context);
  is_in_use_.store(false, std::memory_order_release);
  return has_run;
}

bool ThreadTeam::run_on_workers(int threads, Body body, void* context) {
  const int workers = start_workers(threads - 1);
  if (workers > 0) {
    body_ = body;
    context_ = context;
    running_.store(static_cast<uint32_t>(workers), std::memory_order_relaxed);
    for (int i = 0; i < workers; ++i) workers_[i]->assign_job();
    body(context, 0);
    uint32_t withdrawn = 0;
    for (int i = 0; i < workers; ++i) withdrawn += workers_[i]->withdraw_job() ? 1 : 0;
    if (running_.fetch_sub(withdrawn, std::memory_order_acq_rel) != withdrawn) wait_for_workers();
  }
  return workers > 0;
}

void ThreadTeam::wait_for_workers() {
  if (spin_wait_.spin([this] { return running_.load(std::memory_order_acquire) == 0; })) return;
  uint32_t left = running_.fetch_or(Worker::caller_sleeps, std::memory_order_acq_rel) | Worker::caller_sleeps;
  for (; left != Worker::caller_sleeps; left = running_.load(std::memory_order_acquire)) sleep_while(running_, left);
}

void set_thread_runner(ThreadRunner runner) {
  ThreadTeam::of_process();  // children of fork() take the runner away
  context().thread_runner.store(runner, std::memory_order_release);
}

}  // namespace fulgurite
