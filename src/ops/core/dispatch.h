#pragma once
#include "ops/core/argument.h"
#include "ops/core/rules.h"

namespace fulgurite {

/// What an operator call means at the moment: a tracer records it. Without one, eager mode runs it.
class Interpreter {
 public:
  virtual ~Interpreter() = default;
  /// Arguments have been checked against the signature. A RuleError thrown here gets the operator, operands and line added.
  virtual void run(const Symbol&, Arguments, SourceLocation, Results&) = 0;

  // Numbers that are symbols; see fulgurite::detail in number.h.
  virtual Int integer(detail::NumberOperation, Int, Int) = 0;
  virtual Float floating(detail::NumberOperation, Float, Float) = 0;
  virtual Bool comparison(detail::NumberOperation, Int, Int) = 0;
  virtual Bool comparison(detail::NumberOperation, Float, Float) = 0;
  virtual void fix(const NumberProxy&) = 0;  // its value is asked for: guard it

  /// Called where a tensor's elements are asked for (`item`, printing, `if`): throws unless it can give them.
  virtual void demand_value(const Tensor&, const char* what, SourceLocation) = 0;
  /// Called before a function that acts immediately and at each call; see act_immediately().
  virtual void act(const char* what, SourceLocation) = 0;
  /// What stands for `tensor` here: a value of this trace for a proxy or for a concrete tensor that it has captured.
  virtual Tensor current(const Tensor& tensor, SourceLocation) = 0;
};

/// This thread's innermost interpreter; null in eager mode.
Interpreter* innermost_interpreter();
/// Makes an interpreter (or, with null, eager mode) the innermost for a scope, without autocasting: what a rule or a pass runs has the dtypes
/// it asks for.
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

/// Has `run`, which must not throw, called before this thread's next operator call or change of interpreter; null: nothing.
void before_next_call(void (*run)());

/// Announces a function that changes the process or a tensor's state beside its elements, such as manual_seed(). A recording ends its
/// piece, so that the function acts in order and at each call, or throws where it cannot.
inline void act_immediately(const char* what, SourceLocation at) {
  if (Interpreter* const interpreter = innermost_interpreter()) interpreter->act(what, at);
}

/// The one way every operator call takes: to the innermost interpreter or to eager mode.
void dispatch(const Symbol&, Arguments, SourceLocation, Results&);
/// The same, whatever autocast scope there is.
void dispatch_plainly(const Symbol&, Arguments, SourceLocation, Results&);
/// For symbols with exactly one result.
Tensor dispatch(const Symbol&, Arguments, SourceLocation);

/// Eager mode: runs the kernel, and records a node where an argument requires grad. prims.copy_(source, destination) writes into
/// destination's memory, advances its storage's version and gives destination source's history. Defined in autograd/.
void run_eager(const Symbol&, Arguments, SourceLocation, Results&);

/// This thread's grad mode: whether operators on tensors that require grad record nodes. Defined in autograd/.
bool grad_enabled();

/// "linear(cpu f32[2, 3], cpu f32[4, 5], None)": for messages.
std::string call_text(const Symbol&, Arguments);
/// What the rules say of a call's results; decomposes under a recording of its own where there is no shape rule.
void infer_types(const Symbol&, Arguments, InferredTypes&);

/// The shapes' common broadcast shape; a RuleError names both where there is none.
Shape broadcast_shapes(const Shape&, const Shape&);
/// The dtype PyTorch computes in for these operands (tensors with dimensions, then 0-d tensors, then numbers).
Dtype result_dtype(Arguments operands);
/// `dim` counted from the front; a RuleError where it is out of range for `ndim`.
int64_t normalize_dim(int64_t dim, int64_t ndim);

}  // namespace fulgurite
