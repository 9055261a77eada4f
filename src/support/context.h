#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include <fulgurite/dtype.h>

namespace fulgurite {

/// What identifies one draw: element i of it uses the counter offset + i under the key seed.
struct RandomState {
  uint64_t seed = 0, offset = 0;
};

/// The generator that all random operators draw from. Thread-safe.
class Generator {
 public:
  /// Starts over with another seed.
  void seed(uint64_t seed);
  /// The state for a draw of `increment` numbers; the next draw begins behind it.
  RandomState next_random_state(int64_t increment);
  RandomState state() const;
  void set_state(RandomState state);

 private:
  mutable std::mutex mutex_;
  RandomState state_{67280421310721u, 0};  // PyTorch's default seed
};

/// The state of the process that is no folder's own. Every part is thread-safe. The allocator (tensor/allocator.h) and the list of
/// executors (executors/executor.h) keep theirs behind their own functions.
struct Context {
  Generator generator;
  std::atomic<int> threads;
  std::atomic<Dtype> default_dtype{Dtype::f32};

  Context();
};

/// Made at the first use, never destroyed: static destructors may still run operators.
Context& context();

}  // namespace fulgurite
