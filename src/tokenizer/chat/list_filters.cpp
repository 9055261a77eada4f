#include "tokenizer/chat/list_filters.h"

#include <algorithm>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"
#include "tokenizer/chat/strings.h"

namespace fulgurite::chat {

namespace {

// "a.b.0" of a value.
Value attribute_at(Value value, std::string_view path) {
  for (const std::string& part : split(path, ".", -1)) {
    const bool is_index = !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == std::string::npos;
    value = is_index ? item_of(value, static_cast<int64_t>(std::stol(part))) : item_of(value, part);
  }
  return value;
}

Arguments without_first(const Arguments& given, size_t count) {
  Arguments out = given;
  out.positional.erase(out.positional.begin(),
                       out.positional.begin() + static_cast<std::ptrdiff_t>(std::min(count, out.positional.size())));
  return out;
}

Value first_or_last(const Value& value, bool is_first) {
  const std::vector<Value> items = items_of(value);
  if (items.empty()) return Undefined{is_first ? "the first item of an empty list" : "the last item of an empty list"};
  return is_first ? items.front() : items.back();
}

// Items for which a test holds, of themselves or of an attribute. Without a test the values count.
Value selected(const Value& value, const Arguments& given, bool has_attribute, bool is_kept) {
  const size_t test_at = has_attribute ? 1 : 0;
  if (has_attribute && (given.positional.empty() || !given.positional[0].text()))
    fail("the name of an attribute is missing");
  const Arguments rest = without_first(given, test_at + 1);
  std::vector<Value> out;
  for (const Value& item : items_of(value)) {
    const Value tested = has_attribute ? attribute_at(item, *given.positional[0].text()) : item;
    const bool holds = given.positional.size() > test_at ? apply_test(to_text(given.positional[test_at]), tested, rest)
                                                         : is_true(tested);
    if (holds == is_kept) out.push_back(item);
  }
  return make_list(std::move(out));
}

Value mapped(const Value& value, const Arguments& given) {
  const Value attribute = argument(given, 99, "attribute", Value());
  std::vector<Value> out;
  for (const Value& item : items_of(value)) {
    if (attribute.is_none()) {
      if (given.positional.empty()) fail("the filter 'map' needs the name of a filter or of an attribute");
      out.push_back(apply_filter(to_text(given.positional[0]), item, without_first(given, 1)));
      continue;
    }
    Value found = attribute_at(item, to_text(attribute));
    if (found.is_undefined()) found = argument(given, 99, "default", found);
    out.push_back(std::move(found));
  }
  return make_list(std::move(out));
}

Value joined(const Value& value, const Arguments& given) {
  const std::string separator = to_text(argument(given, 0, "d", Value("")));
  const Value attribute = argument(given, 1, "attribute", Value());
  std::string out;
  bool is_first = true;
  for (const Value& item : items_of(value)) {
    out += (is_first ? "" : separator) + to_text(attribute.is_none() ? item : attribute_at(item, to_text(attribute)));
    is_first = false;
  }
  return out;
}

// A key of sorting: texts without case, unless the caller wants it.
Value sort_key(const Value& value, bool has_case) {
  return value.text() && !has_case ? Value(lower(*value.text())) : value;
}

Value sorted(const Value& value, const Arguments& given) {
  const bool is_reversed = is_true(argument(given, 0, "reverse", Value(false)));
  const bool has_case = is_true(argument(given, 1, "case_sensitive", Value(false)));
  const Value attribute = argument(given, 2, "attribute", Value());
  std::vector<Value> items = items_of(value);
  const auto key = [&](const Value& item) {
    return sort_key(attribute.is_none() ? item : attribute_at(item, to_text(attribute)), has_case);
  };
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return is_reversed ? compare(key(b), key(a)) < 0 : compare(key(a), key(b)) < 0;
  });
  return make_list(std::move(items));
}

Value sorted_entries(const Value& value, const Arguments& given) {
  if (!value.mapping())
    fail(text::cat("the filter 'dictsort' needs a dictionary, not a value of the type ", type_name(value)));
  const bool has_case = is_true(argument(given, 0, "case_sensitive", Value(false)));
  const bool by_value = to_text(argument(given, 1, "by", Value("key"))) == "value";
  const bool is_reversed = is_true(argument(given, 2, "reverse", Value(false)));
  auto entries = value.mapping()->entries;
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
    const Value x = sort_key(by_value ? a.second : Value(a.first), has_case),
                y = sort_key(by_value ? b.second : Value(b.first), has_case);
    return is_reversed ? compare(y, x) < 0 : compare(x, y) < 0;
  });
  std::vector<Value> out;
  for (const auto& [name, entry] : entries) out.push_back(make_list({Value(name), entry}, true));
  return make_list(std::move(out));
}

Value reversed(const Value& value) {
  std::vector<Value> items = items_of(value);
  std::reverse(items.begin(), items.end());
  if (!value.text()) return make_list(std::move(items));
  std::string out;
  for (const Value& item : items) out += *item.text();
  return out;
}

Value unique(const Value& value, const Arguments& given) {
  const bool has_case = is_true(argument(given, 0, "case_sensitive", Value(false)));
  std::vector<Value> out;
  for (const Value& item : items_of(value))
    if (std::none_of(out.begin(), out.end(),
                     [&](const Value& other) { return equal(sort_key(other, has_case), sort_key(item, has_case)); }))
      out.push_back(item);
  return make_list(std::move(out));
}

Value extreme(const Value& value, bool is_largest) {
  const std::vector<Value> items = items_of(value);
  if (items.empty()) return Undefined{"the extremum of an empty list"};
  Value out = items[0];
  for (const Value& item : items)
    if (is_largest ? compare(item, out) > 0 : compare(item, out) < 0) out = item;
  return out;
}

Value total(const Value& value, const Arguments& given) {
  const Value attribute = argument(given, 0, "attribute", Value());
  Value out = argument(given, 1, "start", Value(0));
  for (const Value& item : items_of(value))
    out = apply_operator("+", out, attribute.is_none() ? item : attribute_at(item, to_text(attribute)));
  return out;
}

Value entries_of(const Value& value) {
  if (value.is_undefined()) return make_list({});
  if (!value.mapping())
    fail(text::cat("the filter 'items' needs a dictionary, not a value of the type ", type_name(value)));
  std::vector<Value> out;
  for (const auto& [name, entry] : value.mapping()->entries) out.push_back(make_list({Value(name), entry}, true));
  return make_list(std::move(out));
}

Value batched(const Value& value, const Arguments& given) {
  const int64_t size = to_integer(argument(given, 0, "linecount", Value(0)));
  if (size < 1) fail("the filter 'batch' needs a positive number");
  const Value filler = argument(given, 1, "fill_with", Value());
  std::vector<Value> out, part;
  for (const Value& item : items_of(value)) {
    if (static_cast<int64_t>(part.size()) == size) out.push_back(make_list(std::exchange(part, {})));
    part.push_back(item);
  }
  while (!filler.is_none() && !part.empty() && static_cast<int64_t>(part.size()) < size) part.push_back(filler);
  if (!part.empty()) out.push_back(make_list(std::move(part)));
  return make_list(std::move(out));
}

struct NamedFilter {
  std::string_view name;
  Filter apply;
};

const NamedFilter filters[] = {
    {"join", joined},
    {"items", [](const Value& v, const Arguments&) { return entries_of(v); }},
    {"list", [](const Value& v, const Arguments&) { return make_list(items_of(v)); }},
    {"first", [](const Value& v, const Arguments&) { return first_or_last(v, true); }},
    {"last", [](const Value& v, const Arguments&) { return first_or_last(v, false); }},
    {"select", [](const Value& v, const Arguments& a) { return selected(v, a, false, true); }},
    {"reject", [](const Value& v, const Arguments& a) { return selected(v, a, false, false); }},
    {"selectattr", [](const Value& v, const Arguments& a) { return selected(v, a, true, true); }},
    {"rejectattr", [](const Value& v, const Arguments& a) { return selected(v, a, true, false); }},
    {"map", mapped},
    {"sort", sorted},
    {"dictsort", sorted_entries},
    {"reverse", [](const Value& v, const Arguments&) { return reversed(v); }},
    {"unique", unique},
    {"max", [](const Value& v, const Arguments&) { return extreme(v, true); }},
    {"min", [](const Value& v, const Arguments&) { return extreme(v, false); }},
    {"sum", total},
    {"batch", batched},
    {"attr",
     [](const Value& v, const Arguments& a) { return attribute_of(v, to_text(argument(a, 0, "name", Value("")))); }},
};

}  // namespace

Filter find_list_filter(std::string_view name) {
  for (const NamedFilter& filter : filters)
    if (filter.name == name) return filter.apply;
  return nullptr;
}

}  // namespace fulgurite::chat
