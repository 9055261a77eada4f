#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

#include <fulgurite/jit.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>
#include <fulgurite/thread_runner.h>

#include "runtime/threads/parallel_for.h"
#include "support/base/sanitizers.h"
#include "support/test.h"

namespace fulgurite {

namespace {

struct Threads {
  explicit Threads(int count) : before(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before); }
  int before;
};

/// Returns true if a child made by fork() calls `work` and it returns true, in less than a minute.
bool child_succeeds(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool succeeded = false;
    try {
      succeeded = work();
    } catch (...) {
    }
    _exit(succeeded ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int64_t sum_on_team(int64_t count) {
  std::atomic<int64_t> sum = 0;
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

}  // namespace

TEST("a child of a process that has used its threads works in parallel itself") {
  const Threads scope(4);
  expect_equal(sum_on_team(1000), int64_t{499500});
  expect(child_succeeds([] {
    for (int round = 0; round < 100; ++round)
      if (sum_on_team(1000) != 499500) return false;
    return true;
  }));
  expect_equal(sum_on_team(1000), int64_t{499500});
}

TEST("a child has threads of its own") {
  if (thread_is_sanitized) return;  // its children can start none
  const Threads scope(2);
  sum_on_team(1000);
  expect(child_succeeds([] {
    std::atomic<int> begun = 0;
    parallel_for(2, 1, [&](int64_t, int64_t) {
      for (int tries = (++begun, 0); begun < 2 && tries < 10000; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    return begun == 2;
  }));
}

TEST("a child does not call its parent's thread runner") {
  const Threads scope(2);
  set_thread_runner([](int, void (*)(void*, int), void*) { throw std::logic_error("the parent's threads"); });
  const bool succeeded = child_succeeds([] { return sum_on_team(1000) == 499500; });
  set_thread_runner(nullptr);
  expect(succeeded);
}

TEST("children of children compute") {
  const Threads scope(2);
  sum_on_team(1000);
  expect(child_succeeds([] {
    return sum_on_team(1000) == 499500 && child_succeeds([] {
             return sum_on_team(1000) == 499500 && child_succeeds([] { return sum_on_team(1000) == 499500; });
           });
  }));
}

TEST("a child computes while another thread of its parent works in parallel") {
  const Threads scope(2);
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) sum(exp(ones({1 << 18})));
  });
  bool all_succeeded = true;
  for (int round = 0; round < 20; ++round)
    all_succeeded = child_succeeds([] { return sum(ones({1 << 20})).item<double>() == 1 << 20; }) && all_succeeded;
  ends = true;
  other.join();
  expect(all_succeeded);
}

TEST("a child runs matmuls, convolutions, compiled functions and gradients") {
  const Threads scope(2);
  const auto f = jit([](Tensor x, Tensor w) { return sum(relu(matmul(x, w))); });
  const auto x = ones({512, 256}), w = ones({256, 128}).requires_grad_(), images = ones({4, 8, 32, 32}),
             filter = ones({8, 8, 3, 3});
  const auto step = [&] {
    w.set_grad({});
    f(x, w).backward();
    return w.grad().sum().item<double>() == 512. * 256 * 128 &&
           sum(nn::conv2d(images, filter)).item<double>() == 4. * 8 * 30 * 30 * 72;
  };
  expect(step());
  expect(child_succeeds(step));
  expect(step());
}

}  // namespace fulgurite
