#include "executors/gradient_rules.h"

#include <algorithm>

#include "ops/core/recorder.h"
#include "ops/core/user_operator.h"
#include "support/text/text.h"
#include "tracing/argument_pack.h"

namespace fulgurite {

namespace {

class Handles final : public ArgumentPack::Resolver {
 public:
  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override { return make_proxy_tensor(proxy, 0, {}); }
};

std::shared_ptr<const JointRule> accepted_rule(const Executor& executor, const Symbol& symbol, Arguments arguments) {
  if (!executor.find_rule) return nullptr;
  std::shared_ptr<const JointRule> rule = executor.find_rule(symbol);
  return rule && (!rule->accepts || rule->accepts(arguments)) ? rule : nullptr;
}

}  // namespace

bool ExecutorRules::may_have_rule(const Symbol& symbol) const {
  return as_user_operator(symbol) != nullptr || std::ranges::any_of(executors_, [](const Executor* executor) {
           return static_cast<bool>(executor->find_rule);
         });
}

std::shared_ptr<const JointRule> ExecutorRules::find(const Symbol& symbol, Arguments arguments) const {
  for (const Executor* executor : executors_) {
    const Implementation* implementation = executor->fusing ? nullptr : executor->find(symbol);
    if (implementation && !implementation->accepts(arguments)) continue;
    std::shared_ptr<const JointRule> rule = accepted_rule(*executor, symbol, arguments);
    if (rule) return rule;
    if (implementation) break;
  }
  const UserOperator* user = as_user_operator(symbol);
  return user ? accepted_rule(*user->owner, symbol, arguments) : nullptr;
}

std::shared_ptr<const JointRule> ExecutorRules::find(const BoundSymbol& bound) const {
  if (!may_have_rule(*bound.symbol)) return nullptr;
  Handles handles;
  const ArgumentPack pack(bound, handles);
  return find(*bound.symbol, pack.arguments());
}

std::string ExecutorRules::names() const {
  return text::join(executors_, [](const Executor* executor) { return executor->name; });
}

bool has_default_rule(const Symbol& symbol, Arguments arguments) {
  return ExecutorRules(resolve_executors({})).find(symbol, arguments) != nullptr;
}

Trace grad_transform_on_trace(const Trace& trace) {
  const Recorder* const recorder = innermost_recorder();
  const std::vector<std::string> names = recorder ? recorder->executors() : std::vector<std::string>();
  return grad_transform_on_trace(trace, ExecutorRules(resolve_executors(names)));
}

}  // namespace fulgurite
