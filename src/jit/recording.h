#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "jit/arguments/flat_arguments.h"
#include "jit/arguments/shared_results.h"
#include "tracing/breaks.h"

namespace fulgurite::detail {

/// A call of a type-erased callable, with what was read from its arguments.
struct RecordRequest {
  const CallableTable& table;
  void* callable;
  const void* const* arguments;
  const Leaves& flat;
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
  /// Runs the pieces of a function with graph breaks; null: there may be none, and this is why.
  SubgraphRunner* runner = nullptr;
  std::string_view no_breaks = {};
  /// It had some when it was recorded first.
  bool is_broken = false;
  /// What `leaves` has symbols for become symbols; where there are breaks, nothing does.
  bool takes_symbols = false;
  /// Results that share memory are taken out of what the program gives (Recording::kept).
  bool plans_results = false;
  /// What the function is autocast to; none: as outside.
  std::optional<Dtype> autocast = {};
};

/// Where an input of a recorded trace comes from.
struct RecordedInput {
  static constexpr int captured = -1;
  int id = -1;          // of the trace's proxy
  int leaf = captured;  // index among the tensor leaves
  Tensor tensor;        // what was captured
  int shares_with = -1; // of what was captured: the first tensor leaf that shares memory with it; -1: none
};
/// An input whose strides the function asked for.
struct ObservedStrides {
  RecordedInput input;
  Sizes strides;
};

/// What a callable did, as a trace.
struct Recording {
  Trace trace;                        // in canonical order
  std::vector<RecordedInput> inputs;  // in the order of the trace's args
  std::shared_ptr<void> rest;         // the result without its tensors
  bool has_symbols = false;           // sizes or numbers of the arguments
  std::vector<Value> integers, floats;  // each Int and each Float in the result
  std::vector<int> result_slots;      // as ResultPlan::slots
  std::vector<SharedResult> shared;
  std::optional<std::vector<int>> kept;  // where the program does not give all results of the trace: which ones it gives
  int result_count = 0;                  // of the program
  bool requires_grad = false;         // some result does
  /// Inputs that are given a value with a gradient, as positions among the inputs, and which of the program's results that is.
  std::vector<std::pair<int, int>> written;

  std::vector<ObservedStrides> observed_strides;
  /// Tensor leaves of the arguments that the function also reached as captured tensors.
  std::vector<std::pair<int, Tensor>> reached;

  bool has_graph_breaks = false;             // it has been run already, in pieces
  std::vector<Tensor> results;        // of that
};

/// Thrown through the callable at its first break, where tensors that share memory have to be recorded in another way.
struct Retrace {};

/// The first tensor leaf that shares memory with a tensor; -1: none does.
int leaf_that_shares(const Tensor&, const Leaves&);

/// Runs the callable under a tracer of its own. Captured tensors become inputs behind the arguments, in the order in
/// which the canonical trace uses them.
Recording record_callable(const RecordRequest&);

/// Brings a recorded trace into canonical order, and its args from `first` on into that of their uses; those that are not named are
/// numbered in it.
void arrange(Trace&, size_t first, const std::set<int>& named);

/// Fails where a write goes into an input that another input overlaps: it cannot be recorded as a value of its own. `what` writes.
void check_writes(const Recording&, const Leaves&, const std::string& what, SourceLocation);

}  // namespace fulgurite::detail
