// Versions with symbols: recorded and transformed once, and made programs of for each set of the symbols' values.
#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <set>

#include <fulgurite/error.h>

#include "jit/jit_state.h"
#include "ops/dispatch.h"
#include "support/text.h"

namespace fulgurite::detail {

namespace {

constexpr size_t most_sets_of_values = 128;

// The same question about the same numbers is asked often, by each rule that depends on it.
using Question = std::array<uint64_t, 5>;

Question question_of(const NumberProxy& number) {
  const auto word_of = [](const Ref<const NumberProxy>& operand) -> uint64_t {
    if (!operand) return 0;
    const bool is_constant = operand->input < 0 && !operand->operands[0];
    if (!is_constant) return reinterpret_cast<uintptr_t>(operand.get());
    return operand->kind == NumberProxy::Kind::floating ? std::bit_cast<uint64_t>(operand->floating)
                                                        : static_cast<uint64_t>(operand->integer);
  };
  const auto kind_of = [](const Ref<const NumberProxy>& operand) { return operand ? static_cast<uint64_t>(operand->kind) + 1 : 0; };
  const bool is_itself = number.input >= 0;
  return {static_cast<uint64_t>(number.operation) << 32 | static_cast<uint64_t>(number.kind) << 16 | kind_of(number.operands[0]) << 8 |
              kind_of(number.operands[1]),
          is_itself ? reinterpret_cast<uintptr_t>(&number) : 0, word_of(number.operands[0]), word_of(number.operands[1]),
          static_cast<uint64_t>(number.integer)};
}

std::vector<Ref<const NumberProxy>> find_guards(const CompiledFunction& stages) {
  std::vector<Ref<const NumberProxy>> guards;
  std::set<Question> asked;
  for (const auto& number : *stages.forward_traces.front().numbers)
    if (number->constraint == NumberProxy::Constraint::fixed && asked.insert(question_of(*number)).second) guards.emplace_back(number.get());
  return guards;
}

bool captures_are_alike(const CompiledVersion& version) {
  SmallVector<uint64_t, 64> now;
  for (const Tensor& tensor : version.captures) append_tensor_key(*tensor.impl(), now);
  return same_words(version.capture_key, now);
}

std::string value_text(const NumberProxy& number) {
  switch (number.kind) {
    case NumberProxy::Kind::integer: return text::cat(number.integer);
    case NumberProxy::Kind::floating: return text::cat(number.floating);
    case NumberProxy::Kind::boolean: break;
  }
  return number.integer ? "true" : "false";
}

std::string expression(const NumberProxy& number) {
  if (number.input >= 0) return number.name;
  if (!number.operands[0]) return value_text(number);
  static constexpr std::string_view infix[] = {"+", "-", "*", "/", "//", "%", "", "", "", "", "", "==", "!=", "<", "<=", ">", ">=", ""};
  const std::string first = expression(*number.operands[0]);
  const std::string_view sign = infix[static_cast<int>(number.operation)];
  switch (number.operation) {
    case NumberOperation::negate: return text::cat("-", first);
    case NumberOperation::square_root: return text::cat("sqrt(", first, ")");
    case NumberOperation::to_float: return text::cat("float(", first, ")");
    case NumberOperation::minimum: return text::cat("min(", first, ", ", expression(*number.operands[1]), ")");
    case NumberOperation::maximum: return text::cat("max(", first, ", ", expression(*number.operands[1]), ")");
    default: return text::cat("(", first, " ", sign, " ", expression(*number.operands[1]), ")");
  }
}

}  // namespace

std::string guard_text(const NumberProxy& number) {
  std::string text = expression(number);
  if (number.kind != NumberProxy::Kind::boolean) return text::cat(text, " == ", value_text(number));
  if (!number.integer) return text::cat("not ", text);
  const bool is_in_parentheses = text.starts_with('(');
  return is_in_parentheses ? text.substr(1, text.size() - 2) : text;
}

const NumberProxy* failed_guard(const SymbolicVersion& version, NumberValues& values) {
  for (const auto& guard : version.guards) {
    try {
      if (!values.is_as_recorded(*guard)) return guard.get();
    } catch (const UserError&) {  // a size that does not fit, or a division by zero: the function has to say so itself
      return guard.get();
    }
  }
  return nullptr;
}

std::shared_ptr<const CompiledVersion> JitState::find_with_symbols(const Leaves& leaves) {
  if (options_.cache == Cache::no_caching) return nullptr;
  const uint64_t hash = leaves.hash();
  std::vector<std::shared_ptr<const SymbolicVersion>> candidates;
  {
    const std::shared_lock lock(mutex_);
    const auto [begin, end] = by_values_.equal_range(hash);
    for (auto candidate = begin; candidate != end; ++candidate) {
      const CompiledVersion& version = *candidate->second;
      if (!same_words(version.key, leaves.key()) || !captures_are_alike(version)) continue;
      version.last_use.store(uses_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
      return candidate->second;
    }
    if (symbolic_.empty()) return nullptr;
    const SmallVector<uint64_t, 64> key = leaves.key_without_symbols();
    const auto [first, last] = symbolic_.equal_range(hash_of(key));
    for (auto candidate = first; candidate != last; ++candidate)
      if (same_words(candidate->second->key, key)) candidates.push_back(candidate->second);
  }
  const std::vector<uint64_t> given = leaves.symbol_values();
  for (const auto& candidate : candidates) {
    NumberValues values(given);
    if (failed_guard(*candidate, values)) continue;
    try {
      std::shared_ptr<const CompiledVersion> version = specialise(candidate, leaves);
      if (!captures_are_alike(*version)) continue;
      const std::unique_lock lock(mutex_);
      keep_programs(hash, version);
      return version;
    } catch (const std::exception&) {
      // What the shape rules refuse for these sizes is recorded again, which says what is wrong or finds another way.
    }
  }
  return nullptr;
}

std::shared_ptr<CompiledVersion> JitState::compile_with_symbols(Recording recording, const Leaves& leaves,
                                                                const std::vector<LeafPath>& paths,
                                                                const std::vector<std::string>& names) {
  auto symbolic = std::make_shared<SymbolicVersion>();
  symbolic->key = leaves.key_without_symbols();
  symbolic->leaf_names = names;
  symbolic->is_differentiated = grad_enabled() && recording.requires_grad;
  symbolic->recording = std::move(recording);
  context().unique_graphs.fetch_add(1, std::memory_order_relaxed);
  symbolic->stages = compile(symbolic->recording.trace, symbolic->is_differentiated, pipeline_options());
  symbolic->guards = find_guards(symbolic->stages);
  std::shared_ptr<CompiledVersion> version = specialise(symbolic, leaves);
  symbolic->prologue = make_prologue(*version, paths, leaves);
  version->prologue = symbolic->prologue;
  return version;
}

std::shared_ptr<CompiledVersion> JitState::specialise(const std::shared_ptr<const SymbolicVersion>& symbolic, const Leaves& leaves) const {
  const std::vector<uint64_t> given = leaves.symbol_values();
  NumberValues values(given);
  auto version = std::make_shared<CompiledVersion>();
  version->key = leaves.key();
  version->leaf_names = symbolic->leaf_names;
  version->symbolic = symbolic;
  version->stages = symbolic->stages;
  version->prologue = symbolic->prologue;
  Programs programs = fulgurite::specialise(symbolic->stages, values, pipeline_options());
  version->forward = std::move(programs.forward);
  version->backward = std::move(programs.backward);
  connect(*version, symbolic->recording, symbolic->is_differentiated);
  version->result_slots = symbolic->recording.result_slots;
  version->rest = symbolic->recording.rest;
  for (const Value& n : symbolic->recording.integers) version->integers.push_back(values.value(n.integer()));
  for (const Value& n : symbolic->recording.floats) version->floats.push_back(values.value(n.floating()));
  return version;
}

// The programs of the set of values that was not used for the longest time go.
void JitState::keep_programs(uint64_t hash, std::shared_ptr<const CompiledVersion> version) {
  version->last_use.store(uses_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  if (by_values_.size() >= most_sets_of_values) {
    const auto is_older = [](const auto& a, const auto& b) {
      return a.second->last_use.load(std::memory_order_relaxed) < b.second->last_use.load(std::memory_order_relaxed);
    };
    by_values_.erase(std::min_element(by_values_.begin(), by_values_.end(), is_older));
  }
  by_values_.emplace(hash, std::move(version));
}

void JitState::add_with_symbols(std::shared_ptr<const CompiledVersion> version, uint64_t hash) {
  const std::unique_lock lock(mutex_);
  add_times(*version);
  if (options_.cache == Cache::no_caching) {
    versions_.assign(1, std::move(version));
    return;
  }
  symbolic_.emplace(hash_of(version->symbolic->key), version->symbolic);
  keep_programs(hash, version);
  versions_.push_back(std::move(version));
}

void JitState::keep_last_with_symbols(const std::shared_ptr<const CompiledVersion>& version) {
  const std::unique_lock lock(mutex_);
  last_with_symbols_ = version && version->symbolic ? version : nullptr;
  last_with_symbols_address_.store(last_with_symbols_.get(), std::memory_order_relaxed);
}

}  // namespace fulgurite::detail
