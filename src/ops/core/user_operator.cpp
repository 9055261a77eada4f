#include "ops/core/user_operator.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fulgurite/error.h>

#include "ops/core/families.h"
#include "support/context.h"

namespace fulgurite {

namespace {

// Marks the symbols that are UserOperators: the operator infers their result types, not a stateless rule.
void infer_user_operator(Arguments, InferredTypes&) {
  throw InternalError("the shape rule of a registered operator was called without the operator");
}

}  // namespace

// Published lists never change; the next registration creates a longer one.
struct OperatorRegistry {
  std::shared_mutex mutex;
  std::unordered_map<std::string_view, std::unique_ptr<UserOperator>> operators;  // by full name
  std::vector<std::unique_ptr<std::vector<const Symbol*>>> lists;
  std::atomic<const std::vector<const Symbol*>*> all;

  OperatorRegistry() {
    lists.push_back(std::make_unique<std::vector<const Symbol*>>(declared_symbols()));
    all = lists.back().get();
  }
};

namespace {

OperatorRegistry& registry() { return context().operators.get(); }

}  // namespace

UserOperator::UserOperator(std::unique_ptr<const std::string> text, const Signature& signature)
    : Symbol{.signature = signature, .infer = infer_user_operator}, text(std::move(text)) {}

const UserOperator* as_user_operator(const Symbol& symbol) {
  return symbol.infer == infer_user_operator ? static_cast<const UserOperator*>(&symbol) : nullptr;
}

const std::vector<const Symbol*>& symbols() { return *registry().all.load(std::memory_order_acquire); }

const Symbol& add_user_operator(std::unique_ptr<UserOperator> made, SourceLocation at) {
  OperatorRegistry& r = registry();
  const std::lock_guard lock(r.mutex);
  const std::string_view name = made->qualified_name();
  const auto found = r.operators.find(name);
  const Symbol* taken = found != r.operators.end() ? found->second.get() : find_declared_symbol(name);
  if (taken) throw UserError(text::cat("the name ", name, " is taken by the operator ", taken->signature.text), at);
  auto longer = std::make_unique<std::vector<const Symbol*>>(*r.lists.back());
  longer->push_back(made.get());
  const Symbol& symbol = *made;
  r.operators.emplace(name, std::move(made));
  r.lists.push_back(std::move(longer));
  r.all.store(r.lists.back().get(), std::memory_order_release);
  return symbol;
}

const Symbol* find_user_operator(std::string_view name) {
  OperatorRegistry& r = registry();
  const std::shared_lock lock(r.mutex);
  const auto found = r.operators.find(name);
  return found == r.operators.end() ? nullptr : found->second.get();
}

}  // namespace fulgurite
