#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <random>
#include <string>

#include "support/test.h"

namespace fulgurite {

namespace {

bool overlap(const PlannedBuffer& a, const PlannedBuffer& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  const bool in_space = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  return in_time && in_space;
}

}  // namespace

TEST("buffers that follow one another share memory") {
  PlannedBuffer buffers[] = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  expect_equal(plan_memory(buffers), 2048);
  expect_equal(buffers[0].offset, buffers[2].offset);
  expect_equal(buffers[1].offset, buffers[3].offset);
}

TEST("an empty plan needs nothing") { expect_equal(plan_memory({}), 0); }

TEST("live buffers never overlap and offsets are aligned, whichever way is taken") {
  std::mt19937 random(7);
  for (const size_t count : {10, 300, 3000}) {
    std::vector<PlannedBuffer> buffers(count);
    int64_t total = 0;
    for (PlannedBuffer& buffer : buffers) {
      buffer.bytes = static_cast<int64_t>(random() % 5000);
      buffer.first = static_cast<int>(random() % (2 * count));
      buffer.last = buffer.first + static_cast<int>(random() % 40);
      total += buffer.bytes;
    }
    const int64_t arena = plan_memory(buffers);
    expect(count < 100 || arena < total / 3, "memory is reused");
    bool is_right = true;
    for (size_t i = 0; i < buffers.size(); ++i) {
      is_right = is_right && buffers[i].offset % 64 == 0 && buffers[i].offset + buffers[i].bytes <= arena;
      for (size_t j = 0; j < i; ++j) is_right = is_right && !overlap(buffers[i], buffers[j]);
    }
    expect(is_right);
  }
}

TEST("the better of two ways is kept") {
  // By time the third buffer must go to the arena's end; largest first, it and the first share the beginning.
  PlannedBuffer buffers[] = {{64, 0, 1}, {128, 1, 2}, {256, 2, 3}};
  expect_equal(plan_memory(buffers), 384);
  // A gap at the end grows.
  PlannedBuffer growing[] = {{64, 0, 0}, {128, 1, 1}, {256, 2, 2}};
  expect_equal(plan_memory(growing), 256);
}

TEST("another order is tried where neither time nor size gives the least") {
  std::mt19937 random(11);
  int reached = 0;
  for (int i = 0; i < 20; ++i) {
    std::vector<PlannedBuffer> buffers(60);
    std::vector<int64_t> alive(64);
    for (PlannedBuffer& buffer : buffers) {
      buffer.bytes = 64 * static_cast<int64_t>(1 + random() % 6);
      buffer.first = static_cast<int>(random() % 50);
      buffer.last = buffer.first + static_cast<int>(random() % 12);
      for (int step = buffer.first; step <= buffer.last; ++step) alive[static_cast<size_t>(step)] += buffer.bytes;
    }
    reached += plan_memory(buffers) == *std::ranges::max_element(alive);
  }
  expect(reached >= 15, std::to_string(reached) + " of 20 plans need no more than what is alive at once");
}

}  // namespace fulgurite
