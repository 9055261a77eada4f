#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "jit/leaves.h"

namespace fulgurite::detail {

/// A call of a type-erased callable, with what was read from its arguments.
struct RecordRequest {
  const CallableTable& table;
  void* callable;
  const void* const* arguments;
  const Leaves& leaves;
  const std::vector<LeafPath>& paths;
  const std::vector<std::string>& names;
  SourceLocation at;
  /// For gradients: one flag for each tensor leaf of the arguments. Each argument is then an input of its own, though
  /// two be the same tensor, and requires a gradient where its flag is set.
  const std::vector<char>* with_respect_to = nullptr;
  /// For functions that are differentiated inside this one.
  std::optional<int64_t> memory_budget = {};
  /// Whose gradient rules count inside; null: those of the recording outside, or the default ones.
  const std::vector<std::string>* executors = nullptr;
};

/// Where an input of a recorded trace comes from.
struct RecordedInput {
  static constexpr int captured = -1;
  int id = -1;          // of the trace's proxy
  int leaf = captured;  // index among the tensor leaves
  Tensor tensor;        // what was captured
};

/// What a callable did, as a trace.
struct Recording {
  Trace trace;                        // in canonical order
  std::vector<RecordedInput> inputs;  // in the order of the trace's args
  std::shared_ptr<void> rest;         // the result without its tensors
  std::vector<int>
      result_slots;  // for each tensor leaf of the result: which of the trace's results it is; -1: undefined
  int result_count = 0;
  bool requires_grad = false;         // some result does
};

/// Runs the callable under a tracer of its own. Captured tensors become inputs behind the arguments, in the order in
/// which the canonical trace uses them.
Recording record_callable(const RecordRequest&);

/// Fails where a write goes into an input that another input overlaps: it cannot be recorded as a value of its own. `what` writes.
void check_writes(const Recording&, const Leaves&, const std::string& what, SourceLocation);

}  // namespace fulgurite::detail
