#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/chat/syntax.h"

namespace fulgurite::chat {

/// Bounds of one rendering: a template that loops, or writes, without end is a UserError.
struct Limits {
  int64_t steps = 5'000'000;
  size_t output_bytes = size_t{64} << 20;
  int depth = 40;      // of calls of macros
  int nesting = 1500;  // of blocks and parts of expressions
};

/// Names and their values; those of outer scopes are visible in inner ones.
struct Scope {
  std::map<std::string, Value, std::less<>> values;
  Scope* parent = nullptr;
};

/// Runs a template.
class Interpreter {
 public:
  explicit Interpreter(const Limits& limits = {}) : limits_(limits) {}
  /// Returns the text that a template makes of these values.
  std::string render(const Block& block, Scope& scope);
  Value evaluate(const Expression& expression, Scope& scope);

 private:
  enum class Flow { normal, break_, continue_ };
  Flow run(const Block& block, Scope& scope, std::string& out);
  Flow run(const Statement& statement, Scope& scope, std::string& out);
  Flow run_if(const Statement& statement, Scope& scope, std::string& out);
  Flow run_for(const Statement& statement, Scope& scope, std::string& out);
  void run_with(const Statement& statement, Scope& scope, std::string& out);
  void run_call(const Statement& statement, Scope& scope, std::string& out);
  std::string text_of(const Block& block, Scope& scope);
  void assign(const std::vector<std::vector<std::string>>& names, const Value& value, Scope& scope);
  void assign(const std::vector<std::string>& name, const Value& value, Scope& scope);
  Value make_macro(const Statement& statement, Scope& scope);
  Value call_macro(const std::vector<Parameter>& parameters, const Block& body, Scope& scope, const Arguments& given);

  Value evaluate_plain(const Expression& expression, Scope& scope);
  Value lookup(std::string_view name, Scope& scope);
  Value list_of(const Expression& expression, Scope& scope, bool is_tuple);
  Value mapping_of(const Expression& expression, Scope& scope);
  Value call(const Expression& expression, Scope& scope);
  Value apply_filter(const Expression& expression, Scope& scope, const Value* input);
  Value binary(const Expression& expression, Scope& scope);
  Value conditional(const Expression& expression, Scope& scope);
  Value slice(const Expression& expression, Scope& scope);
  Arguments arguments_of(const CallArguments& given, Scope& scope);
  void count_step();
  /// Counts the blocks and expressions that are being evaluated.
  class Nested;
  void check_size(const std::string& out) const;

  Limits limits_;
  int64_t steps_ = 0;
  int depth_ = 0, nested_ = 0;
  std::deque<Scope> kept_;  // scopes that macros may refer to
};

/// value.name, value[index] and value[begin:end:step].
Value attribute_of(const Value& value, std::string_view name);
Value item_of(const Value& value, const Value& index);
Value slice_of(const Value& value, std::optional<int64_t> begin, std::optional<int64_t> end, int64_t step);
/// A method of a text, a list or a dictionary; none if there is no such method.
std::optional<Value> method_of(const Value& value, std::string_view name);
Value apply_operator(std::string_view sign, const Value& a, const Value& b);
bool contains(const Value& container, const Value& item);
/// A filter or a test by its name. UserError for one that there is not.
Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments);
bool apply_test(std::string_view name, const Value& value, const Arguments& arguments);
bool has_filter(std::string_view name);
bool has_test(std::string_view name);
/// range, namespace, raise_exception, strftime_now, dict, joiner and cycler.
void add_functions(Scope& scope);

}  // namespace fulgurite::chat
