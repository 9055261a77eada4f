// Many threads jit functions, call them with gradients, and drop them: memory must not grow, and no library of
// generated kernels may stay open. usage: dropped_functions [--threads 16] [--functions 10000] [--kernels 1000]. So
// many functions have kernels of their own, which must be compiled once; then they are repeated. Ends with the growth
// of resident memory over the last three quarters, and the number of open libraries; 1 if there is one, or the growth
// is 20 MB or more.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "codegen/gemm/gemm_kernel.h"
#include "support/open_libraries.h"

namespace fulgurite {

namespace {

constexpr double max_growth = 20;  // MB

struct Settings {
  int64_t threads = 16, functions = 10000, kernels = 1000;
};

Settings read(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const int64_t number = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;
    if (std::strcmp(argv[i], "--threads") == 0) settings.threads = number;
    else if (std::strcmp(argv[i], "--functions") == 0) settings.functions = number;
    else if (std::strcmp(argv[i], "--kernels") == 0) settings.kernels = number;
    else std::exit((std::fprintf(stderr, "dropped_functions: unknown flag %s\n", argv[i]), 2));
  }
  if (settings.threads < 1 || settings.functions < 4 || settings.kernels < 1)
    std::exit((std::fputs("dropped_functions: the numbers must be positive\n", stderr), 2));
  return settings;
}

double resident_megabytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

Tensor step(int64_t kind, const Tensor& x) {
  switch (kind) {
    case 0: return sin(x);
    case 1: return tanh(x);
    case 2: return x * x;
    case 3: return sigmoid(x);
    default: return exp(-x);
  }
}

// A fifth of the texts are GEMMs whose epilogue is of these operators.
bool has_gemm(int64_t text) { return text % 5 == 4 && codegen::has_gemm_instructions(); }

/// A function of operators that the digits of `text` choose, and of a constant.
Tensor call(int64_t text, double constant, const Tensor& x, const Tensor& weight) {
  Tensor y = has_gemm(text) ? matmul(x, weight) : x;
  y = y * constant;
  int64_t digits = text;
  for (int i = 0; i < 5; ++i, digits /= 5) y = step(digits % 5, y);
  return sum(y);
}

/// The findings of all threads.
struct Counts {
  std::atomic<int64_t> wrong{0}, without_kernels{0};
  std::atomic<size_t> max_open{0};
};

// The error of a gradient, which the directional derivative along ones gives.
bool is_right(const Tensor& gradient, int64_t text, double constant, const Tensor& x, const Tensor& weight) {
  const double h = 1e-4;
  const Tensor at = x.detach().to(Dtype::f64), w = weight.to(Dtype::f64);
  const double above = call(text, constant, at + h, w).item<double>(),
               below = call(text, constant, at - h, w).item<double>();
  const double slope = sum(gradient.to(Dtype::f64)).item<double>(), expected = (above - below) / (2 * h);
  return std::abs(slope - expected) <= 1e-2 * std::max(1.0, std::abs(expected));
}

void call_and_drop(int64_t number, const Settings& settings, Counts& counts) {
  constexpr int64_t texts = 100;
  const int64_t kernel = number % settings.kernels, text = kernel % texts;
  const double constant = 1 + static_cast<double>(kernel) * 1e-5;  // a kernel's text contains it
  const auto f = jit([text, constant](Tensor x, Tensor weight) { return call(text, constant, x, weight); },
                     {.executors = {"gemm", "fuser"}});
  const Tensor x = rand({32, 32}) * 0.1;
  x.requires_grad_();
  const Tensor weight = ones({32, 32}) * 0.05;
  const Tensor y = f(x, weight);
  y.backward();
  if (examine::fusion_names(f).empty()) ++counts.without_kernels;
  if (!is_right(x.grad(), text, constant, x, weight)) ++counts.wrong;
  if (number % 64 != 0) return;
  const size_t open = test::open_libraries();
  for (size_t most = counts.max_open; open > most && !counts.max_open.compare_exchange_weak(most, open);) {
  }
}

/// Runs the functions from `first` to `end` on all threads.
void run(const Settings& settings, int64_t first, int64_t end, Counts& counts) {
  std::atomic<int64_t> next{first};
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < settings.threads; ++i)
    threads.emplace_back([&] {
      for (int64_t number = next++; number < end; number = next++) call_and_drop(number, settings, counts);
    });
  for (std::thread& thread : threads) thread.join();
}

int main(int argc, char** argv) {
  const Settings settings = read(argc, argv);
  Counts counts;
  run(settings, 0, settings.functions / 4, counts);
  const double before = resident_megabytes();
  run(settings, settings.functions / 4, settings.functions, counts);
  const double growth = resident_megabytes() - before;
  const size_t open = test::open_libraries(), max_open = counts.max_open;
  const auto as_long = [](auto number) { return static_cast<long>(number); };
  std::printf("%ld functions, %ld wrong, %ld without kernels, %.1f MB at a quarter, %.1f MB more at the end, ",
              as_long(settings.functions), as_long(counts.wrong.load()), as_long(counts.without_kernels.load()), before,
              growth);
  std::printf("at most %zu libraries open, %zu at the end\n", max_open, open);
  const bool is_right = counts.wrong == 0 && counts.without_kernels == 0 && max_open > 0;
  return is_right && growth < max_growth && open == 0 ? 0 : 1;
}

}  // namespace

}  // namespace fulgurite

int main(int argc, char** argv) { return fulgurite::main(argc, argv); }
