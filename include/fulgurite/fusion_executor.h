#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fulgurite/extend.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// A fusion group: ops of a trace that may run as one, without an op outside that must run in between.
struct Region {
  std::string name;                        // "fusion0": unique in a function
  std::vector<BoundSymbol> bound_symbols;  // in order
  std::vector<Value> inputs, outputs;      // tensors: values read from outside; values that ops outside read
  /// The group as a trace, to be printed, transformed or evaluated.
  Trace trace;
};

/// Ops that may become one fusion group, while groups are formed.
struct ProposedGroup {
  std::vector<const BoundSymbol*> ops;  // in order
  std::vector<Value> outputs;           // values that ops outside read
};

/// An executable fusion group: `run`, or `run_into`. If both are empty, the group is left to the other executors.
struct Fusion {
  /// Computes the group's outputs, in order, from its inputs: tensors of any strides, valid during the call and not to
  /// be written. Must be thread-safe.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> run = {};
  /// Stores the outputs in tensors that the program provides: contiguous, of the outputs' sizes and dtypes, valid
  /// during the call. Nothing is allocated and copied then. Must be thread-safe.
  std::function<void(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)> run_into = {};
  /// For `run_into`: returns true if an output may be stored in the memory of an input of the same size, by their
  /// positions. No element of the input may be read after the output's element at its index is written.
  std::function<bool(size_t output, size_t input)> may_overwrite = {};
  /// The source for people: FULGURITE_LOGS=fusions prints it.
  std::string source = {};
};

namespace detail {
struct SupportedSymbol {
  const Symbol* symbol;
  OperatorFunction checker;
};
void add_supported(std::vector<SupportedSymbol>&, const Symbol&, OperatorFunction checker, SourceLocation);
}  // namespace detail

/// An executor that claims fusion groups and runs each as one. Register it after setting its function and its symbols;
/// copies are independent executors until then.
class FusionExecutor {
 public:
  explicit FusionExecutor(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  /// Allows calls of this operator in groups: those accepted by `checker`, a predicate on the operator's own C++ types,
  /// or all without one. Composite operators are fused as a unit. A view is only fused together with others.
  void register_supported(const Symbol& symbol, detail::OperatorFunction checker = {},
                          SourceLocation at = SourceLocation::here()) {
    detail::add_supported(supported_, symbol, std::move(checker), at);
  }

  /// Called for each group of a function that is compiled, on the compiling thread.
  std::function<Fusion(const Region&)> fuse = {};

  /// Returns the reason why ops cannot be one group, "" if they can. Groups grow along the data flow: it is called for
  /// each pair that would become one, and for each group at the end. Without it all supported ops can be fused.
  std::function<std::string(const ProposedGroup&)> missed_reason = {};
  /// Returns true for an op that joins groups of others but does not start one: it is fused last.
  std::function<bool(const BoundSymbol&)> fuse_last = {};
  /// The cost model: returns true if a group is worth a fusion. Others are left to the other executors. Without it all
  /// groups are.
  std::function<bool(const Region&)> is_profitable = {};

  const std::vector<detail::SupportedSymbol>& supported() const { return supported_; }

 private:
  std::string name_;
  std::vector<detail::SupportedSymbol> supported_;
};

/// Registers an executor by its name, for JitOptions::executors and the default list.
void register_executor(const FusionExecutor&, SourceLocation at = SourceLocation::here());

/// Runs a trace's ops one by one on tensors for its inputs, eagerly; inside a traced function, records them there.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
