#include "executors/user_executor.h"

#include <mutex>

#include <fulgurite/error.h>

#include "executors/check_function.h"
#include "support/text/text.h"

namespace fulgurite::detail {

UserExecutor::UserExecutor(std::string given_name) {
  name = std::move(given_name);
  find = [this](const Symbol& symbol) { return implementation_of(symbol); };
  find_rule = [this](const Symbol& symbol) { return rule_of(symbol); };
}

const Implementation* UserExecutor::implementation_of(const Symbol& symbol) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(&symbol);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = *found->second;
  return entry.user.run || entry.user.execution_transform ? &entry.implementation : nullptr;
}

std::shared_ptr<const JointRule> UserExecutor::rule_of(const Symbol& symbol) const {
  const std::shared_lock lock(mutex_);
  if (const auto found = entries_.find(&symbol); found != entries_.end() && found->second->grad_transform)
    return found->second->grad_transform;
  const auto found = pairs_.find(&symbol);
  if (found == pairs_.end()) return nullptr;
  if (!found->second.rule)
    throw UserError(found->second.forward
                        ? text::cat("the executor \"", name, "\" has an augmented forward of ", symbol.qualified_name(),
                                    " and no backward for it: call register_backward too")
                        : text::cat("the executor \"", name, "\" has a backward of ", symbol.qualified_name(),
                                    " and no augmented forward for it: call register_augmented_forward too"));
  return found->second.rule;
}

void UserExecutor::add(const Symbol& symbol, UserImplementation user, std::shared_ptr<const JointRule> grad_transform,
                       SourceLocation at) {
  auto entry = std::make_unique<Entry>();
  entry->user = std::move(user);
  entry->grad_transform = std::move(grad_transform);
  entry->implementation.executor = name;
  entry->implementation.symbol = &symbol;
  entry->implementation.user = &entry->user;
  const std::lock_guard lock(mutex_);
  if (!entries_.emplace(&symbol, std::move(entry)).second)
    throw UserError(
        text::cat("the executor \"", name, "\" has an implementation of ", symbol.qualified_name(), " already"), at);
  count_executor_change();
}

void UserExecutor::forget(const Symbol& symbol) {
  const std::lock_guard lock(mutex_);
  entries_.erase(&symbol);
}

void UserExecutor::add_augmented_forward(const Symbol& symbol, AugmentedForwardFunction forward, SourceLocation at) {
  const std::lock_guard lock(mutex_);
  Pair& pair = pairs_[&symbol];
  if (pair.forward)
    throw UserError(
        text::cat("the executor \"", name, "\" has an augmented forward of ", symbol.qualified_name(), " already"), at);
  pair.forward = std::move(forward);
  complete(pair);
}

void UserExecutor::add_backward(const Symbol& symbol, BackwardFunction backward, SourceLocation at) {
  const std::lock_guard lock(mutex_);
  Pair& pair = pairs_[&symbol];
  if (pair.backward)
    throw UserError(text::cat("the executor \"", name, "\" has a backward of ", symbol.qualified_name(), " already"),
                    at);
  pair.backward = std::move(backward);
  complete(pair);
}

void UserExecutor::complete(Pair& pair) {
  count_executor_change();
  if (!pair.forward || !pair.backward) return;
  auto rule = std::make_shared<JointRule>();
  rule->accepts = [parameters = pair.forward.parameters()](Arguments arguments) {
    return takes_arguments(parameters, arguments);
  };
  rule->augmented_forward = [forward = pair.forward](Arguments arguments, SourceLocation at, Results& results,
                                                     std::vector<SavedValue>& saved) {
    OperatorCall call{arguments, at, &results, &saved};
    forward(call);
  };
  rule->backward = pair.backward;
  pair.rule = std::move(rule);
}

}  // namespace fulgurite::detail
