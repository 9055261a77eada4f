#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/chat/syntax.h"

namespace fulgurite::chat {

/// Bounds of one rendering: a template that loops, or writes, without end is a UserError.
struct Limits {
  int64_t steps = 2'000'000;
  size_t output_bytes = size_t{64} << 20;
  int depth = 40;          // of calls of macros
  int nesting = 1500;      // of blocks and parts of expressions
  size_t macros = 10'000;  // definitions that are executed
};

struct Scope;
using ScopeRef = std::shared_ptr<Scope>;
/// Names and their values; those of outer scopes are visible in inner ones.
struct Scope {
  std::map<std::string, Value, std::less<>> values;
  ScopeRef parent;
};

/// Runs a template.
class Interpreter {
 public:
  explicit Interpreter(const Limits& limits = {}) : limits_(limits) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  /// Returns the text that a template makes of these values.
  std::string render(const Block& block, const ScopeRef& scope);
  Value evaluate(const Expression& expression, const ScopeRef& scope);

 private:
  enum class Flow { normal, break_, continue_ };
  Flow run(const Block& block, const ScopeRef& scope, std::string& out);
  Flow run(const Statement& statement, const ScopeRef& scope, std::string& out);
  Flow run_if(const Statement& statement, const ScopeRef& scope, std::string& out);
  Flow run_for(const Statement& statement, const ScopeRef& scope, std::string& out);
  void run_with(const Statement& statement, const ScopeRef& scope, std::string& out);
  void run_call(const Statement& statement, const ScopeRef& scope, std::string& out);
  std::string text_of(const Block& block, const ScopeRef& scope);
  void assign(const std::vector<std::vector<std::string>>& names, const Value& value, const ScopeRef& scope);
  void assign(const std::vector<std::string>& name, const Value& value, const ScopeRef& scope);
  Value make_macro(const Statement& statement, const ScopeRef& scope);
  Value call_macro(const std::vector<Parameter>& parameters, const Block& body, const ScopeRef& scope,
                   const Arguments& given);

  Value evaluate_plain(const Expression& expression, const ScopeRef& scope);
  Value lookup(std::string_view name, const ScopeRef& scope);
  Value list_of(const Expression& expression, const ScopeRef& scope, bool is_tuple);
  Value mapping_of(const Expression& expression, const ScopeRef& scope);
  Value call(const Expression& expression, const ScopeRef& scope);
  Value apply_filter(const Expression& expression, const ScopeRef& scope, const Value* input);
  Value binary(const Expression& expression, const ScopeRef& scope);
  Value conditional(const Expression& expression, const ScopeRef& scope);
  Value slice(const Expression& expression, const ScopeRef& scope);
  Arguments arguments_of(const CallArguments& given, const ScopeRef& scope);
  void keep(const ScopeRef& scope);
  void count_step();
  /// Counts the blocks and expressions that are being evaluated.
  class Nested;
  void check_size(const std::string& out) const;

  Limits limits_;
  int64_t steps_ = 0;
  int depth_ = 0, nested_ = 0;
  std::vector<ScopeRef> with_macros_;  // macros refer to their scopes, which refer to them
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
