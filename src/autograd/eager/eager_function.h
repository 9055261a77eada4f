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

/// The derivative of one operator for one kind of arguments: the operator recorded alone, and the backward halves of
/// its gradient rule.
class EagerFunction {
 public:
  EagerFunction(const Symbol&, Arguments, SourceLocation);

  /// A tensor that the node saves.
  struct Source {
    SavedTensor::Origin origin;
    size_t index;
  };
  /// The backward for one set of results that have a cotangent.
  struct Backward {
    CompiledFunction compiled;
    std::vector<int> saved;     // the program's first inputs, as positions in saves()
    std::vector<char> reads;    // by cotangent: true if it is an input of the program
    bool saves_inside = false;  // it saves values made inside the call: the forward program must compute them
    std::unique_ptr<EagerFormula> formula = {};  // of a function for many sizes and scalars; null if it needs a program
    const Trace& trace() const { return compiled.backward_traces.front(); }
  };

  /// "ExpBackward0", as PyTorch names the first of an operator's nodes.
  const std::string& node_name() const { return node_name_; }
  size_t output_count() const { return outputs_.size(); }
  const TensorProxy& output(size_t i) const { return outputs_[i].tensor(); }
  const std::vector<Source>& saves() const { return saves_; }
  /// By argument of the recorded trace: its position among the call's tensors (which may be undefined).
  const std::vector<size_t>& input_positions() const { return input_positions_; }
  /// Not null if the forward program must run instead of the kernel.
  const Backward* forward_program() const { return forward_program_; }

  /// Returns true if cotangents are passed for a subset of results; otherwise for all, filled with zeros.
  bool chooses_outputs() const { return outputs_.size() <= 64; }
  /// The backward for these results with a cotangent and these tensors of the call whose gradient is needed (bits by
  /// position).
  const Backward& backward(uint64_t outputs_with_cotangent, uint64_t needed);
  /// The call's contribution to Node::structure_hash().
  uint64_t structure_hash() const { return structure_hash_; }
  /// Returns true if the node propagates its last gradient first.
  bool reverse_edges() const { return reverses_edges_; }
  /// The structure shared with calls of other sizes that are differentiated alike, and the sizes.
  const CallStructure& structure() const { return structure_; }
  /// The same call recorded with symbols for sizes: `sizes` stand for structure().sizes, one symbol for all that are
  /// equal there. Null if it cannot be recorded so.
  EagerFunction* with_symbols(std::span<const Int> sizes);
  /// The same call recorded for any sizes and scalars in place of the pattern's values. Null if it depends on the
  /// values.
  std::shared_ptr<EagerFunction> for_pattern(const CallPattern&) const;
  /// For functions of for_pattern(): returns true if the function is valid for these values.
  bool holds(std::span<const uint64_t> values) const;
  /// For functions of for_pattern(): the function for these values alone.
  std::shared_ptr<EagerFunction> exact(std::span<const uint64_t> values) const;
  /// Approximate footprint in bytes.
  int64_t bytes() const;
  /// The symbols that stand for a function's own sizes, by NumberProxy::input.
  static std::vector<Int> symbols_of(std::span<const Int> sizes);

 private:
  EagerFunction(const EagerFunction& concrete, std::span<const Int> sizes);
  EagerFunction(const EagerFunction& concrete, const CallPattern&);
  void choose_saved(bool is_rule_an_executors);
  std::unique_ptr<Backward> make_backward(uint64_t outputs_with_cotangent, uint64_t needed);
  bool runs_alone(const Backward&) const;
  const Symbol* symbol_;
  PipelineOptions options_;  // the executors that were the defaults
  std::string node_name_;
  Trace recorded_;
  std::vector<size_t> input_positions_;
  std::vector<Value> outputs_;
  std::vector<Source> saves_;
  uint64_t differentiable_ = 0;  // the tensors of the call that have a gradient, as bits by position
  uint64_t structure_hash_ = 0;
  bool reverses_edges_ = false;
  const Backward* forward_program_ = nullptr;
  CallStructure structure_;
  bool is_for_pattern_ = false;
  const Backward* first_ = nullptr;  // for a pattern's function: the backward that was made with it
  struct Symbolic {
    std::vector<int> pattern;                 // by size: the index of its symbol; -1: none
    std::unique_ptr<EagerFunction> function;  // null: it cannot be recorded so
  };
  std::mutex symbolic_mutex_;
  std::vector<Symbolic> symbolic_;  // guarded by symbolic_mutex_
  std::mutex mutex_;
  /// Guarded by mutex_; entries never change.
  std::map<std::pair<uint64_t, uint64_t>, std::unique_ptr<Backward>> backwards_;
};

/// A call's function, and the call's values if the function serves many.
struct EagerCall {
  std::shared_ptr<EagerFunction> function;
  SmallVector<uint64_t, 24> values;  // empty: the function is for this call alone
};
/// Returns the function for a call, from a table shared by all threads. Calls that differ only in sizes and scalars get
/// functions of their own at first; from the fourth on they share one. Least recently used functions are evicted when
/// all together exceed cache_bytes().
EagerCall eager_function(const Symbol&, Arguments, SourceLocation);
/// The function for this call alone.
std::shared_ptr<EagerFunction> exact_eager_function(const Symbol&, Arguments, SourceLocation);

}  // namespace fulgurite
