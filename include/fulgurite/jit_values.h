#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fulgurite/jit.h>
#include <fulgurite/value.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// For front ends in other languages: jit() without C++ types, and its pieces under another autograd engine.

/// A function from values to values. Values are tensors, numbers, strings, dtypes, devices, none, and lists of these.
struct ValueFunction {
  /// Runs while the function is recorded: on tensors that stand for values of the trace, and on the members that it was
  /// called with.
  std::function<std::vector<Value>(std::span<const Value> arguments, std::span<const Tensor> members)> body = {};
  /// For printing: "x" is t_x in traces.
  std::vector<std::string> argument_names = {}, member_names = {};
};

class CompiledBackward;

/// A call that keeps what its backward needs in the caller's hands.
struct ForwardCall {
  /// As the function gives them, without history.
  std::vector<Value> results = {};
  /// The tensors that the backward needs, to be given back unchanged.
  std::vector<Tensor> saved = {};
  /// An entry for each saved tensor: true for one that CompiledBackward::run_with_saved alone reads. run() may be given
  /// undefined tensors in the places of these.
  std::vector<char> for_derivatives = {};
  /// An entry for each result: whether it has a gradient.
  std::vector<char> carries_gradient = {};
  /// Null where no result has a gradient.
  std::shared_ptr<const CompiledBackward> backward = {};
};

/// The backward of one call.
class CompiledBackward {
 public:
  ~CompiledBackward();
  CompiledBackward(const CompiledBackward&) = delete;
  CompiledBackward& operator=(const CompiledBackward&) = delete;

  /// The gradients of the tensors that need one, in their order; undefined where nothing depends on one. There is a
  /// cotangent for each result; undefined ones, and those of results without a gradient, count as zeros. It can be run
  /// again.
  std::vector<Tensor> run(std::span<const Tensor> saved, std::span<const Tensor> cotangents,
                          SourceLocation at = SourceLocation::here()) const;
  /// The same as a call that can be differentiated: its backward gives the gradients of the cotangents, in their order,
  /// and then those of the tensors that need one.
  ForwardCall run_with_saved(std::span<const Tensor> saved, std::span<const Tensor> cotangents,
                             SourceLocation at = SourceLocation::here()) const;

 private:
  friend class JittedValues;
  struct State;
  explicit CompiledBackward(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A jitted function over values. Members are tensors that belong to the function: their sizes are constants.
class JittedValues : public Jitted {
 public:
  /// For jit_values() and with_transforms().
  explicit JittedValues(std::shared_ptr<detail::JitState> state) : Jitted(std::move(state)) {}

  /// Looks the arguments up, compiles on a miss, and runs.
  std::vector<Value> operator()(std::span<const Value> arguments, std::span<const Tensor> members = {},
                                SourceLocation at = SourceLocation::here()) const;
  /// The same for a caller with an engine of its own. `needs_gradient` has an entry for each tensor among the
  /// arguments, in order, then for each member.
  ForwardCall call_with_saved(std::span<const Value> arguments, std::span<const Tensor> members,
                              const std::vector<bool>& needs_gradient,
                              SourceLocation at = SourceLocation::here()) const;
};

/// `function` compiled: recorded, transformed and planned at the first call, looked up and run after it. UserError
/// without a body.
JittedValues jit_values(ValueFunction function, JitOptions options = {}, SourceLocation at = SourceLocation::here());

/// The function as recorded at these arguments: nothing is run, so that of tensors only sizes, dtypes and what shares
/// memory count.
Trace record_values(const ValueFunction& function, std::span<const Value> arguments,
                    std::span<const Tensor> members = {}, SourceLocation at = SourceLocation::here());

/// A function's results, and the way back from them.
struct ValuePullback {
  /// As the function gives them.
  std::vector<Value> results = {};
  /// From a cotangent of each tensor among the results, undefined for zeros, the gradient of each tensor among the
  /// arguments, in order: zeros where nothing depends on one, the tensor itself where it has no gradient or none was
  /// asked for.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& cotangents)> pull = {};
};
/// Runs `function`, keeping what the gradients of the arguments `with_respect_to` need. Inside a recording it becomes
/// part of it. UserError where these hold integers alone. vjp() and grad() for front ends.
ValuePullback vjp_values(const ValueFunction& function, std::span<const Value> arguments,
                         const std::vector<int>& with_respect_to, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
