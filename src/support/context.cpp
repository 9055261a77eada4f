#include "support/context.h"

#include <sched.h>

#include <thread>

#include "support/environment.h"
#include "support/log.h"
#include "support/thread_state.h"

namespace fulgurite {

namespace {

int usable_cpus() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
    const int count = CPU_COUNT(&cpus);
    if (count > 0) return count;
  }
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

auto* innermost_rng_states() { return static_cast<RngStates*>(thread_state.rng_states); }

template <class Draw>
RandomState next_of(RngStates* draws, const Draw& draw) {
  if (!draws) return draw();
  // A replay that consumes more states than were recorded differs from the first run; the caller detects it by its
  // results.
  if (draws->replays) return draws->next < draws->states.size() ? draws->states[draws->next++] : RandomState{0, 0};
  draws->states.push_back(next_of(draws->outer, draw));
  return draws->states.back();
}

bool is_replaying() {
  for (const RngStates* draws = innermost_rng_states(); draws; draws = draws->outer)
    if (draws->replays) return true;
  return false;
}

}  // namespace

RngScope::RngScope(RngStates& draws) : outer_(innermost_rng_states()) {
  draws.outer = outer_;
  draws.next = 0;
  thread_state.rng_states = &draws;
}
RngScope::~RngScope() { thread_state.rng_states = outer_; }

void GeneratorState::seed(uint64_t seed) {
  if (is_replaying()) return;
  const std::lock_guard lock(mutex_);
  state_ = {seed, 0};
}

RandomState GeneratorState::next_random_state(int64_t increment) {
  return next_of(innermost_rng_states(), [&] {
    const std::lock_guard lock(mutex_);
    const RandomState now = state_;
    state_.offset += static_cast<uint64_t>(increment);
    return now;
  });
}

RandomState GeneratorState::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void GeneratorState::set_state(RandomState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

Context::Context() : threads(1) {
  report_unknown_environment_variables();
  const auto wanted = environment_number("FULGURITE_NUM_THREADS");
  threads = wanted && *wanted < 4096 ? static_cast<int>(*wanted) : usable_cpus();
  log_channels = log_channels_of_environment();
}

Context& context() {
  static Context* const one = new Context;
  return *one;
}

bool WarnedLines::add(SourceLocation at) {
  constexpr size_t max_lines = 1000;
  const std::lock_guard lock(mutex_);
  return lines_.size() < max_lines && lines_.emplace(at.file, at.line).second;
}

}  // namespace fulgurite
