#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/trace.h>

#include "autograd/eager/call_key.h"
#include "autograd/eager/eager_formula.h"
#include "autograd/engine/saved_tensor.h"
#include "pipeline/pipeline.h"

namespace fulgurite {

/// How calls of one operator with one kind of arguments are differentiated: the operator recorded alone, and the
/// backward halves of its gradient rule.
class EagerFunction {
 public:
  EagerFunction(const Symbol&, Arguments, SourceLocation);

  /// A tensor that the node saves.
  struct Source {
    SavedTensor::Origin origin;
    size_t index;
  };
  /// The backward for one choice of results that have a cotangent.
  struct Backward {
    CompiledFunction compiled;
    std::vector<int> saved;     // the program's first inputs, as places in saves()
    std::vector<char> reads;    // for each cotangent given: whether it is an input of the program
    bool saves_inside = false;  // it saves values made inside the call: the forward program must make them
    std::unique_ptr<EagerFormula> formula = {};  // of a function for many sizes and numbers, in the program's place; null where it needs one
    const Trace& trace() const { return compiled.backward_traces.front(); }
  };

  /// "ExpBackward0", as PyTorch names the first of an operator's nodes.
  const std::string& node_name() const { return node_name_; }
  size_t output_count() const { return outputs_.size(); }
  const TensorProxy& output(size_t i) const { return outputs_[i].tensor(); }
  const std::vector<Source>& saves() const { return saves_; }
  /// For each argument of the recorded trace, its place among the call's tensors (which may be undefined).
  const std::vector<size_t>& input_positions() const { return input_positions_; }
  /// Not null where the forward program must run in the place of the kernel.
  const Backward* forward_program() const { return forward_program_; }

  /// Whether cotangents are given for a choice of results; else for all of them, filled with zeros.
  bool chooses_outputs() const { return outputs_.size() <= 64; }
  /// For a choice of results with a cotangent, and of tensors of the call whose gradient is needed (bits by their places).
  const Backward& backward(uint64_t outputs_with_cotangent, uint64_t needed);
  /// What Node::structure_hash() has of the call.
  uint64_t structure_hash() const { return structure_hash_; }
  /// Whether the node hands on its last gradient first.
  bool gives_last_first() const { return reverses_edges_; }
  /// What calls of other sizes that are differentiated alike have in common, and the sizes.
  const CallStructure& structure() const { return structure_; }
  /// The same call recorded with symbols for sizes: `sizes` stand for structure().sizes, one symbol for all that are one there. Null where
  /// it cannot be recorded so.
  EagerFunction* with_symbols(std::span<const Int> sizes);
  /// The same call recorded for any sizes and numbers in the place of the pattern's values. Null where it needs the values themselves.
  std::shared_ptr<EagerFunction> for_pattern(const CallPattern&) const;
  /// Of a function that for_pattern() made: true if it is right for these values.
  bool holds(std::span<const uint64_t> values) const;
  /// Of a function that for_pattern() made: the one for these values alone.
  std::shared_ptr<EagerFunction> exact(std::span<const uint64_t> values) const;
  /// What it takes in memory, about.
  int64_t bytes() const;
  /// The symbols that stand for a function's own, by NumberProxy::input.
  static std::vector<Int> symbols_of(std::span<const Int> sizes);

 private:
  EagerFunction(const EagerFunction& concrete, std::span<const Int> sizes);
  EagerFunction(const EagerFunction& concrete, const CallPattern&);
  void choose_saved(bool is_rule_an_executors);
  std::unique_ptr<Backward> make_backward(uint64_t outputs_with_cotangent, uint64_t needed);
  bool runs_alone(const Backward&) const;
  const Symbol* symbol_;
  PipelineOptions options_;  // the executors that were the default ones
  std::string node_name_;
  Trace recorded_;
  std::vector<size_t> input_positions_;
  std::vector<Value> outputs_;
  std::vector<Source> saves_;
  uint64_t differentiable_ = 0;  // the tensors of the call that have a gradient, as bits by their places
  uint64_t structure_hash_ = 0;
  bool reverses_edges_ = false;
  const Backward* forward_program_ = nullptr;
  CallStructure structure_;
  bool is_for_pattern_ = false;
  const Backward* first_ = nullptr;  // of one for a pattern: the backward that was made with it
  struct Symbolic {
    std::vector<int> pattern;                 // for each size, which of the symbols it is; -1: none
    std::unique_ptr<EagerFunction> function;  // null: it cannot be recorded so
  };
  std::mutex symbolic_mutex_;
  std::vector<Symbolic> symbolic_;  // guarded by symbolic_mutex_
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::unique_ptr<Backward>> backwards_;  // guarded by mutex_; entries never change
};

/// A call's function, and where that holds for many sizes and numbers, those of the call.
struct EagerCall {
  std::shared_ptr<EagerFunction> function;
  SmallVector<uint64_t, 24> values;  // empty: the function is for this call's alone
};
/// The function for a call, from a table shared by all threads. Calls that differ in sizes and numbers alone get functions of their own at first; from the
/// fourth on, one for all of them. Functions that were not used for the longest time are dropped when all take more than cache_bytes().
EagerCall eager_function(const Symbol&, Arguments, SourceLocation);
/// The function for this call alone.
std::shared_ptr<EagerFunction> exact_eager_function(const Symbol&, Arguments, SourceLocation);

}  // namespace fulgurite
