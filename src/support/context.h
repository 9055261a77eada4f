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
  /// The state for a draw of `increment` numbers; the next draw begins behind it.
  RandomState next_random_state(int64_t increment);
  RandomState state() const;
  void set_state(RandomState state);

 private:
  mutable std::mutex mutex_;
  RandomState state_{default_seed, 0};
};

/// What a piece of the thread's work draws, in order; while a DrawScope holds it, every draw of the thread passes through it. A second
/// run of the same work that replays the draws gets the same numbers and leaves the generator alone.
struct Draws {
  std::vector<RandomState> states;
  bool replays = false;
  size_t next = 0;          // of the states replayed
  Draws* outer = nullptr;   // set by DrawScope
};
/// Notes the thread's draws, or replays them, for a scope. Scopes nest.
class DrawScope {
 public:
  explicit DrawScope(Draws&);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

 private:
  Draws* outer_;
};

/// The lines of the program that a warning was about, so that each is warned of once. Thread-safe.
class WarnedLines {
 public:
  /// False if the line is known, or if there are too many to keep.
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

/// The state of the process that is no folder's own. Every part is thread-safe. The allocator (tensor/memory/allocator.h) and the list of
/// executors (executors/registry.h) keep theirs behind their own functions.
struct Context {
  GeneratorState generator;
  std::atomic<int> threads;
  std::atomic<Dtype> default_dtype{Dtype::f32};
  std::atomic<int64_t> unique_graphs{0};  // that jit compiled
  std::atomic<int64_t> evicted_versions{0};  // of jitted functions
  std::atomic<BackwardInterceptor*> interceptor{nullptr};  // of backwards on threads that have none of their own; lives as long as the process
  std::atomic<uint64_t> hook_changes{0};  // gradient hooks added and removed: a captured backward looks again at those of its nodes
  std::atomic<bool> has_warned_of_cycles{false};  // of gradients with histories, in the leaves that they are of
  std::atomic<uint32_t> log_channels{0};  // those of support/log.h that are on, as bits

  std::mutex measuring;  // of what follows
  std::shared_ptr<const examine::MachineLimits> limits;  // of the machine, measured when they are first asked for

  WarnedLines warned_lines;  // of losses of two shapes
  FileNames file_names;
  SourceReading source_reading;

  Context();
};

/// Made at the first use, never destroyed: static destructors may still run operators.
Context& context();

}  // namespace fulgurite
