#include <algorithm>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"
#include "tokenizer/chat/strings.h"

namespace fulgurite::chat {

namespace {

const std::string& text_at(const Arguments& given, size_t i, std::string_view method) {
  if (i >= given.positional.size() || !given.positional[i].text()) fail(text::cat(method, "() needs a text"));
  return *given.positional[i].text();
}

// An optional text; none for None.
std::optional<std::string> optional_text(const Arguments& given, size_t i, std::string_view method) {
  if (i >= given.positional.size() || given.positional[i].is_none()) return std::nullopt;
  return text_at(given, i, method);
}

int64_t integer_at(const Arguments& given, size_t i, int64_t otherwise) {
  return i < given.positional.size() ? to_integer(given.positional[i]) : otherwise;
}

// The texts of an argument that is a text or a tuple of texts.
bool any_text(const Arguments& given, std::string_view method, const std::function<bool(const std::string&)>& holds) {
  const Sequence* several = given.positional.empty() ? nullptr : given.positional[0].sequence();
  if (several == nullptr) return holds(text_at(given, 0, method));
  return std::any_of(several->items.begin(), several->items.end(),
                     [&](const Value& item) { return item.text() != nullptr && holds(*item.text()); });
}

Value list_of(const std::vector<std::string>& texts) {
  return make_list(std::vector<Value>(texts.begin(), texts.end()));
}

// "{} and {name}".format(…), without conversions.
std::string formatted(const std::string& format, const Arguments& given) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const bool is_doubled = i + 1 < format.size() && format[i + 1] == format[i];
    if ((format[i] == '{' || format[i] == '}') && is_doubled) {
      out += format[i++];
      continue;
    }
    if (format[i] != '{') {
      out += format[i];
      continue;
    }
    const size_t end = format.find('}', i);
    if (end == std::string::npos) fail("a format has a '{' without '}'");
    const std::string field = format.substr(i + 1, end - i - 1);
    i = end;
    const bool is_position =
        !field.empty() && field.find_first_not_of("0123456789") == std::string::npos && field.size() < 9;
    if (field.empty() || is_position) {
      const size_t at = field.empty() ? next++ : static_cast<size_t>(std::stoul(field));
      if (at >= given.positional.size()) fail("a format has more places than there are values");
      out += to_text(given.positional[at]);
      continue;
    }
    const auto named =
        std::find_if(given.named.begin(), given.named.end(), [&](const auto& entry) { return entry.first == field; });
    if (named == given.named.end())
      fail(text::cat("a format has the place '", printable(field), "', which is not supported"));
    out += to_text(named->second);
  }
  return out;
}

int64_t position_of(const std::string& text, size_t byte) {
  return byte == std::string::npos ? -1
                                   : static_cast<int64_t>(characters(std::string_view(text).substr(0, byte)).size());
}

using TextMethod = Value (*)(const std::string& self, const Arguments& given);
struct NamedMethod {
  std::string_view name;
  TextMethod call;
};

const NamedMethod text_methods[] = {
    {"strip",
     [](const std::string& s, const Arguments& a) -> Value {
       return strip(s, optional_text(a, 0, "strip"), true, true);
     }},
    {"lstrip",
     [](const std::string& s, const Arguments& a) -> Value {
       return strip(s, optional_text(a, 0, "lstrip"), true, false);
     }},
    {"rstrip",
     [](const std::string& s, const Arguments& a) -> Value {
       return strip(s, optional_text(a, 0, "rstrip"), false, true);
     }},
    {"upper", [](const std::string& s, const Arguments&) -> Value { return upper(s); }},
    {"lower", [](const std::string& s, const Arguments&) -> Value { return lower(s); }},
    {"title", [](const std::string& s, const Arguments&) -> Value { return title(s); }},
    {"capitalize", [](const std::string& s, const Arguments&) -> Value { return capitalize(s); }},
    {"startswith",
     [](const std::string& s, const Arguments& a) -> Value {
       return any_text(a, "startswith", [&](const std::string& x) { return s.starts_with(x); });
     }},
    {"endswith",
     [](const std::string& s, const Arguments& a) -> Value {
       return any_text(a, "endswith", [&](const std::string& x) { return s.ends_with(x); });
     }},
    {"replace",
     [](const std::string& s, const Arguments& a) -> Value {
       return replace(s, text_at(a, 0, "replace"), text_at(a, 1, "replace"), integer_at(a, 2, -1));
     }},
    {"split",
     [](const std::string& s, const Arguments& a) -> Value {
       return list_of(split(s, optional_text(a, 0, "split"), integer_at(a, 1, -1)));
     }},
    {"rsplit",
     [](const std::string& s, const Arguments& a) -> Value {
       return list_of(split_from_end(s, optional_text(a, 0, "rsplit"), integer_at(a, 1, -1)));
     }},
    {"splitlines", [](const std::string& s, const Arguments&) -> Value { return list_of(split_lines(s)); }},
    {"join",
     [](const std::string& s, const Arguments& a) -> Value {
       std::string out;
       bool is_first = true;
       for (const Value& item : items_of(a.positional.empty() ? Value() : a.positional[0])) {
         if (!item.text()) fail("join() needs texts");
         out += (is_first ? "" : s) + *item.text();
         is_first = false;
       }
       return out;
     }},
    {"find",
     [](const std::string& s, const Arguments& a) -> Value { return position_of(s, s.find(text_at(a, 0, "find"))); }},
    {"rfind",
     [](const std::string& s, const Arguments& a) -> Value { return position_of(s, s.rfind(text_at(a, 0, "rfind"))); }},
    {"index",
     [](const std::string& s, const Arguments& a) -> Value {
       const size_t at = s.find(text_at(a, 0, "index"));
       if (at == std::string::npos) fail("index(): the text is not found");
       return position_of(s, at);
     }},
    {"count",
     [](const std::string& s, const Arguments& a) -> Value {
       const std::string& part = text_at(a, 0, "count");
       return static_cast<int64_t>(split(s, part, -1).size()) - 1;
     }},
    {"isdigit",
     [](const std::string& s, const Arguments&) -> Value {
       return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos;
     }},
    {"removeprefix",
     [](const std::string& s, const Arguments& a) -> Value {
       const std::string& part = text_at(a, 0, "removeprefix");
       return s.starts_with(part) ? s.substr(part.size()) : s;
     }},
    {"removesuffix",
     [](const std::string& s, const Arguments& a) -> Value {
       const std::string& part = text_at(a, 0, "removesuffix");
       return s.ends_with(part) ? s.substr(0, s.size() - part.size()) : s;
     }},
    {"format", [](const std::string& s, const Arguments& a) -> Value { return formatted(s, a); }},
};

std::optional<Value> mapping_method(const Value& value, std::string_view name) {
  const Mapping& mapping = *value.mapping();
  if (mapping.is_namespace) return std::nullopt;
  const auto listed = [&](const std::function<Value(const std::pair<std::string, Value>&)>& part) {
    return make_function([value, part](const Arguments&) {
      std::vector<Value> out;
      for (const auto& entry : value.mapping()->entries) out.push_back(part(entry));
      return make_list(std::move(out));
    });
  };
  if (name == "items")
    return listed([](const auto& entry) { return make_list({Value(entry.first), entry.second}, true); });
  if (name == "keys") return listed([](const auto& entry) { return Value(entry.first); });
  if (name == "values") return listed([](const auto& entry) { return entry.second; });
  if (name == "copy")
    return make_function([value](const Arguments&) { return make_mapping(value.mapping()->entries); });
  if (name != "get") return std::nullopt;
  return make_function([value](const Arguments& given) {
    const Value* entry = given.positional.empty() || !given.positional[0].text()
                             ? nullptr
                             : value.mapping()->find(*given.positional[0].text());
    if (entry != nullptr) return *entry;
    return given.positional.size() > 1 ? given.positional[1] : Value();
  });
}

std::optional<Value> sequence_method(const Value& value, std::string_view name) {
  if (name != "index" && name != "count") return std::nullopt;
  return make_function([value, is_count = name == "count"](const Arguments& given) -> Value {
    if (given.positional.empty()) fail("index() and count() need a value");
    int64_t count = 0;
    const std::vector<Value>& items = value.sequence()->items;
    for (size_t i = 0; i < items.size(); ++i)
      if (equal(items[i], given.positional[0])) {
        if (!is_count) return static_cast<int64_t>(i);
        ++count;
      }
    if (!is_count) fail("index(): the value is not in the list");
    return count;
  });
}

}  // namespace

std::optional<Value> method_of(const Value& value, std::string_view name) {
  if (value.mapping()) return mapping_method(value, name);
  if (value.sequence()) {
    if (name == "append" || name == "insert" || name == "extend" || name == "pop" || name == "remove" || name == "sort")
      fail(text::cat("lists cannot be changed by ", name, "(); use + and a namespace"));
    return sequence_method(value, name);
  }
  if (!value.text()) return std::nullopt;
  for (const NamedMethod& method : text_methods)
    if (method.name == name)
      return make_function(
          [text = *value.text(), call = method.call](const Arguments& given) { return call(text, given); });
  return std::nullopt;
}

}  // namespace fulgurite::chat
