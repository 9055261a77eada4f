#include <ctime>

#include "support/text/text.h"
#include "tokenizer/chat/interpreter.h"
#include "tokenizer/chat/list_filters.h"

namespace fulgurite::chat {

namespace {

constexpr int64_t longest_range = 100'000;

Value range(const Arguments& given) {
  const std::vector<Value>& a = given.positional;
  if (a.empty() || a.size() > 3) fail("range() needs one to three numbers");
  const int64_t begin = a.size() > 1 ? to_integer(a[0]) : 0, end = to_integer(a[a.size() > 1 ? 1 : 0]);
  const int64_t step = a.size() > 2 ? to_integer(a[2]) : 1;
  if (step == 0) fail("the step of range() must not be 0");
  std::vector<Value> items;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    if (static_cast<int64_t>(items.size()) == longest_range)
      fail(text::cat("range() has more than ", longest_range, " numbers"));
    items.emplace_back(i);
  }
  return make_list(std::move(items));
}

Value make_dictionary(const Arguments& given, bool is_namespace) {
  Mapping out;
  if (!given.positional.empty() && given.positional[0].mapping()) out.entries = given.positional[0].mapping()->entries;
  for (const auto& [name, value] : given.named) out.set(name, value);
  return make_mapping(std::move(out.entries), is_namespace);
}

Value current_time(const Arguments& given) {
  const std::string format = to_text(argument(given, 0, "format", Value("%Y-%m-%d")));
  if (format.empty()) return "";
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char out[256];
  const size_t length = std::strftime(out, sizeof out, format.c_str(), &local);
  return std::string(out, length);
}

// A text that is empty at the first call.
Value joiner(const Arguments& given) {
  const Value separator = argument(given, 0, "sep", Value(", "));
  return make_function([separator, was_used = std::make_shared<bool>(false)](const Arguments&) -> Value {
    return std::exchange(*was_used, true) ? separator : Value("");
  });
}

}  // namespace

void add_functions(Scope& scope) {
  scope.values["range"] = make_function(range);
  scope.values["namespace"] = make_function([](const Arguments& given) { return make_dictionary(given, true); });
  scope.values["dict"] = make_function([](const Arguments& given) { return make_dictionary(given, false); });
  scope.values["strftime_now"] = make_function(current_time);
  scope.values["joiner"] = make_function(joiner);
  scope.values["raise_exception"] = make_function([](const Arguments& given) -> Value {
    fail(to_text(argument(given, 0, "message", Value("raise_exception() was called"))));
  });
}

}  // namespace fulgurite::chat
