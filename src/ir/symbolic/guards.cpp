#include "ir/symbolic/guards.h"

#include <array>
#include <bit>
#include <set>

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite {

using detail::NumberOperation;
using detail::Ref;

namespace {

// Rules repeat the same comparison of the same scalars.
using Question = std::array<uint64_t, 5>;

Question question_of(const NumberProxy& number) {
  const auto word_of = [](const Ref<const NumberProxy>& operand) -> uint64_t {
    if (!operand) return 0;
    const bool is_constant = operand->input < 0 && !operand->operands[0];
    if (!is_constant) return reinterpret_cast<uintptr_t>(operand.get());
    return operand->kind == NumberProxy::Kind::floating ? std::bit_cast<uint64_t>(operand->floating)
                                                        : static_cast<uint64_t>(operand->integer);
  };
  const auto kind_of = [](const Ref<const NumberProxy>& operand) {
    return operand ? static_cast<uint64_t>(operand->kind) + 1 : 0;
  };
  const bool is_itself = number.input >= 0;
  return {static_cast<uint64_t>(number.operation) << 32 | static_cast<uint64_t>(number.kind) << 16 |
              kind_of(number.operands[0]) << 8 | kind_of(number.operands[1]),
          is_itself ? reinterpret_cast<uintptr_t>(&number) : 0, word_of(number.operands[0]),
          word_of(number.operands[1]), static_cast<uint64_t>(number.integer)};
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
  static constexpr std::string_view infix[] = {"+", "-", "*",  "/",  "//", "%",  "",  "",   "",
                                               "",  "",  "==", "!=", "<",  "<=", ">", ">=", ""};
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

Guards find_guards(const Trace& trace) {
  Guards guards;
  if (!trace.numbers) return guards;
  std::set<Question> asked;
  for (const auto& number : *trace.numbers)
    if (number->constraint == NumberProxy::Constraint::fixed && asked.insert(question_of(*number)).second)
      guards.emplace_back(number.get());
  return guards;
}

const NumberProxy* failed_guard(const Guards& guards, SymbolValues& values) {
  for (const auto& guard : guards) {
    try {
      if (!values.is_as_recorded(*guard)) return guard.get();
    } catch (const UserError&) {  // a size that does not fit, or a division by zero: the function must report it itself
      return guard.get();
    }
  }
  return nullptr;
}

}  // namespace fulgurite
