#include "executors/registry.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>

#include "executors/executor_names.h"
#include "executors/gemm/gemm_executor.h"
#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/environment.h"
#include "support/text/text.h"

namespace fulgurite {

std::string_view present_executor_name(std::string_view name) { return name == "products" ? "gemm" : name; }

namespace {

std::vector<std::string> names_at_start() {
  const std::optional<std::string> wanted = environment_value("FULGURITE_EXECUTORS");
  if (!wanted) return {"gemm", "onednn", "fuser"};
  std::vector<std::string> names;
  for (size_t at = 0; at <= wanted->size();) {
    const size_t end = std::min(wanted->find(',', at), wanted->size());
    if (end > at) names.emplace_back(present_executor_name(std::string_view(*wanted).substr(at, end - at)));
    at = end + 1;
  }
  return names;
}

}  // namespace

/// The registered executors and the default order. Executors are never removed, so pointers to them stay valid.
struct ExecutorRegistry {
  std::mutex mutex;
  std::vector<const Executor*> executors{&onednn_executor(), &gemm_executor(), &fuser_executor(), &eager_executor()};
  std::vector<std::shared_ptr<const Executor>> added;
  std::vector<std::string> default_names = names_at_start();

  const Executor* find(std::string_view given) const {
    const std::string_view name = present_executor_name(given);
    for (const Executor* executor : executors)
      if (executor->name == name) return executor;
    return nullptr;
  }
  const Executor& get(std::string_view name) const {
    if (const Executor* executor = find(name)) return *executor;
    throw UserError(text::cat("there is no executor \"", name, "\"; registered are ",
                              text::join(executors, [](const Executor* e) { return e->name; })));
  }
};

namespace {

ExecutorRegistry& registry() { return context().executors.get(); }

}  // namespace

uint64_t executors_version() { return context().executors_version.load(std::memory_order_relaxed); }
void count_executor_change() { context().executors_version.fetch_add(1, std::memory_order_relaxed); }

const Implementation* Executor::claim(const BoundSymbol& bound, const std::function<Arguments()>& arguments) const {
  if (fusing) return fusing->supports(bound) ? &fusing->candidate : nullptr;
  const Implementation* implementation = find(*bound.symbol);
  if (!implementation || (!implementation->checker && !implementation->user)) return implementation;
  return implementation->accepts(arguments()) ? implementation : nullptr;
}

Executor fusing_executor(std::string name, std::shared_ptr<Fusing> fusing) {
  return {.name = std::move(name), .fusing = std::move(fusing)};
}

void add_executor(std::shared_ptr<const Executor> executor, SourceLocation at) {
  act_immediately("register_executor()", at);
  ExecutorRegistry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (r.find(executor->name) != nullptr)
    throw UserError(text::cat("there is an executor \"", executor->name, "\" already"), at);
  r.executors.insert(r.executors.end() - 1, executor.get());
  r.added.push_back(std::move(executor));
}

std::vector<std::string> all_executors() {
  ExecutorRegistry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<std::string> names;
  for (const Executor* executor : r.executors) names.push_back(executor->name);
  return names;
}

std::vector<std::string> default_executors() {
  ExecutorRegistry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.default_names;
}

void set_default_executors(const std::vector<std::string>& names) {
  act_immediately("set_default_executors()", {});
  ExecutorRegistry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const std::string& name : names) r.get(name);
  r.default_names = names;
  count_executor_change();
}

std::vector<const Executor*> resolve_executors(const std::vector<std::string>& names) {
  ExecutorRegistry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<const Executor*> out;
  for (const std::string& name : names.empty() ? r.default_names : names) {
    const Executor* executor = &r.get(name);
    const bool is_repeated = std::find(out.begin(), out.end(), executor) != out.end();
    if (executor != &eager_executor() && !is_repeated) out.push_back(executor);
  }
  out.push_back(&eager_executor());
  return out;
}

}  // namespace fulgurite
