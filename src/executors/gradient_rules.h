#pragma once
#include "executors/registry.h"

namespace fulgurite {

/// The gradient rules of a list of executors. The first executor that can execute a call decides: its rule, or none. An
/// executor that only has gradients of a symbol decides likewise. A registered operator falls back to its own
/// executor's rule if no other decides.
class ExecutorRules final : public GradientRules {
 public:
  explicit ExecutorRules(std::vector<const Executor*> executors) : executors_(std::move(executors)) {}
  std::shared_ptr<const JointRule> find(const BoundSymbol&) const override;
  std::shared_ptr<const JointRule> find(const Symbol&, Arguments) const;
  std::string names() const override;

 private:
  bool may_have_rule(const Symbol&) const;
  std::vector<const Executor*> executors_;
};

/// Returns true if an executor of the default list, or the operator's own, has a rule for a call in eager mode.
bool has_default_rule(const Symbol&, Arguments);

}  // namespace fulgurite
