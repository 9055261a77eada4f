#pragma once
#include "ops/core/argument.h"
#include "ops/core/interpreter.h"
#include "ops/core/rules.h"

namespace fulgurite {

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
