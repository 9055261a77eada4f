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

/// The grad transform's source of gradient rules beside those of the symbols' own records.
class GradientRules {
 public:
  virtual ~GradientRules() = default;
  /// Null if no executor has a rule for this call.
  virtual std::shared_ptr<const JointRule> find(const BoundSymbol&) const = 0;
  /// "mine, onednn, eager": the executors searched, for messages.
  virtual std::string names() const = 0;
};

/// The joint trace, with these rules. grad_transform_on_trace(trace) uses the default executors'.
Trace grad_transform_on_trace(const Trace&, const GradientRules&);

/// The ops that a rule recorded in place of a symbol.
struct JointParts {
  std::vector<BoundSymbol> forward;   // computes the symbol's results, under their own names
  std::vector<BoundSymbol> backward;  // reads cotangents with prims.get_grad, returns some with prims.put_grad
};

/// Runs a gradient rule for `bound` in a scope of its own and splits the recorded ops: dependencies of the results, and
/// the rest.
///
///   t1 = sin(t0)   ->   forward   t1 = sin(t0)
///                       backward  t2 = prims.get_grad(t1)
///                                 t3 = cos(t0)
///                                 t4 = mul(t2, t3)
///                                 prims.put_grad(t0, t4)
///
/// A result that is an unchanged argument gets a name of its own, and its cotangent is propagated to the argument.
JointParts run_joint_rule(Tracer&, const BoundSymbol& bound, const JointRule&, Tags);

/// The backward that a custom function's op recorded, with fresh names.
std::vector<BoundSymbol> custom_backward(Tracer&, const BoundSymbol& custom);

/// Runs a function that records other operators in place of `bound`; returns the symbols, which compute its results.
std::vector<BoundSymbol> record_replacement(Tracer&, const BoundSymbol& bound, const OperatorRule&);

}  // namespace fulgurite
