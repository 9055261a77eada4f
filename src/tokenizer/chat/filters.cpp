#include <algorithm>
#include <charconv>
#include <cmath>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"
#include "tokenizer/chat/list_filters.h"
#include "tokenizer/chat/strings.h"

namespace fulgurite::chat {

namespace {

const std::string& needed_text(const Value& value, std::string_view filter) {
  if (value.is_undefined()) fail(text::cat("'", printable(value.get<Undefined>()->name), "' is undefined"));
  if (!value.text())
    fail(text::cat("the filter '", filter, "' needs a text, not a value of the type ", type_name(value)));
  return *value.text();
}

Value length(const Value& value, const Arguments&) {
  if (value.text() || value.sequence() || value.mapping() || value.is_undefined())
    return static_cast<int64_t>(items_of(value).size());
  fail(text::cat("a value of the type ", type_name(value), " has no length"));
}

Value with_default(const Value& value, const Arguments& given) {
  const Value otherwise = argument(given, 0, "default_value", Value(""));
  const bool counts_false = is_true(argument(given, 1, "boolean", Value(false)));
  return value.is_undefined() || (counts_false && !is_true(value)) ? otherwise : value;
}

Value to_json_text(const Value& value, const Arguments& given) {
  const Value indent = argument(given, 0, "indent", Value());
  return to_json(value, indent.is_none() ? -1 : to_integer(indent));
}

Value to_int(const Value& value, const Arguments& given) {
  if (value.is_number()) return static_cast<int64_t>(to_number(value));
  int64_t out = 0;
  if (const std::string* text = value.text()) {
    const std::string trimmed = strip(*text, {}, true, true);
    double floating = 0;
    const char* end = trimmed.data() + trimmed.size();
    if (const auto read = std::from_chars(trimmed.data(), end, out); read.ec == std::errc() && read.ptr == end)
      return out;
    const auto read = std::from_chars(trimmed.data(), end, floating);
    if (read.ec == std::errc() && read.ptr == end && std::abs(floating) < 9e18) return static_cast<int64_t>(floating);
  }
  return argument(given, 0, "default", Value(0));
}

Value to_float(const Value& value, const Arguments& given) {
  if (value.is_number()) return to_number(value);
  double out = 0;
  if (const std::string* text = value.text()) {
    const std::string trimmed = strip(*text, {}, true, true);
    const char* end = trimmed.data() + trimmed.size();
    if (const auto read = std::from_chars(trimmed.data(), end, out); read.ec == std::errc() && read.ptr == end)
      return out;
  }
  return argument(given, 0, "default", Value(0.0));
}

Value absolute(const Value& value, const Arguments&) {
  if (const double* number = value.get<double>()) return std::abs(*number);
  const int64_t number = to_integer(value);
  return number < 0 ? -number : number;
}

Value rounded(const Value& value, const Arguments& given) {
  const int64_t digits = to_integer(argument(given, 0, "precision", Value(0)));
  const std::string method = to_text(argument(given, 1, "method", Value("common")));
  const double scale = std::pow(10.0, static_cast<double>(digits)), scaled = to_number(value) * scale;
  if (method == "ceil") return std::ceil(scaled) / scale;
  if (method == "floor") return std::floor(scaled) / scale;
  return std::nearbyint(scaled) / scale;
}

Value indented(const Value& value, const Arguments& given) {
  const Value width = argument(given, 0, "width", Value(4));
  const bool first = is_true(argument(given, 1, "first", Value(false)));
  const bool blank = is_true(argument(given, 2, "blank", Value(false)));
  const std::string indent =
      width.text() ? *width.text()
                   : std::string(static_cast<size_t>(std::clamp<int64_t>(to_integer(width), 0, 1000)), ' ');
  std::string out;
  const std::vector<std::string> lines = split(needed_text(value, "indent"), "\n", -1);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if ((i > 0 || first) && (blank || !lines[i].empty() || (i == 0 && first))) out += indent;
    out += lines[i];
  }
  return out;
}

Value escaped(const Value& value, const Arguments&) {
  std::string out;
  for (const char c : to_text(value)) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '\'') out += "&#39;";
    else if (c == '"') out += "&#34;";
    else out += c;
  }
  return out;
}

struct NamedFilter {
  std::string_view name;
  Filter apply;
};

const NamedFilter filters[] = {
    {"tojson", to_json_text},
    {"length", length},
    {"count", length},
    {"default", with_default},
    {"d", with_default},
    {"string", [](const Value& v, const Arguments&) -> Value { return to_text(v); }},
    {"safe", [](const Value& v, const Arguments&) -> Value { return to_text(v); }},
    {"trim",
     [](const Value& v, const Arguments& a) -> Value {
       const Value removed = argument(a, 0, "chars", Value());
       return strip(to_text(v), removed.text() ? std::optional(*removed.text()) : std::nullopt, true, true);
     }},
    {"upper", [](const Value& v, const Arguments&) -> Value { return upper(to_text(v)); }},
    {"lower", [](const Value& v, const Arguments&) -> Value { return lower(to_text(v)); }},
    {"capitalize", [](const Value& v, const Arguments&) -> Value { return capitalize(to_text(v)); }},
    {"title", [](const Value& v, const Arguments&) -> Value { return title_words(to_text(v)); }},
    {"replace",
     [](const Value& v, const Arguments& a) -> Value {
       const Value most = argument(a, 2, "count", Value());
       return replace(to_text(v), to_text(argument(a, 0, "old", Value(""))), to_text(argument(a, 1, "new", Value(""))),
                      most.is_none() ? -1 : to_integer(most));
     }},
    {"indent", indented},
    {"escape", escaped},
    {"e", escaped},
    {"wordcount",
     [](const Value& v, const Arguments&) -> Value { return static_cast<int64_t>(split(to_text(v), {}, -1).size()); }},
    {"int", to_int},
    {"float", to_float},
    {"abs", absolute},
    {"round", rounded},
    {"format",
     [](const Value& v, const Arguments& a) -> Value { return apply_operator("%", v, make_list(a.positional, true)); }},
};

}  // namespace

Value argument(const Arguments& given, size_t position, std::string_view name, const Value& otherwise) {
  if (position < given.positional.size()) return given.positional[position];
  for (const auto& [key, value] : given.named)
    if (key == name) return value;
  return otherwise;
}

namespace {

Filter find_filter(std::string_view name) {
  for (const NamedFilter& filter : filters)
    if (filter.name == name) return filter.apply;
  return find_list_filter(name);
}

}  // namespace

bool has_filter(std::string_view name) { return find_filter(name) != nullptr; }

Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments) {
  if (const Filter filter = find_filter(name)) return filter(value, arguments);
  fail(text::cat("the filter '", printable(name), "' is not supported"));
}

}  // namespace fulgurite::chat
