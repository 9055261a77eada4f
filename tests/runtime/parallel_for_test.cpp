#include "runtime/threads/parallel_for.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <fulgurite/error.h>
#include <fulgurite/tensor.h>
#include <fulgurite/thread_runner.h>

#include "support/test.h"

namespace fulgurite {

namespace {

/// Sets the number of threads for a scope.
struct Threads {
  explicit Threads(int count) : before(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before); }
  int before;
};

std::atomic<int> runner_calls{0};

/// A ThreadRunner with threads of its own for each call.
void run_on_new_threads(int threads, void (*body)(void*, int), void* context) {
  ++runner_calls;
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([=] { body(context, i); });
  body(context, 0);
  for (std::thread& other : others) other.join();
}
/// Sets a ThreadRunner for a scope.
struct Runner {
  explicit Runner(ThreadRunner runner) { set_thread_runner(runner); }
  ~Runner() { set_thread_runner(nullptr); }
};

int64_t sum_of_indices(int64_t count) {
  std::atomic<int64_t> sum{0};
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

}  // namespace

TEST("every index is visited once, with any number of threads") {
  for (const int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    for (const int64_t count : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      bool once = true;
      for (const auto& n : visits) once = once && n == 1;
      expect(once);
    }
  }
}

TEST("a thread that is done takes what a slower one has left") {
  const Threads scope(2);
  std::atomic<int> others{0};
  bool all_were_taken = false;
  parallel_for(16, 1, [&](int64_t begin, int64_t end) {
    if (begin > 0) {
      others += static_cast<int>(end - begin);
      return;
    }
    for (int tries = 0; others < 15 && tries < 10000; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    all_were_taken = others == 15;
  });
  expect(all_were_taken, "the first range's thread had others to itself");
}

TEST("a body that has memory of its own is called once on each thread, for ranges of the grain and more") {
  const Threads scope(3);
  std::atomic<int> calls{0};
  std::atomic<int64_t> visited{0}, shortest{1000};
  parallel_ranges(1000, 30, [&](Ranges& ranges) {
    // A thread that begins when all is done is not waited for, so each waits for the others here.
    for (int tries = (++calls, 0); calls < 3 && tries < 10000; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int64_t begin, end; ranges.next(begin, end);) {
      visited += end - begin;
      if (end - begin < shortest) shortest = end - begin;
    }
  });
  expect_equal(calls.load(), 3);
  expect_equal(visited.load(), int64_t{1000});
  expect(shortest >= 30, "a range is shorter than the grain");
}

TEST("little work is one serial call") {
  const Threads scope(4);
  int calls = 0;
  parallel_for(99, 100, [&](int64_t begin, int64_t end) {
    ++calls;
    expect_equal(end - begin, 99);
  });
  expect_equal(calls, 1);
}

TEST("a parallel region inside another runs serially") {
  const Threads scope(2);
  std::atomic<int> total{0}, inner_calls{0};
  parallel_for(2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parallel_for(10, 1, [&](int64_t b, int64_t e) {
        ++inner_calls;
        total += static_cast<int>(e - b);
      });
  });
  expect_equal(total.load(), 20);
  expect_equal(inner_calls.load(), 2);
}

TEST("an exception leaves the parallel region") {
  const Threads scope(2);
  expect_error([] { parallel_for(2, 1, [](int64_t, int64_t) { throw UserError("index out of range"); }); },
               "index out of range");
}

TEST("parallel work runs on the threads of the program's runner") {
  const Threads scope(3);
  {
    const Runner runner(run_on_new_threads);
    runner_calls = 0;
    expect_equal(sum_of_indices(1000), int64_t{499500});
    expect_equal(runner_calls.load(), 1);
    parallel_for(2, 1, [](int64_t, int64_t) { expect_equal(sum_of_indices(100), int64_t{4950}); });
    expect_equal(runner_calls.load(), 2);  // work within parallel work is serial
    expect_error([] { parallel_for(2, 1, [](int64_t, int64_t) { throw UserError("index out of range"); }); },
                 "index out of range");
    sum_of_indices(1);
    expect_equal(runner_calls.load(), 3);  // so is little work
  }
  expect_equal(sum_of_indices(1000), int64_t{499500});
  expect_equal(runner_calls.load(), 3);
}

TEST("a runner that runs the caller's part alone does all of the work") {
  const Threads scope(3);
  const Runner runner([](int, void (*body)(void*, int), void* context) { body(context, 0); });
  expect_equal(sum_of_indices(1000), int64_t{499500});
}

TEST("several user threads at once") {
  const Threads scope(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        parallel_for(100, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
    });
  for (std::thread& user : users) user.join();
  expect_equal(total.load(), 4 * 50 * 100);
}

}  // namespace fulgurite
