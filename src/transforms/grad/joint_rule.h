#pragma once
#include <functional>
#include <memory>
#include <vector>

#include <fulgurite/extend.h>
#include <fulgurite/trace.h>

#include "implementation/implementation.h"

namespace fulgurite {

class Tracer;

/// A gradient rule that an executor has for a symbol: a grad transform, or an augmented forward with its backward.
struct JointRule {
  std::function<bool(Arguments)> accepts;  // empty: every call
  OperatorRule grad_transform;
  std::function<void(Arguments, SourceLocation, Results&, std::vector<detail::SavedValue>&)> augmented_forward;
  detail::BackwardFunction backward;
};

/// Where the grad transform finds gradient rules beside those of the symbols' own records.
class GradientRules {
 public:
  virtual ~GradientRules() = default;
  /// Null where no executor has a rule for this call.
  virtual std::shared_ptr<const JointRule> find(const BoundSymbol&) const = 0;
  /// "mine, onednn, eager": who was asked, for messages.
  virtual std::string names() const = 0;
};

/// The joint trace, with these rules. grad_transform_on_trace(trace) asks the default executors'.
Trace grad_transform_on_trace(const Trace&, const GradientRules&);

/// What a rule recorded in a symbol's place.
struct JointParts {
  std::vector<BoundSymbol> forward;   // makes the symbol's results, under their own names
  std::vector<BoundSymbol> backward;  // reads cotangents with prims.get_grad, gives some with prims.put_grad
};

/// Runs a gradient rule for `bound` in a scope of its own and splits what it recorded: what the results need, and the rest.
///
///   t1 = sin(t0)   ->   forward   t1 = sin(t0)
///                       backward  t2 = prims.get_grad(t1)
///                                 t3 = cos(t0)
///                                 t4 = mul(t2, t3)
///                                 prims.put_grad(t0, t4)
///
/// A result that is an argument as it came gets a name of its own, and its cotangent goes on to the argument.
JointParts run_joint_rule(Tracer&, const BoundSymbol& bound, const JointRule&, Tags);

/// What a custom function's line recorded for the backward, under names of its own.
std::vector<BoundSymbol> custom_backward(Tracer&, const BoundSymbol& custom);

/// Runs a function that records other operators in the place of `bound`; gives the symbols, which make its results.
std::vector<BoundSymbol> record_replacement(Tracer&, const BoundSymbol& bound, const OperatorRule&);

}  // namespace fulgurite
