#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Runs a trace's symbols through dispatch with these inputs: in eager mode computes, under a tracer records it into
/// that one. Inputs and results are flat, in the order of ir/analysis/trace_values.h.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs);

/// Runs some ops of a trace instead of evaluate(), and is notified of the others.
class OpRunner {
 public:
  OpRunner() = default;
  virtual ~OpRunner() = default;
  OpRunner(const OpRunner&) = delete;
  OpRunner& operator=(const OpRunner&) = delete;
  /// Runs an op of its own; `arguments` are the tensors among the op's. False: it is not one.
  virtual bool run(const BoundSymbol&, std::vector<Tensor> arguments, std::vector<Tensor>& results) = 0;
  virtual void after(const BoundSymbol&, std::span<const Tensor> results) = 0;
  /// Called while an exception of the op is handled; throws the user's error.
  [[noreturn]] virtual void fail(const BoundSymbol&) = 0;
};

/// The same, with some ops run by an OpRunner.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs, OpRunner&);

/// The same for a trace with symbolic scalars, whose symbolic args are omitted from `inputs`.
/// `given` are the values or symbols of those that a call passes, by NumberProxy::input; scalars computed from them are
/// recreated, and guards on one become guards on its replacement. Their values must be those of the recorded call.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs, std::span<const Int> given);

}  // namespace fulgurite
