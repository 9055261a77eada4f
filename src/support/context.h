#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/dtype.h>
#include <fulgurite/random_state.h>
#include <fulgurite/source_location.h>
#include <fulgurite/source_reader.h>

namespace fulgurite {

inline constexpr uint64_t default_seed = 67280421310721u;  // PyTorch's

/// A source of random draws behind a Generator; operators without a generator of their own draw from that of Context.
/// Thread-safe.
class GeneratorState {
 public:
  GeneratorState() = default;
  explicit GeneratorState(uint64_t seed) : state_{seed, 0} {}
  /// Starts over with another seed. Does nothing while draws are replayed.
  void seed(uint64_t seed);
  /// Returns the state for a draw of `increment` numbers, and advances past it.
  RandomState next_random_state(int64_t increment);
  RandomState state() const;
  void set_state(RandomState state);

 private:
  mutable std::mutex mutex_;
  RandomState state_{default_seed, 0};
};

/// The RNG states consumed by a part of the thread's work, in order; all of the thread's draws pass through it during
/// its scope. Replaying them reproduces the numbers and leaves the generator unchanged.
struct RngStates {
  std::vector<RandomState> states;
  bool replays = false;
  size_t next = 0;             // the next state to replay
  RngStates* outer = nullptr;  // set by RngScope
};
/// Records or replays the thread's draws in a scope. Scopes nest.
class RngScope {
 public:
  explicit RngScope(RngStates&);
  ~RngScope();
  RngScope(const RngScope&) = delete;
  RngScope& operator=(const RngScope&) = delete;

 private:
  RngStates* outer_;
};

/// The source lines that were warned about, so that each is reported once. Thread-safe.
class WarnedLines {
 public:
  /// Returns false if the line is known, or if there are too many to store.
  bool add(SourceLocation);

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, int>> lines_;
};

/// The names of files that front ends gave. Thread-safe.
class FileNames {
 public:
  const char* keep(std::string_view name);
  /// The one kept that is this name in some folder, or else the name. The last in the alphabet where there are several.
  std::string in_folder(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> names_;
};

/// The reader of lines that a front end set, or null. Thread-safe.
class SourceReading {
 public:
  void set(SourceReader reader);
  std::shared_ptr<const SourceReader> reader() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const SourceReader> reader_;
};

class BackwardInterceptor;
namespace examine {
struct MachineLimits;
}

/// Process-wide state; every member is thread-safe. The allocator (tensor/memory/allocator.h) and the list of executors
/// (executors/registry.h) are behind functions of their own.
struct Context {
  GeneratorState generator;
  std::atomic<int> threads;
  std::atomic<Dtype> default_dtype{Dtype::f32};
  std::atomic<int64_t> unique_graphs{0};                   // that jit compiled
  std::atomic<int64_t> evicted_versions{0};                // of jitted functions
  std::atomic<BackwardInterceptor*> interceptor{nullptr};  // for threads that have none of their own; never destroyed
  /// Gradient hooks added and removed: a captured backward then re-reads those of its nodes.
  std::atomic<uint64_t> hook_changes{0};
  std::atomic<bool> has_warned_of_cycles{false};  // of gradients with histories, held by their leaves
  std::atomic<uint32_t> log_channels{0};          // the enabled channels of support/log.h, as bits

  std::mutex measuring;                                  // guards the following
  std::shared_ptr<const examine::MachineLimits> limits;  // of the machine, measured at the first query

  WarnedLines warned_lines;  // of losses of two shapes
  FileNames file_names;
  SourceReading source_reading;

  Context();
};

/// Made at the first use, never destroyed: static destructors may still run operators.
Context& context();

}  // namespace fulgurite
