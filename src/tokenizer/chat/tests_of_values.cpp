#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"
#include "tokenizer/chat/strings.h"

namespace fulgurite::chat {

namespace {

const Value& argument(const Arguments& given, std::string_view test) {
  if (given.positional.empty()) fail(text::cat("the test '", test, "' needs a value"));
  return given.positional[0];
}

int64_t modulo(const Value& value, int64_t by) {
  if (by == 0) fail("division by zero");
  return to_integer(value) % by;
}

bool is_same(const Value& a, const Value& b) {
  if (a.sequence() || b.sequence()) return a.sequence() == b.sequence();
  if (a.mapping() || b.mapping()) return a.mapping() == b.mapping();
  return type_name(a) == type_name(b) && equal(a, b);
}

using Test = bool (*)(const Value& value, const Arguments& given);
struct NamedTest {
  std::string_view name;
  Test holds;
};

const NamedTest tests[] = {
    {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"none", [](const Value& v, const Arguments&) { return v.is_none(); }},
    {"string", [](const Value& v, const Arguments&) { return v.text() != nullptr; }},
    {"mapping", [](const Value& v, const Arguments&) { return v.mapping() && !v.mapping()->is_namespace; }},
    {"iterable",
     [](const Value& v, const Arguments&) { return v.is_undefined() || v.text() || v.sequence() || v.mapping(); }},
    {"sequence",
     [](const Value& v, const Arguments&) { return v.is_undefined() || v.text() || v.sequence() || v.mapping(); }},
    {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
    {"integer", [](const Value& v, const Arguments&) { return v.get<int64_t>() != nullptr; }},
    {"float", [](const Value& v, const Arguments&) { return v.get<double>() != nullptr; }},
    {"boolean", [](const Value& v, const Arguments&) { return v.get<bool>() != nullptr; }},
    {"true", [](const Value& v, const Arguments&) { return v.get<bool>() && *v.get<bool>(); }},
    {"false", [](const Value& v, const Arguments&) { return v.get<bool>() && !*v.get<bool>(); }},
    {"callable", [](const Value& v, const Arguments&) { return v.function() != nullptr; }},
    {"odd", [](const Value& v, const Arguments&) { return modulo(v, 2) != 0; }},
    {"even", [](const Value& v, const Arguments&) { return modulo(v, 2) == 0; }},
    {"divisibleby",
     [](const Value& v, const Arguments& a) { return modulo(v, to_integer(argument(a, "divisibleby"))) == 0; }},
    {"eq", [](const Value& v, const Arguments& a) { return equal(v, argument(a, "eq")); }},
    {"ne", [](const Value& v, const Arguments& a) { return !equal(v, argument(a, "ne")); }},
    {"lt", [](const Value& v, const Arguments& a) { return compare(v, argument(a, "lt")) < 0; }},
    {"le", [](const Value& v, const Arguments& a) { return compare(v, argument(a, "le")) <= 0; }},
    {"gt", [](const Value& v, const Arguments& a) { return compare(v, argument(a, "gt")) > 0; }},
    {"ge", [](const Value& v, const Arguments& a) { return compare(v, argument(a, "ge")) >= 0; }},
    {"in", [](const Value& v, const Arguments& a) { return contains(argument(a, "in"), v); }},
    {"sameas", [](const Value& v, const Arguments& a) { return is_same(v, argument(a, "sameas")); }},
    {"lower", [](const Value& v,
                 const Arguments&) { return lower(to_text(v)) == to_text(v) && upper(to_text(v)) != to_text(v); }},
    {"upper", [](const Value& v,
                 const Arguments&) { return upper(to_text(v)) == to_text(v) && lower(to_text(v)) != to_text(v); }},
};

struct OtherName {
  std::string_view name, of;
};
constexpr OtherName other_names[] = {{"equalto", "eq"},     {"==", "eq"}, {"!=", "ne"},
                                     {"lessthan", "lt"},    {"<", "lt"},  {"<=", "le"},
                                     {"greaterthan", "gt"}, {">", "gt"},  {">=", "ge"}};

}  // namespace

namespace {

const NamedTest* find_test(std::string_view name) {
  for (const OtherName& other : other_names)
    if (other.name == name) name = other.of;
  for (const NamedTest& test : tests)
    if (test.name == name) return &test;
  return nullptr;
}

}  // namespace

bool has_test(std::string_view name) { return find_test(name) != nullptr; }

bool apply_test(std::string_view name, const Value& value, const Arguments& arguments) {
  if (const NamedTest* test = find_test(name)) return test->holds(value, arguments);
  fail(text::cat("the test '", printable(name), "' is not supported"));
}

}  // namespace fulgurite::chat
