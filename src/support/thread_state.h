#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/dtype.h>

namespace fulgurite {

class BackwardInterceptor;
class BackwardRun;
class CheckpointedCall;
class CompiledRun;
class Interpreter;
class OutsideWrites;
class PendingValues;
struct IndexedElementsMemory;
struct SavedTensorPacking;
class Tensor;

/// The autograd modes of a thread. Pointees belong to the scope that set them.
struct AutogradModes {
  bool grad = true;
  bool inference = false;
  bool detects_anomaly = false;
  bool checks_nan = false;
  const std::shared_ptr<const SavedTensorPacking>* packing = nullptr;  // null: tensors are saved as they are
  const std::string* packing_is_disabled = nullptr;                    // the reason
  BackwardInterceptor* interceptor = nullptr;                          // runs outermost backwards instead of the engine
  CompiledRun* compiled_run = nullptr;                                 // of a captured backward, while it runs
  bool saves_for_derivatives = false;                                  // while a node saves what create_graph needs
};

/// All state of a thread: the only thread_local variable. Each field is read and written by the file that it names, and
/// belongs to that file's layer. The layers above `support` define the types behind the pointers. A scope sets most of
/// them and restores them at its end, so nothing is owned here but the last group.
struct ThreadState {
  // ops/core/dispatch.cpp, on the path of each operator call.
  Interpreter* interpreter = nullptr;    // the innermost; null: eager mode
  std::optional<Dtype> autocast;         // of the innermost scope
  void (*before_next_call)() = nullptr;  // called once, before the next operator call or change of interpreter
  uint64_t autocast_conversions = 0;     // ops/core/autocast.cpp: made so far
  // support/context.cpp and tensor/pending.cpp.
  void* rng_states = nullptr;        // those that the innermost scope records or replays
  PendingValues* pending = nullptr;  // the tensors whose elements are not computed yet
  // autograd/ and jit/values/.
  AutogradModes modes;                              // engine/modes.cpp
  uint64_t next_sequence_nr = 0;                    // engine/node.cpp: of the next node
  BackwardRun* backward = nullptr;                  // engine/backward_run.cpp: the innermost
  CheckpointedCall* checkpoint = nullptr;           // checkpoint/checkpoint.cpp: the innermost call whose function runs
  bool checkpoint_recomputes = false;               // and whether that is its second run
  OutsideWrites* writes = nullptr;                  // checkpoint/outside_writes.cpp: the innermost that notes writes
  const std::vector<Tensor>* given_back = nullptr;  // jit/values/values_backward.cpp: what nodes receive as saved
  // Owned; freed at the end of the thread.
  std::exception_ptr* deferred_error = nullptr;  // support/base/deferred_error.cpp; null: none so far
  bool has_deferred_error = false;
  IndexedElementsMemory* indexed_elements = nullptr;  // ops/tensor/indexed_elements.cpp: the last indexed read
  bool is_ending = false;                             // static destructors may still run operators: nothing is noted
};

// Constant initialization and no destructor: an access is one address, without a check. See at_thread_end().
extern thread_local constinit ThreadState thread_state;

/// Calls `end` when this thread ends, when a thread_local variable that is made now would be destroyed.
void at_thread_end(void (*end)(void*), void* argument);

}  // namespace fulgurite
