#include "runtime/threads/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include <fulgurite/tensor.h>

#include "runtime/threads/thread_team.h"

namespace fulgurite {

/// One call, shared by the threads that run it: each starts with a share of the chunks. CPUs of a shared machine are
/// not equally fast, so a thread that has finished its share steals from the others.
class ParallelJob {
 public:
  ParallelJob(int64_t count, void (*body)(void*, Ranges&), void* context, int threads, int64_t max_chunks)
      : count_(count), body_(body), context_(context), thread_count_(std::min(threads, max_threads)) {
    chunks_ = std::min<int64_t>(max_chunks, int64_t{chunks_of_thread} * thread_count_);
    for (int i = 0; i < thread_count_; ++i) {
      thread_chunks_[i].next = chunk_begin(chunks_, thread_count_, i);
      thread_chunks_[i].end = chunk_begin(chunks_, thread_count_, i + 1);
    }
  }
  void run(int thread) {
    Ranges ranges(this, thread);
    try {
      body_(context_, ranges);
    } catch (...) {
      // An exception must not leave the thread it was thrown on; the caller rethrows the first one.
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }
  bool next(Ranges& own, int64_t& begin, int64_t& end) {
    for (; own.passed_ < thread_count_; ++own.passed_) {
      ThreadChunks& mine = thread_chunks_[(own.thread_ + own.passed_) % thread_count_];
      const int64_t chunk = std::atomic_ref(mine.next).fetch_add(1, std::memory_order_relaxed);
      if (chunk >= mine.end) continue;
      begin = chunk_begin(count_, chunks_, chunk);
      end = chunk_begin(count_, chunks_, chunk + 1);
      return true;
    }
    return false;
  }
  /// The first exception, or null.
  const std::exception_ptr& error() const { return error_; }

 private:
  static constexpr int max_threads = 64, chunks_of_thread = 8;
  struct alignas(64) ThreadChunks {  // chunks: the next one that no thread has taken, and their end
    int64_t next, end;
  };

  /// The start of chunk `i` of `chunks` nearly equal ones of `count`.
  static int64_t chunk_begin(int64_t count, int64_t chunks, int64_t i) {
    return count / chunks * i + std::min(i, count % chunks);
  }

  int64_t count_;
  void (*body_)(void*, Ranges&);
  void* context_;
  int thread_count_;
  int64_t chunks_;
  ThreadChunks thread_chunks_[max_threads];  // only as many as there are threads in use are filled
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

bool Ranges::next_of_job(int64_t& begin, int64_t& end) { return job_->next(*this, begin, end); }

namespace {

// Kept out of line, so that serial calls reserve no stack for a job. Returns false, without calling `body`, if no other
// thread can help.
[[gnu::noinline]] bool run_on_team(int64_t count, int threads, int64_t max_chunks, void (*body)(void*, Ranges&),
                                   void* context) {
  ThreadTeam& team = ThreadTeam::of_process();
  if (team.is_in_use()) return false;
  ParallelJob job(count, body, context, threads, max_chunks);
  const auto run = [](void* data, int thread) { static_cast<ParallelJob*>(data)->run(thread); };
  if (!team.run(threads, run, &job)) return false;
  if (job.error()) std::rethrow_exception(job.error());
  return true;
}

}  // namespace

void parallel_ranges(int64_t count, int64_t grain, void (*body)(void*, Ranges&), void* context) {
  if (count <= 0) return;
  const int64_t wanted = grain > 1 ? count / grain : count;
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), wanted));
  // The team is in use within another parallel call.
  if (threads > 1 && run_on_team(count, threads, wanted, body, context)) return;
  Ranges all(count);
  body(context, all);
}

}  // namespace fulgurite
