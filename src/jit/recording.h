#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "jit/arguments/flat_arguments.h"
#include "jit/arguments/shared_results.h"
#include "tracing/subgraph.h"

namespace fulgurite::detail {

/// A call of a type-erased callable, with the values read from its arguments.
struct RecordRequest {
  const CallableTable& table;
  void* callable;
  const void* const* arguments;
  const FlatArguments& flat;
  const std::vector<LeafPath>& paths;
  const std::vector<std::string>& names;
  SourceLocation at;
  /// For gradients: one flag for each tensor leaf of the arguments. Each argument is then an input of its own, even if
  /// two are the same tensor, and requires a gradient if its flag is set.
  const std::vector<char>* with_respect_to = nullptr;
  /// For functions that are differentiated inside this one.
  std::optional<int64_t> memory_budget = {};
  /// The gradient rules used inside; null: those of the outer recording, or the default ones.
  const std::vector<std::string>* executors = nullptr;
  /// Runs the subgraphs of a function with graph breaks; null: breaks are not allowed, for this reason.
  SubgraphRunner* runner = nullptr;
  std::string_view no_breaks = {};
  /// It had graph breaks when it was recorded first.
  bool is_broken = false;
  /// Symbols of `leaves` become symbols; with graph breaks, none do.
  bool takes_symbols = false;
  /// Results that share memory are removed from the program's results (Recording::kept).
  bool plans_results = false;
  /// The dtype that the function is autocast to; none: as outside.
  std::optional<Dtype> autocast = {};
};

/// The origin of an input of a recorded trace.
struct RecordedInput {
  static constexpr int captured = -1;
  int id = -1;           // of the trace's proxy
  int leaf = captured;   // index among the tensor leaves
  Tensor tensor;         // the captured tensor
  int shares_with = -1;  // of the captured tensor: the first leaf that shares its memory; -1: none
};
/// An input whose strides the function read.
struct ObservedStrides {
  RecordedInput input;
  Sizes strides;
};

/// The trace of a callable's run.
struct Recording {
  Trace trace;                          // in canonical order
  std::vector<RecordedInput> inputs;    // in the order of the trace's args
  std::shared_ptr<void> rest;           // the result without its tensors
  bool has_symbols = false;             // sizes or scalars of the arguments
  std::vector<Value> integers, floats;  // each Int and each Float in the result
  std::vector<int> result_slots;        // as ResultPlan::slots
  std::vector<SharedResult> shared;
  std::optional<std::vector<int>> kept;  // the results of the trace that the program returns, if not all
  int result_count = 0;                  // of the program
  bool requires_grad = false;            // some result does
  /// Inputs that are assigned a value with a gradient, as positions among the inputs, and the position of that value
  /// among the program's results.
  std::vector<std::pair<int, int>> written;

  std::vector<ObservedStrides> observed_strides;
  /// Tensor leaves of the arguments that the function also captured.
  std::vector<std::pair<int, Tensor>> reached;

  bool has_graph_breaks = false;  // it has already run, as subgraphs
  std::vector<Tensor> results;    // of that
};

/// Thrown through the callable at its first break, if tensors that share memory have to be recorded in another way.
struct Retrace {};

/// The first tensor leaf that shares memory with a tensor; -1: none does.
int leaf_that_shares(const Tensor&, const FlatArguments&);

/// Runs the callable under a tracer of its own. Captured tensors become inputs behind the arguments, in the order in
/// which the canonical trace uses them.
Recording record_callable(const RecordRequest&);

/// Brings a recorded trace into canonical order, and its args from `first` on into that of their uses; unnamed args are
/// numbered in that order.
void arrange(Trace&, size_t first, const std::set<int>& named);

/// Fails where a write goes into an input that another input overlaps: it cannot be recorded as a value of its own.
/// `what` writes.
void check_writes(const Recording&, const FlatArguments&, const std::string& what, SourceLocation);

}  // namespace fulgurite::detail
