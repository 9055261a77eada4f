// The overhead of a call beside its kernels, one thread: three pointwise operators and a small network, an empty
// function, further arguments, graph breaks, heap allocations, many cache entries. One JSON line for each case and
// metric; the minimum of several rounds.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace {

std::atomic<long> heap_allocations{0};

}  // namespace

// Counts the process's allocations, from C++ and from C.
extern "C" void* __libc_malloc(size_t);
extern "C" void* malloc(size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}

namespace fulgurite {

namespace {

using Clock = std::chrono::steady_clock;

void report(const char* bench_case, const char* metric, double value) {
  std::printf("{\"case\": \"%s\", \"metric\": \"%s\", \"value\": %.4g}\n", bench_case, metric, value);
  std::fflush(stdout);
}

/// Microseconds of a call: the least mean of many rounds.
template <class Call>
double microseconds(Call&& call) {
  double best = 1e30;
  for (int i = 0; i < 50; ++i) call();
  for (int round = 0; round < 60; ++round) {
    constexpr int calls = 400;
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count() / calls);
  }
  return best;
}

template <class Call>
double allocations(Call&& call) {
  for (int i = 0; i < 50; ++i) call();
  const long before = heap_allocations;
  for (int i = 0; i < 1000; ++i) call();
  return static_cast<double>(heap_allocations - before) / 1000;
}

template <class Call>
void measure(const char* bench_case, Call&& call) {
  report(bench_case, "us", microseconds(call));
  report(bench_case, "heap_allocations", allocations(call));
}

Tensor three_operators(Tensor x, Tensor y) { return exp(x + y) * y; }

struct Network {
  Tensor w1, b1, w2, b2;
};
Tensor loss_of(Network n, Tensor x, Tensor target) {
  const Tensor hidden = relu(nn::linear(x, n.w1, n.b1));
  const Tensor out = nn::linear(hidden, n.w2, n.b2);
  return nn::mse_loss(out, target);
}

void measure_arguments() {
  const Tensor x = rand({16});
  const auto one = jit([](Tensor a) { return a; });
  const auto five = jit([](Tensor a, Tensor, Tensor, Tensor, Tensor) { return a; });
  const double of_one = microseconds([&] { one(x); });
  const Tensor b = rand({16}), c = rand({16}), d = rand({16}), e = rand({16});
  const double of_five = microseconds([&] { five(x, b, c, d, e); });
  report("argument", "ns", 1e3 * (of_five - of_one) / 4);
}

void measure_many_entries() {
  const NoGrad no_grad;
  const auto f = jit(three_operators);
  const Tensor x = rand({16}), y = rand({16});
  const double of_one = microseconds([&] { f(x, y); });
  std::vector<Tensor> others;
  for (int64_t i = 0; i < 1000; ++i) others.push_back(rand({20 + i}));
  for (const Tensor& other : others) f(other, other + 1);
  const double same = microseconds([&] { f(x, y); });
  // Each call needs another cache entry than the call before.
  const Tensor small = rand({17}), small_too = rand({17});
  bool odd = false;
  const auto alternate = [&](const auto& g) {
    return microseconds([&] {
      odd = !odd;
      if (odd) g(x, y);
      else g(small, small_too);
    });
  };
  const double among_many = alternate(f);
  const double among_two = alternate(jit(three_operators));
  report("entries_1000", "same_entry_ratio", same / of_one);
  report("entries_1000", "alternating_ratio", among_many / of_one);
  report("entries_1000", "alternating_ratio_of_two_entries", among_two / of_one);
}

void measure_breaks() {
  const NoGrad no_grad;
  const Tensor x = rand({16}), y = rand({16});
  const auto in_three_subgraphs = jit([](Tensor x, Tensor y) {
    Tensor a = x + y;
    a = exp(a);
    a = a * y;
    a = a - x;
    graph_break();
    Tensor b = sin(a);
    b = b * x;
    b = b + a;
    graph_break();
    b = b * b;
    b = b + 1;
    return relu(b);
  });
  measure("ten_operators_two_breaks", [&] { in_three_subgraphs(x, y); });
}

void measure_all() {
  set_num_threads(1);
  {
    const NoGrad no_grad;
    const Tensor x = rand({16}), y = rand({16});
    const auto f = jit(three_operators);
    measure("three_operators", [&] { f(x, y); });
    const auto empty = jit([](Tensor) {});
    measure("empty", [&] { empty(x); });
    const auto nothing = jit([] {});
    measure("empty_without_arguments", [&] { nothing(); });
  }
  const Network network{rand({64, 64}), rand({64}), rand({16, 64}), rand({16})};
  const Tensor x = rand({1, 64}), target = rand({1, 16});
  const auto step = jit(value_and_grad(loss_of));
  measure("value_and_grad_mlp", [&] { step(network, x, target); });
  measure_arguments();
  measure_breaks();
  measure_many_entries();
}

}  // namespace

}  // namespace fulgurite

int main() { fulgurite::measure_all(); }
