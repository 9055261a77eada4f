#include "runtime/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include <fulgurite/tensor.h>

#ifdef FULGURITE_STD_THREADS
#include <thread>
#include <vector>
#else
// libgomp's own entry points. Called without pragmas, so that every compiler's build shares the runtime that oneDNN uses.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);
}
#endif

namespace fulgurite {

namespace {

/// One call of parallel_for, shared by the threads that run it.
struct Region {
  int64_t count;
  void (*body)(void*, int64_t, int64_t);
  void* context;
  std::atomic<bool> failed{false};
  std::exception_ptr error;

  void run(int64_t thread, int64_t threads) {
    const int64_t share = count / threads, rest = count % threads;
    const int64_t begin = thread * share + std::min(thread, rest);
    const int64_t end = begin + share + (thread < rest ? 1 : 0);
    if (begin == end) return;
    try {
      body(context, begin, end);
    } catch (...) {
      // An exception must not leave the thread it was thrown on; the first one is thrown again by the caller.
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

// The team of threads is one for the process; whoever does not get it runs serially.
std::mutex& team() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

#ifdef FULGURITE_STD_THREADS

// Set while this thread works for a region: a region inside it runs serially. (A mode of the thread, like the interpreter stack.)
thread_local bool in_region = false;

bool is_nested() { return in_region; }

void run_region(Region& region, int threads) {
  const auto work = [&region, threads](int thread) {
    in_region = true;
    region.run(thread, threads);
    in_region = false;
  };
  std::vector<std::thread> workers;
  for (int thread = 1; thread < threads; ++thread) workers.emplace_back(work, thread);
  work(0);
  for (std::thread& worker : workers) worker.join();
}

#else

bool is_nested() { return omp_in_parallel() != 0; }

void run_region(Region& region, int threads) {
  const auto body = [](void* data) { static_cast<Region*>(data)->run(omp_get_thread_num(), omp_get_num_threads()); };
  GOMP_parallel(body, &region, static_cast<unsigned>(threads), 0);
}

#endif

}  // namespace

void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  if (count <= 0) return;
  const int64_t wanted = grain > 1 ? count / grain : count;
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), wanted));
  if (threads <= 1 || is_nested()) {
    body(context, 0, count);
    return;
  }
  const std::unique_lock lock(team(), std::try_to_lock);
  if (!lock.owns_lock()) {
    body(context, 0, count);
    return;
  }
  Region region{count, body, context, {}, {}};
  run_region(region, threads);
  if (region.error) std::rethrow_exception(region.error);
}

}  // namespace fulgurite
