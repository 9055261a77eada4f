#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/json.h"

namespace fulgurite::chat {

class Value;

/// The value of a name or an attribute that there is not.
struct Undefined {
  std::string name;
};
struct None {};
/// A list, or a tuple.
struct Sequence {
  std::vector<Value> items;
  bool is_tuple = false;
};
/// A dictionary with its insertion order, or a namespace, whose attributes a template may set.
struct Mapping {
  std::vector<std::pair<std::string, Value>> entries;
  bool is_namespace = false;
  const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
};
/// The arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};
using Function = std::function<Value(const Arguments&)>;

/// A value of a template, as Python has them. Copies share lists and dictionaries.
class Value {
 public:
  using Variant = std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<Sequence>,
                               std::shared_ptr<Mapping>, std::shared_ptr<const Function>>;
  Value() : value_(None()) {}
  template <class T>
  Value(T value) : value_(std::move(value)) {}
  Value(const char* text) : value_(std::string(text)) {}
  Value(int value) : value_(int64_t{value}) {}

  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_);
  }
  bool is_undefined() const { return get<Undefined>() != nullptr; }
  bool is_none() const { return get<None>() != nullptr; }
  bool is_number() const { return get<bool>() || get<int64_t>() || get<double>(); }
  const std::string* text() const { return get<std::string>(); }
  Sequence* sequence() const { return pointer<Sequence>(); }
  Mapping* mapping() const { return pointer<Mapping>(); }
  const Function* function() const {
    const auto* held = get<std::shared_ptr<const Function>>();
    return held ? held->get() : nullptr;
  }

 private:
  template <class T>
  T* pointer() const {
    const auto* held = get<std::shared_ptr<T>>();
    return held ? held->get() : nullptr;
  }
  Variant value_;
};

Value make_list(std::vector<Value> items, bool is_tuple = false);
Value make_mapping(std::vector<std::pair<std::string, Value>> entries, bool is_namespace = false);
Value make_function(Function function);
/// The value of a parsed JSON text.
Value from_json(const json::Node& node);

/// Python's name of the type: "str", "list", …
std::string_view type_name(const Value& value);
bool is_true(const Value& value);
bool equal(const Value& a, const Value& b);
/// Negative, zero or positive; UserError for values that have no order.
int compare(const Value& a, const Value& b);
/// A number as an f64; booleans count as 0 and 1. UserError for others.
double to_number(const Value& value);
/// An integer; booleans count. UserError for others.
int64_t to_integer(const Value& value);
/// Python's str() and repr(). Undefined values are empty.
std::string to_text(const Value& value);
std::string to_representation(const Value& value);
/// The items of a list, the keys of a dictionary, the characters of a text; nothing for undefined values. UserError for
/// others.
std::vector<Value> items_of(const Value& value);
/// json.dumps without escaping of characters; `indent` below 0: on one line.
std::string to_json(const Value& value, int64_t indent = -1);

/// The code points of a text.
std::vector<std::string_view> characters(std::string_view text);
[[noreturn]] void fail(const std::string& message);

}  // namespace fulgurite::chat
