#include "tokenizer/chat/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::chat {

const Value* Mapping::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

void Mapping::set(std::string_view key, Value value) {
  for (auto& [name, old] : entries)
    if (name == key) {
      old = std::move(value);
      return;
    }
  entries.emplace_back(key, std::move(value));
}

Value make_list(std::vector<Value> items, bool is_tuple) {
  return std::make_shared<Sequence>(Sequence{std::move(items), is_tuple});
}
Value make_mapping(std::vector<std::pair<std::string, Value>> entries, bool is_namespace) {
  return std::make_shared<Mapping>(Mapping{std::move(entries), is_namespace});
}
Value make_function(Function function) { return std::make_shared<const Function>(std::move(function)); }

Value from_json(const json::Node& node) {
  using Kind = json::Node::Kind;
  switch (node.kind) {
    case Kind::null: return None();
    case Kind::boolean: return node.boolean;
    case Kind::integer: return node.integer;
    case Kind::floating: return node.floating;
    case Kind::string: return node.string;
    case Kind::array: {
      std::vector<Value> items;
      for (const json::Node& item : node.items) items.push_back(from_json(item));
      return make_list(std::move(items));
    }
    case Kind::object: break;
  }
  std::vector<std::pair<std::string, Value>> entries;
  for (const json::Member& member : node.members) entries.emplace_back(member.name, from_json(member.value));
  return make_mapping(std::move(entries));
}

void fail(const std::string& message) { throw UserError(message); }

std::string_view type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.get<bool>()) return "bool";
  if (value.get<int64_t>()) return "int";
  if (value.get<double>()) return "float";
  if (value.text()) return "str";
  if (const Sequence* sequence = value.sequence()) return sequence->is_tuple ? "tuple" : "list";
  return value.mapping() ? "dict" : "function";
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_number()) return to_number(value) != 0;
  if (const std::string* text = value.text()) return !text->empty();
  if (const Sequence* sequence = value.sequence()) return !sequence->items.empty();
  if (const Mapping* mapping = value.mapping()) return mapping->is_namespace || !mapping->entries.empty();
  return true;
}

namespace {

bool equal_mappings(const Mapping& a, const Mapping& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && equal(entry.second, *other);
  });
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (!a.get<double>() && !b.get<double>()) return to_integer(a) == to_integer(b);
    return to_number(a) == to_number(b);
  }
  if (a.text() && b.text()) return *a.text() == *b.text();
  const Sequence *x = a.sequence(), *y = b.sequence();
  if (x && y)
    return x->is_tuple == y->is_tuple &&
           std::equal(x->items.begin(), x->items.end(), y->items.begin(), y->items.end(), equal);
  if (a.mapping() && b.mapping()) return equal_mappings(*a.mapping(), *b.mapping());
  if (a.function() && b.function()) return a.function() == b.function();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

int compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const double x = to_number(a), y = to_number(b);
    return x < y ? -1 : x > y;
  }
  if (a.text() && b.text()) return a.text()->compare(*b.text());
  const Sequence *x = a.sequence(), *y = b.sequence();
  if (x && y) {
    for (size_t i = 0; i < std::min(x->items.size(), y->items.size()); ++i)
      if (!equal(x->items[i], y->items[i])) return compare(x->items[i], y->items[i]);
    return x->items.size() < y->items.size() ? -1 : x->items.size() > y->items.size();
  }
  fail(text::cat("values of the types ", type_name(a), " and ", type_name(b), " have no order"));
}

double to_number(const Value& value) {
  if (const double* number = value.get<double>()) return *number;
  return static_cast<double>(to_integer(value));
}

int64_t to_integer(const Value& value) {
  if (const bool* flag = value.get<bool>()) return *flag;
  if (const int64_t* number = value.get<int64_t>()) return *number;
  if (const auto* undefined = value.get<Undefined>())
    fail(text::cat("'", printable(undefined->name), "' is undefined"));
  fail(text::cat("a number is needed, not a value of the type ", type_name(value)));
}

namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[40];
  const double size = std::abs(value);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string out(text, end.ptr);
  return is_plain && out.find('.') == std::string::npos ? out + ".0" : out;
}

// With the quotes that need no escapes, as Python.
std::string quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos,
             has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else out += c;
  }
  return out + quote;
}

std::string sequence_text(const Sequence& sequence) {
  std::string out = sequence.is_tuple ? "(" : "[";
  for (size_t i = 0; i < sequence.items.size(); ++i) out += (i ? ", " : "") + to_representation(sequence.items[i]);
  if (sequence.is_tuple) return out + (sequence.items.size() == 1 ? ",)" : ")");
  return out + "]";
}

std::string mapping_text(const Mapping& mapping) {
  if (mapping.is_namespace) return "<Namespace>";
  std::string out = "{";
  for (const auto& [key, value] : mapping.entries)
    out += text::cat(out.size() > 1 ? ", " : "", quoted(key), ": ", to_representation(value));
  return out + "}";
}

}  // namespace

std::string to_text(const Value& value) {
  if (const std::string* text = value.text()) return *text;
  return value.is_undefined() ? "" : to_representation(value);
}

std::string to_representation(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "None";
  if (const bool* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (const int64_t* number = value.get<int64_t>()) return std::to_string(*number);
  if (const double* number = value.get<double>()) return float_text(*number);
  if (const std::string* text = value.text()) return quoted(*text);
  if (const Sequence* sequence = value.sequence()) return sequence_text(*sequence);
  if (const Mapping* mapping = value.mapping()) return mapping_text(*mapping);
  return "<function>";
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (next_code_point(text, at) < 0) ++at;
    out.push_back(text.substr(begin, at - begin));
  }
  return out;
}

std::vector<Value> items_of(const Value& value) {
  std::vector<Value> out;
  if (value.is_undefined()) return out;
  if (const Sequence* sequence = value.sequence()) return sequence->items;
  if (const Mapping* mapping = value.mapping(); mapping && !mapping->is_namespace) {
    for (const auto& [key, entry] : mapping->entries) out.emplace_back(key);
    return out;
  }
  if (value.text() == nullptr) fail(text::cat("a value of the type ", type_name(value), " cannot be iterated"));
  for (const std::string_view character : characters(*value.text())) out.emplace_back(std::string(character));
  return out;
}

namespace {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (c == '\b') out += "\\b";
    else if (c == '\f') out += "\\f";
    else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* digits = "0123456789abcdef";
      out += text::cat("\\u00", std::string(1, digits[c >> 4]), std::string(1, digits[c & 15]));
    } else out += c;
  }
  return out + '"';
}

// The parts of a list or an object between its brackets.
std::string json_parts(const std::vector<std::string>& parts, char open, char close, int64_t indent, int64_t depth) {
  std::string out(1, open);
  const auto new_line = [&](int64_t level) { return "\n" + std::string(static_cast<size_t>(indent * level), ' '); };
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += indent < 0 ? ", " : ",";
    if (indent >= 0) out += new_line(depth + 1);
    out += parts[i];
  }
  if (indent >= 0 && !parts.empty()) out += new_line(depth);
  return out + close;
}

std::string json_text(const Value& value, int64_t indent, int64_t depth) {
  std::vector<std::string> parts;
  if (value.is_none()) return "null";
  if (const bool* flag = value.get<bool>()) return *flag ? "true" : "false";
  if (const std::string* text = value.text()) return json_string(*text);
  if (value.is_number()) return to_representation(value);
  if (const Sequence* sequence = value.sequence()) {
    for (const Value& item : sequence->items) parts.push_back(json_text(item, indent, depth + 1));
    return json_parts(parts, '[', ']', indent, depth);
  }
  const Mapping* mapping = value.mapping();
  if (mapping == nullptr || mapping->is_namespace)
    fail(text::cat("a value of the type ", type_name(value), " has no JSON text"));
  for (const auto& [key, entry] : mapping->entries)
    parts.push_back(json_string(key) + ": " + json_text(entry, indent, depth + 1));
  return json_parts(parts, '{', '}', indent, depth);
}

}  // namespace

std::string to_json(const Value& value, int64_t indent) { return json_text(value, indent, 0); }

}  // namespace fulgurite::chat
