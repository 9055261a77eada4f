#pragma once
#include <array>
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
#include <fulgurite/thread_runner.h>

#include "support/base/lasting.h"

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
class Captures;
class ThreadTeam;
struct CustomFunctionSymbols;
struct EagerFunctionShard;
struct ExecutorRegistry;
struct OperatorRegistry;
struct AllocatorPool;
namespace codegen {
class CompiledKernels;
}
namespace detail {
class BlockArenas;
}
namespace examine {
struct MachineLimits;
}
namespace fused_gemm {
class GemmImplementations;
}
namespace fuser {
class FusionKernels;
class FusionSymbols;
}  // namespace fuser

/// Mutexes shared by many objects, which they are chosen for by address.
using MutexPool = std::array<std::mutex, 64>;

/// Process-wide state; every member is thread-safe. Objects of the layers above are behind functions of the files that
/// the comments name.
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

  // Memory, and the threads that compute.
  Lasting<detail::BlockArenas> blocks;      // support/blocks.cpp
  Lasting<AllocatorPool> pool;              // tensor/memory/allocator.cpp
  std::atomic<int64_t> bytes_of_arenas{0};  // runtime/frame.cpp: of small arenas that stay with their frames
  std::atomic<ThreadTeam*> team{nullptr};   // runtime/threads/thread_team.cpp; replaced in a child of fork()
  std::atomic<bool> may_start_threads{true};
  std::atomic<ThreadRunner> thread_runner{nullptr};  // of the program; null: the team's own threads

  // Names: operators, and executors with the number of their changes.
  Lasting<OperatorRegistry> operators;              // ops/core/user_operator.cpp
  Lasting<CustomFunctionSymbols> custom_functions;  // ops/structural/custom_function_symbols.cpp
  Lasting<fuser::FusionSymbols> fusion_symbols;     // executors/fusion/outline_fusions.cpp
  Lasting<ExecutorRegistry> executors;              // executors/registry.cpp
  std::atomic<uint64_t> executors_version{1};
  std::atomic<uint64_t> tracers{1};  // tracing/trace_handles.cpp: the serial number of the next trace

  // Compiled code and caches.
  Lasting<codegen::CompiledKernels> compiled_kernels;     // codegen/host_compiler/compile_kernels.cpp
  std::atomic<int> new_files{0};                          // codegen/host_compiler/library_cache.cpp
  Lasting<fuser::FusionKernels> fusion_kernels;           // executors/fuser/fuse.cpp
  Lasting<fused_gemm::GemmImplementations> gemm_kernels;  // executors/gemm/gemm_kernel.cpp
  Lasting<EagerFunctionShard> eager_functions;            // autograd/eager/eager_function.cpp: an array
  Lasting<Captures> captures;                             // compiled_autograd/captures.cpp
  Lasting<BackwardInterceptor> default_interceptor;       // compiled_autograd/compiled_backward.cpp

  // Guards of the autograd state of tensors, and of the accumulation into their gradients.
  MutexPool autograd_mutexes, accumulation_mutexes;

  // training/stop_signal.cpp.
  std::atomic<bool> is_stop_watched{false};
  std::atomic<int> stop_signal{0};  // lock-free: a signal handler stores it

  Context();
};

/// Made at the first use, never destroyed: static destructors may still run operators.
Context& context();

}  // namespace fulgurite
