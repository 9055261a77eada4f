#include "ir/symbolic/symbol_table.h"

#include <bit>

#include "ir/symbolic/symbol_values.h"

namespace fulgurite {

using Kind = NumberProxy::Kind;

int NumberTable::find(const NumberProxy& number) const {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].number.get() == &number) return static_cast<int>(i);
  return -1;
}

int NumberTable::add(const NumberProxy& number) {
  if (const int known = find(number); known >= 0) return known;
  Entry entry{detail::Ref<const NumberProxy>(&number), {-1, -1}};
  if (number.input < 0)
    for (int i = 0; i < 2; ++i)
      if (number.operands[i]) entry.operands[i] = add(*number.operands[i]);
  entries_.push_back(std::move(entry));
  return static_cast<int>(entries_.size()) - 1;
}

NumberTable::Number NumberTable::compute(const Entry& entry, std::span<const uint64_t> given, const Values& values) {
  const NumberProxy& number = *entry.number;
  const auto of_integer = [](int64_t n) { return Number{n, static_cast<double>(n)}; };
  if (number.input >= 0) {
    const uint64_t bits = given[static_cast<size_t>(number.input)];
    return number.kind == Kind::floating ? Number{0, std::bit_cast<double>(bits)}
                                         : of_integer(static_cast<int64_t>(bits));
  }
  if (entry.operands[0] < 0)
    return number.kind == Kind::floating ? Number{0, number.floating} : of_integer(number.integer);
  const int second = entry.operands[1] < 0 ? entry.operands[0] : entry.operands[1];
  const Number a = values[static_cast<size_t>(entry.operands[0])], b = values[static_cast<size_t>(second)];
  if (number.kind == Kind::integer) return of_integer(fulgurite::compute(number.operation, a.integer, b.integer));
  if (number.kind == Kind::floating) return {0, fulgurite::compute(number.operation, a.floating, b.floating)};
  const auto is_float = [](const auto& operand) { return operand && operand->kind == Kind::floating; };
  if (is_float(number.operands[0]) || is_float(number.operands[1]))
    return of_integer(compare(number.operation, a.floating, b.floating));
  return of_integer(compare(number.operation, a.integer, b.integer));
}

void NumberTable::compute(std::span<const uint64_t> given, Values& values) const {
  values.clear();
  for (const Entry& entry : entries_) values.push_back(compute(entry, given, values));
}

}  // namespace fulgurite
