#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Runs some lines of a trace in evaluate()'s place, and is told of the others.
class OpRunner {
 public:
  OpRunner() = default;
  virtual ~OpRunner() = default;
  OpRunner(const OpRunner&) = delete;
  OpRunner& operator=(const OpRunner&) = delete;
  /// Runs a line of its own; `arguments` are the tensors among the line's. False: it is not one.
  virtual bool run(const BoundSymbol&, std::vector<Tensor> arguments, std::vector<Tensor>& results) = 0;
  virtual void after(const BoundSymbol&, std::span<const Tensor> results) = 0;
  /// Called while an exception of the line is handled; throws what the user is to see.
  [[noreturn]] virtual void fail(const BoundSymbol&) = 0;
};

/// As evaluate() of tracing/tracer.h.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs, OpRunner&);

/// As evaluate() of tracing/tracer.h, of a trace with number symbols, whose args that are symbols are left out of `inputs`. `given` are the
/// values or symbols that stand for those which a call gives, by NumberProxy::input; numbers made of them are recreated, and what was asked
/// of one is asked of what stands for it. Their values must be those of the recorded call.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs, std::span<const Int> given);

}  // namespace fulgurite
