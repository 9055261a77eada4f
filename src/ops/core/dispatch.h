#pragma once
#include "ops/core/argument.h"
#include "ops/core/rules.h"

namespace fulgurite {

/// The current meaning of an operator call: a tracer records it. Without one, eager mode runs it.
class Interpreter {
 public:
  virtual ~Interpreter() = default;
  /// Arguments have been checked against the signature. Dispatch adds the operator, operands and source line to a
  /// RuleError thrown here.
  virtual void run(const Symbol&, Arguments, SourceLocation, Results&) = 0;

  // Symbolic scalars; see fulgurite::detail in number.h.
  virtual Int integer(detail::NumberOperation, Int, Int) = 0;
  virtual Float floating(detail::NumberOperation, Float, Float) = 0;
  virtual Bool comparison(detail::NumberOperation, Int, Int) = 0;
  virtual Bool comparison(detail::NumberOperation, Float, Float) = 0;
  virtual void fix(const NumberProxy&) = 0;  // its value is read: guard it

  /// Called when a tensor's elements are read (`item`, printing, `if`): throws unless they are available.
  virtual void demand_value(const Tensor&, const char* what, SourceLocation) = 0;
  /// Called before a function that acts immediately and at each call; see act_immediately().
  virtual void act(const char* what, SourceLocation) = 0;
  /// The tensor's counterpart here: a value of this trace for a proxy or for a captured concrete tensor.
  virtual Tensor current(const Tensor& tensor, SourceLocation) = 0;
};

/// This thread's innermost interpreter; null in eager mode.
Interpreter* innermost_interpreter();
/// Makes an interpreter (or, with null, eager mode) the innermost for a scope, without autocast: a rule or a pass
/// chooses its own dtypes.
class InterpreterScope {
 public:
  explicit InterpreterScope(Interpreter*);
  ~InterpreterScope();
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;

 private:
  Interpreter* previous_;
  std::optional<Dtype> autocast_;
};

/// Calls `run`, which must not throw, before this thread's next operator call or change of interpreter; null: nothing.
void before_next_call(void (*run)());

/// Announces a function that changes process state or a tensor's state other than its elements, such as manual_seed().
/// A recording ends its subgraph, so that the function acts in order and at each call, or throws if it cannot.
inline void act_immediately(const char* what, SourceLocation at) {
  if (Interpreter* const interpreter = innermost_interpreter()) interpreter->act(what, at);
}

/// Dispatches an operator call to the innermost interpreter or to eager mode. All operator calls pass here.
void dispatch(const Symbol&, Arguments, SourceLocation, Results&);
/// The same, ignoring any autocast scope.
void dispatch_plainly(const Symbol&, Arguments, SourceLocation, Results&);
/// For symbols with exactly one result.
Tensor dispatch(const Symbol&, Arguments, SourceLocation);

/// Eager mode: runs the kernel, and records a node if an argument requires grad. prims.copy_(source, destination)
/// writes into destination's memory, advances its storage's version and gives destination source's history. Defined in
/// autograd/.
void run_eager(const Symbol&, Arguments, SourceLocation, Results&);

/// This thread's grad mode: true if operators on tensors that require grad record nodes. Defined in autograd/.
bool grad_enabled();

/// "linear(cpu f32[2, 3], cpu f32[4, 5], None)": for messages.
std::string call_text(const Symbol&, Arguments);
/// Infers a call's result types; without a shape rule, by recording the decomposition separately.
void infer_types(const Symbol&, Arguments, InferredTypes&);

/// The shapes' common broadcast shape; a RuleError names both if there is none.
Shape broadcast_shapes(const Shape&, const Shape&);
/// PyTorch's result dtype for these operands (tensors with dimensions, then 0-d tensors, then numbers).
Dtype result_dtype(Arguments operands);
/// `dim` counted from the front; a RuleError if it is out of range for `ndim`.
int64_t normalize_dim(int64_t dim, int64_t ndim);

}  // namespace fulgurite
