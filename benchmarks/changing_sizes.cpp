// Training steps whose sizes or scalars change from step to step, beside the same steps with repeating sizes and
// scalars: time and memory.
//   changing_sizes [STEPS]
#include <fulgurite/fulgurite.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

namespace fg = fulgurite;

namespace {

double megabytes() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * 4096 / 1e6;
}

struct Result {
  double microseconds, megabytes;
};

/// Steps of two kinds alternate, so that both see the same machine load.
void compare(const char* name, int64_t steps, const std::function<void(int64_t)>& repeated,
             const std::function<void(int64_t)>& changing) {
  const auto run = [](int64_t first, int64_t last, const std::function<void(int64_t)>& step) {
    const double before = megabytes();
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = first; i < last; ++i) step(i);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return Result{seconds * 1e6 / static_cast<double>(last - first), megabytes() - before};
  };
  Result best[2] = {{1e30, 0}, {1e30, 0}};
  constexpr int64_t rounds = 8;
  for (int64_t round = 0; round < rounds; ++round) {
    for (int kind = 0; kind < 2; ++kind) {
      const Result result = run(round * steps / rounds, (round + 1) * steps / rounds, kind == 0 ? repeated : changing);
      if (result.microseconds < best[kind].microseconds) best[kind].microseconds = result.microseconds;
      best[kind].megabytes += result.megabytes;
    }
  }
  std::printf("%-34s repeated %8.1f us, %6.1f MB more; changing %8.1f us, %6.1f MB more; ratio %.2f\n", name,
              best[0].microseconds, best[0].megabytes, best[1].microseconds, best[1].megabytes,
              best[1].microseconds / best[0].microseconds);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 16000;
  fg::set_num_threads(1);
  const fg::Tensor w = fg::ones({8, 8}).requires_grad_();
  const auto eager = [&](const fg::Tensor& x, double number) {
    fg::sum(fg::relu(fg::matmul(x, w)) * number).backward();
    w.set_grad({});
  };
  const fg::Tensor x = fg::ones({4, 8});
  compare(
      "eager, a number", steps, [&](int64_t) { eager(x, 1.5); },
      [&](int64_t i) { eager(x, 1 + static_cast<double>(i) * 1e-6); });
  // The order of sizes makes all rounds alike.
  const auto rows = [&](int64_t i) { return 1 + i * 3571 % 499; };
  compare(
      "eager, rows (1 to 499)", steps,
      [&](int64_t) {
        eager(fg::ones({250, 8}), 1.5);
      },
      [&](int64_t i) {
        eager(fg::ones({rows(i), 8}), 1.5);
      });
  const auto f = fg::jit([](fg::Tensor x, fg::Tensor w) { return fg::sum(fg::relu(fg::matmul(x, w))); },
                         {.limits = {.warn_after = 0}});
  const auto jitted = [&](int64_t count) {
    f(fg::ones({count, 8}), w).backward();
    w.set_grad({});
  };
  // Each new size is a cache entry: the comparison is of memory.
  const int64_t compiled = steps / 2;
  compare(
      "jit, rows (each a new one)", compiled, [&](int64_t) { jitted(1000); }, [&](int64_t i) { jitted(1 + i); });
  const fg::CacheStats stats = fg::cache_stats(f);
  std::printf("jit keeps %lld versions: programs %.0f MB, arenas %.0f MB, traces %.0f MB; the process has %.0f MB\n",
              static_cast<long long>(stats.versions), static_cast<double>(stats.programs) / 1e6,
              static_cast<double>(stats.arenas) / 1e6, static_cast<double>(stats.traces) / 1e6, megabytes());
}
