// Versions with symbols: recorded and transformed once, and made programs of for each set of the symbols' values.
#include <array>
#include <bit>
#include <set>

#include <fulgurite/error.h>

#include "jit/jit_state.h"
#include "ops/dispatch.h"
#include "support/text.h"

namespace fulgurite::detail {

namespace {

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

std::vector<Ref<const NumberProxy>> find_guards(const CompiledFunction& compiled) {
  std::vector<Ref<const NumberProxy>> guards;
  std::set<Question> asked;
  for (const auto& number : *compiled.forward_traces.front().numbers)
    if (number->constraint == NumberProxy::Constraint::fixed && asked.insert(question_of(*number)).second) guards.emplace_back(number.get());
  return guards;
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
  if (std::shared_ptr<const CompiledVersion> known = store_.find_set_of_values(leaves, hash)) return known;
  const std::vector<std::shared_ptr<const SymbolicVersion>> candidates = store_.find_symbolic(leaves);
  if (candidates.empty()) return nullptr;
  const std::vector<uint64_t> given = leaves.symbol_values();
  for (const auto& candidate : candidates) {
    NumberValues values(given);
    if (failed_guard(*candidate, values)) continue;
    try {
      std::shared_ptr<const CompiledVersion> version = specialise(candidate, leaves);
      if (!holds(*version, leaves)) continue;
      store_.add_set_of_values(version, hash);
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
  symbolic->compiled = compile(symbolic->recording.trace, symbolic->is_differentiated, pipeline_options());
  symbolic->guards = find_guards(symbolic->compiled);
  auto stages = std::make_shared<Stages>();
  stages->forward = std::move(symbolic->compiled.forward_traces);
  stages->backward = std::move(symbolic->compiled.backward_traces);
  std::shared_ptr<CompiledVersion> version = specialise(symbolic, leaves);
  stages->prologue = make_prologue(*version, stages->forward.front(), paths, leaves);
  symbolic->stages = std::move(stages);
  return version;
}

std::shared_ptr<CompiledVersion> JitState::specialise(const std::shared_ptr<const SymbolicVersion>& symbolic, const Leaves& leaves) const {
  const std::vector<uint64_t> given = leaves.symbol_values();
  NumberValues values(given);
  auto version = std::make_shared<CompiledVersion>();
  version->key = leaves.key();
  version->leaf_names = symbolic->leaf_names;
  version->symbolic = symbolic;
  Programs programs = fulgurite::specialise({symbolic, &symbolic->compiled}, given, pipeline_options());
  version->forward = std::move(programs.forward);
  version->backward = std::move(programs.backward);
  connect(*version, symbolic->recording, symbolic->is_differentiated);
  version->result_slots = symbolic->recording.result_slots;
  version->rest = symbolic->recording.rest;
  for (const Value& n : symbolic->recording.integers) version->integers.push_back(values.value(n.integer()));
  for (const Value& n : symbolic->recording.floats) version->floats.push_back(values.value(n.floating()));
  return version;
}

}  // namespace fulgurite::detail
