#include <algorithm>
#include <cmath>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"

namespace fulgurite::chat {

namespace {

[[noreturn]] void fail_undefined(const Value& value) {
  fail(text::cat("'", printable(value.get<Undefined>()->name), "' is undefined"));
}

// The index of an item from the front; none if it is out of range.
std::optional<size_t> index_in(int64_t index, size_t count) {
  if (index < 0) index += static_cast<int64_t>(count);
  return index >= 0 && index < static_cast<int64_t>(count) ? std::optional(static_cast<size_t>(index)) : std::nullopt;
}

}  // namespace

Value attribute_of(const Value& value, std::string_view name) {
  if (value.is_undefined()) fail_undefined(value);
  // Methods come before the entries of a dictionary, as in Jinja.
  if (auto method = method_of(value, name)) return *method;
  if (const Mapping* mapping = value.mapping())
    if (const Value* entry = mapping->find(name)) return *entry;
  return Undefined{std::string(name)};
}

Value item_of(const Value& value, const Value& index) {
  if (value.is_undefined()) fail_undefined(value);
  if (const Mapping* mapping = value.mapping()) {
    const Value* entry = index.text() ? mapping->find(*index.text()) : nullptr;
    if (entry != nullptr) return *entry;
    return index.text() ? attribute_of(value, *index.text()) : Value(Undefined{to_text(index)});
  }
  if (index.get<int64_t>()) {
    if (const Sequence* sequence = value.sequence()) {
      const auto at = index_in(*index.get<int64_t>(), sequence->items.size());
      return at ? sequence->items[*at] : Value(Undefined{to_text(index)});
    }
    if (const std::string* text = value.text()) {
      const std::vector<std::string_view> all = characters(*text);
      const auto at = index_in(*index.get<int64_t>(), all.size());
      return at ? Value(std::string(all[*at])) : Value(Undefined{to_text(index)});
    }
  }
  return index.text() ? attribute_of(value, *index.text()) : Value(Undefined{to_text(index)});
}

Value slice_of(const Value& value, std::optional<int64_t> begin, std::optional<int64_t> end, int64_t step) {
  if (value.is_undefined()) fail_undefined(value);
  if (step == 0) fail("the step of a slice must not be 0");
  if (!value.text() && !value.sequence()) fail(text::cat("a value of the type ", type_name(value), " has no slices"));
  const std::vector<Value> items = items_of(value);
  const auto count = static_cast<int64_t>(items.size());
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? count : count - 1;
  const auto bounded = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    return std::clamp(*bound < 0 ? *bound + count : *bound, low, high);
  };
  const int64_t from = bounded(begin, step > 0 ? low : high), to = bounded(end, step > 0 ? high : low);
  std::vector<Value> kept;
  std::string text;
  for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
    const Value& item = items[static_cast<size_t>(i)];
    value.text() ? void(text += *item.text()) : kept.push_back(item);
  }
  if (value.text()) return text;
  return make_list(std::move(kept), value.sequence()->is_tuple);
}

bool contains(const Value& container, const Value& item) {
  if (const std::string* text = container.text()) {
    if (!item.text()) fail(text::cat("'in' of a text needs a text, not a value of the type ", type_name(item)));
    return text->find(*item.text()) != std::string::npos;
  }
  if (const Mapping* mapping = container.mapping()) return item.text() && mapping->find(*item.text()) != nullptr;
  const std::vector<Value> items = items_of(container);
  return std::any_of(items.begin(), items.end(), [&](const Value& other) { return equal(other, item); });
}

namespace {

void check_overflow(bool overflows) {
  if (overflows) fail("a number is too large");
}

int64_t power_of(int64_t a, int64_t b) {
  int64_t out = 1;
  if (a == 0 || a == 1) return b == 0 ? 1 : a;
  if (a == -1) return b % 2 == 0 ? 1 : -1;
  for (int64_t i = 0; i < b; ++i) check_overflow(__builtin_mul_overflow(out, a, &out));
  return out;
}

Value integer_operator(std::string_view sign, int64_t a, int64_t b) {
  int64_t out = 0;
  if (sign == "+") check_overflow(__builtin_add_overflow(a, b, &out));
  else if (sign == "-") check_overflow(__builtin_sub_overflow(a, b, &out));
  else if (sign == "*") check_overflow(__builtin_mul_overflow(a, b, &out));
  else if (sign == "**" && b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
  else if (sign == "**") return power_of(a, b);
  else if (b == 0) fail("division by zero");
  else if (sign == "/") return static_cast<double>(a) / static_cast<double>(b);
  else if (b == -1 && sign == "//") check_overflow(__builtin_sub_overflow(int64_t{0}, a, &out));
  else if (b != -1) {
    const int64_t rest = a % b, floored = rest != 0 && (rest < 0) != (b < 0);
    out = sign == "//" ? a / b - floored : rest + floored * b;
  }
  return out;
}

Value float_operator(std::string_view sign, double a, double b) {
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "*") return a * b;
  if (sign == "**") return std::pow(a, b);
  if (b == 0) fail("division by zero");
  if (sign == "/") return a / b;
  const double quotient = std::floor(a / b);
  return sign == "//" ? quotient : a - quotient * b;
}

// "%s and %d" % values.
std::string formatted(const std::string& format, const Value& values) {
  const bool is_tuple = values.sequence() && values.sequence()->is_tuple;
  const std::vector<Value> items = is_tuple ? values.sequence()->items : std::vector<Value>{values};
  std::string out;
  size_t used = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const char kind = ++i < format.size() ? format[i] : ' ';
    if (kind == '%') {
      out += '%';
      continue;
    }
    if (used == items.size()) fail("a format has more places than there are values");
    if (kind == 's') out += to_text(items[used++]);
    else if (kind == 'r') out += to_representation(items[used++]);
    else if (kind == 'd' || kind == 'i') out += std::to_string(static_cast<int64_t>(to_number(items[used++])));
    else fail(text::cat("the format %", printable(std::string(1, kind)), " is not supported; there are %s, %r and %d"));
  }
  if (is_tuple && used < items.size()) fail("a format has fewer places than there are values");
  return out;
}

Value repeated(const Value& value, int64_t count) {
  constexpr size_t most = 1 << 20;
  const std::string* text = value.text();
  const size_t times = count > 0 ? static_cast<size_t>(count) : 0;
  if ((text ? text->size() : value.sequence()->items.size()) * times > most || times > most)
    fail("a repetition is too long");
  std::string out;
  std::vector<Value> items;
  for (size_t i = 0; i < times; ++i)
    if (text) out += *text;
    else items.insert(items.end(), value.sequence()->items.begin(), value.sequence()->items.end());
  if (text) return out;
  return make_list(std::move(items), value.sequence()->is_tuple);
}

Value arithmetic(std::string_view sign, const Value& a, const Value& b) {
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (sign == "%" && a.text()) return formatted(*a.text(), b);
  if (a.is_number() && b.is_number()) {
    if (a.get<double>() || b.get<double>()) return float_operator(sign, to_number(a), to_number(b));
    return integer_operator(sign, to_integer(a), to_integer(b));
  }
  if (sign == "+" && a.text() && b.text()) return *a.text() + *b.text();
  if (sign == "+" && a.sequence() && b.sequence() && a.sequence()->is_tuple == b.sequence()->is_tuple) {
    std::vector<Value> items = a.sequence()->items;
    items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
    return make_list(std::move(items), a.sequence()->is_tuple);
  }
  if (sign == "*" && (a.text() || a.sequence()) && b.is_number()) return repeated(a, to_integer(b));
  if (sign == "*" && (b.text() || b.sequence()) && a.is_number()) return repeated(b, to_integer(a));
  fail(text::cat("'", sign, "' of values of the types ", type_name(a), " and ", type_name(b)));
}

}  // namespace

Value apply_operator(std::string_view sign, const Value& a, const Value& b) {
  if (sign == "~") return to_text(a) + to_text(b);
  if (sign == "==") return equal(a, b);
  if (sign == "!=") return !equal(a, b);
  if (sign == "in") return contains(b, a);
  if (sign == "not in") return !contains(b, a);
  if (sign == "<") return compare(a, b) < 0;
  if (sign == "<=") return compare(a, b) <= 0;
  if (sign == ">") return compare(a, b) > 0;
  if (sign == ">=") return compare(a, b) >= 0;
  return arithmetic(sign, a, b);
}

}  // namespace fulgurite::chat
