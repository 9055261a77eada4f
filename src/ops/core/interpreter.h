#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/value.h>

#include "ops/core/argument.h"
#include "ops/core/rules.h"

namespace fulgurite {

class Recorder;

/// The current meaning of an operator call: a tracer records it. Without one, eager mode runs it.
///
/// An interpreter may stand inside another one, its outer. It runs calls, and overrides the questions that it answers
/// itself; the outer one answers the others, or eager mode if there is none.
class Interpreter {
 public:
  explicit Interpreter(Interpreter* outer = nullptr) : outer_(outer) {}
  virtual ~Interpreter() = default;
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// The interpreter that it stands in; null: eager mode.
  Interpreter* outer() const { return outer_; }
  /// The recording that receives the ops of calls; null if they are computed instead.
  virtual Recorder* recorder();
  /// Returns true if calls are computed on tensors with memory; else functions of a program must be recorded.
  virtual bool computes() const { return outer_ == nullptr || outer_->computes(); }

  /// Arguments have been checked against the signature. Dispatch adds the operator, operands and source line to a
  /// RuleError thrown here.
  virtual void run(const Symbol&, Arguments, SourceLocation, Results&) = 0;
  /// A call by a name that no operator has: an error, or a substitute for the result. `similar`: operator names that
  /// may have been meant.
  virtual Value unknown_call(std::string_view name, const std::vector<Value>& args,
                             std::span<const std::string_view> similar, SourceLocation);

  // Symbolic scalars; see fulgurite::detail in number.h. Eager mode has none.
  virtual Int integer(detail::NumberOperation, Int, Int);
  virtual Float floating(detail::NumberOperation, Float, Float);
  virtual Bool comparison(detail::NumberOperation, Int, Int);
  virtual Bool comparison(detail::NumberOperation, Float, Float);
  virtual void fix(const NumberProxy&);  // its value is read: guard it

  /// Called when a tensor's elements are read (`item`, printing, `if`): throws unless they are available.
  virtual void demand_value(const Tensor&, const char* what, SourceLocation);
  /// Called before a function that acts immediately and at each call; see act_immediately().
  virtual void act(const char* what, SourceLocation);
  /// Called by graph_break(): ends a subgraph, if there is one.
  virtual void break_here(const std::string& what, SourceLocation);
  /// Called before a backward of `tensor`, which runs outside of the interpreter; by default its value is demanded.
  virtual void leave_for_backward(const Tensor& tensor, const char* what, SourceLocation);
  /// The tensor's counterpart here: a value of this trace for a proxy or for a captured concrete tensor.
  virtual Tensor current(const Tensor& tensor, SourceLocation);

 private:
  Interpreter* outer_;
};

/// The error for a call by a name that no operator has.
[[noreturn]] void refuse_unknown(std::string_view name, std::span<const std::string_view> similar, SourceLocation);

}  // namespace fulgurite
