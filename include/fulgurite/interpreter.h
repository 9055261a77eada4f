#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <fulgurite/source_location.h>
#include <fulgurite/symbol.h>
#include <fulgurite/tensor.h>
#include <fulgurite/value.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

namespace detail {
struct CallInProgress;
class OuterInterpreter;
}  // namespace detail

/// A call of an operator, as an OperatorInterpreter receives it. Valid while OperatorInterpreter::run runs.
class InterpretedCall {
 public:
  explicit InterpretedCall(const detail::CallInProgress& call) : call_(call) {}
  InterpretedCall(const InterpretedCall&) = delete;
  InterpretedCall& operator=(const InterpretedCall&) = delete;

  /// The operator.
  const Symbol& symbol() const;
  /// Its arguments in the order of its signature, checked; none for those that are omitted.
  std::vector<Value> arguments() const;
  /// The line of the program that made the call.
  SourceLocation source() const;
  /// Runs the call as it runs without this interpreter, and returns its results: they are computed, or recorded into
  /// the trace of the function that is being traced. Errors are those of the call.
  std::vector<Tensor> run() const;
  /// For operators with a decomposition: runs that, whose calls are passed to this interpreter one by one. Others run.
  std::vector<Tensor> decompose() const;
  /// The floating-point operations of the call by the operator's record, where functions count as one an element. 0 for
  /// views and for results that are not floating.
  int64_t operations(const std::vector<Tensor>& results) const;

 private:
  const detail::CallInProgress& call_;
};

/// The meaning that a program gives to operator calls, in the scope of a WithInterpreter: it may count, check, replace
/// or refuse them. Operators that run() calls are not passed to it again.
class OperatorInterpreter {
 public:
  OperatorInterpreter() = default;
  virtual ~OperatorInterpreter();
  OperatorInterpreter(const OperatorInterpreter&) = delete;
  OperatorInterpreter& operator=(const OperatorInterpreter&) = delete;

  /// Returns the call's results, as many as its operator has.
  virtual std::vector<Tensor> run(const InterpretedCall&) = 0;
  /// Called before the elements of a tensor are read: `what` is "item()", …
  virtual void read_elements(const Tensor&, std::string_view /*what*/, SourceLocation) {}
};

/// Passes this thread's operator calls to an interpreter while the scope lasts. Scopes nest: the innermost interpreter
/// receives a call first, and its InterpretedCall::run() passes it on to the next. Inside a traced function, and around
/// one, the interpreter sees the calls of the function; compiled functions are inlined where they are called. The nodes
/// of a backward() do not pass their calls to it.
class WithInterpreter {
 public:
  explicit WithInterpreter(OperatorInterpreter&);
  ~WithInterpreter();
  WithInterpreter(const WithInterpreter&) = delete;
  WithInterpreter& operator=(const WithInterpreter&) = delete;

 private:
  std::unique_ptr<detail::OuterInterpreter> interpreter_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
