#include <link.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include <fulgurite/tensor.h>
#include <fulgurite/thread_runner.h>

#include "bridge.h"

// libgomp's interface for compilers; Intel's and LLVM's runtimes have it too.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
[[gnu::weak]] void __tsan_init();
}

namespace fulgurite_python {

namespace {

/// The number of OpenMP runtimes that the process has loaded.
int count_runtimes() {
  int count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const std::string_view path = info->dlpi_name, name = path.substr(path.rfind('/') + 1);
        for (const std::string_view runtime : {"libgomp", "libiomp5", "libomp"})
          if (name.starts_with(runtime)) ++*static_cast<int*>(data);
        return 0;
      },
      &count);
  return count;
}

struct Job {
  int threads;
  void (*body)(void*, int);
  void* context;
};

/// libgomp ends the threads that a smaller region does not need and starts them again for a larger one, so all regions
/// have the same number.
void run_on_openmp(int threads, void (*body)(void*, int), void* context) {
  Job job{threads, body, context};
  GOMP_parallel(
      [](void* data) {
        const Job& shared = *static_cast<const Job*>(data);
        const int thread = omp_get_thread_num();
        if (thread < shared.threads) shared.body(shared.context, thread);
      },
      &job, static_cast<unsigned>(std::max(threads, fg::num_threads())), 0);
}

}  // namespace

void follow_thread_count(int count) {
  static std::atomic<int> followed = 0;
  if (followed.exchange(count) != count) fg::set_num_threads(count, python_line());
}

void bind_openmp_threads(nb::module_& m) {
  m.def("follow_thread_count", &follow_thread_count, nb::arg("count"));
  m.def(
      "share_openmp_threads",
      [] {
        // ThreadSanitizer does not know how libgomp's threads wait for each other.
        const bool can_share = count_runtimes() == 1 && !__tsan_init;
        fg::set_thread_runner(can_share ? run_on_openmp : nullptr);
        return can_share;
      },
      "Runs the library's parallel work on the threads of the process's OpenMP runtime, which PyTorch uses. Returns "
      "False if there are several runtimes: the library then has threads of its own.");
}

}  // namespace fulgurite_python
