#include "tokenizer/chat/interpreter.h"

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::chat {

namespace {

ScopeRef inner_of(const ScopeRef& scope) { return std::make_shared<Scope>(Scope{{}, scope}); }

// An error that has its line already.
struct TemplateError : UserError {
  using UserError::UserError;
};

}  // namespace

void Interpreter::count_step() {
  if (++steps_ > limits_.steps) throw TemplateError(text::cat("it needs more than ", limits_.steps, " steps"));
}

Interpreter::~Interpreter() {
  for (const ScopeRef& scope : with_macros_) scope->values.clear();
}

// Called for each scope that a macro is defined in.
void Interpreter::keep(const ScopeRef& scope) {
  if (with_macros_.size() >= limits_.macros)
    throw TemplateError(text::cat("it defines more than ", limits_.macros, " macros"));
  with_macros_.push_back(scope);
}

class Interpreter::Nested {
 public:
  explicit Nested(Interpreter& of) : of_(of) {
    if (of_.nested_ >= of_.limits_.nesting) throw TemplateError("its blocks and expressions are nested too deeply");
    ++of_.nested_;
  }
  ~Nested() { --of_.nested_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Interpreter& of_;
};

Value Interpreter::evaluate(const Expression& e, const ScopeRef& scope) {
  count_step();
  const Nested nested(*this);
  return evaluate_plain(e, scope);
}

void Interpreter::check_size(const std::string& out) const {
  if (out.size() > limits_.output_bytes)
    throw TemplateError(text::cat("its text is longer than ", limits_.output_bytes, " bytes"));
}

std::string Interpreter::render(const Block& block, const ScopeRef& scope) {
  std::string out;
  run(block, scope, out);
  return out;
}

// Names that the block sets are gone behind it.
std::string Interpreter::text_of(const Block& block, const ScopeRef& scope) {
  std::string out;
  run(block, inner_of(scope), out);
  return out;
}

Interpreter::Flow Interpreter::run(const Block& block, const ScopeRef& scope, std::string& out) {
  const Nested nested(*this);
  for (const Statement& statement : block) {
    count_step();
    Flow flow = Flow::normal;
    try {
      flow = run(statement, scope, out);
    } catch (const TemplateError&) {
      throw;
    } catch (const UserError& error) {
      throw TemplateError(text::cat("line ", statement.line, ": ", error.what()));
    }
    check_size(out);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const Statement& s, const ScopeRef& scope, std::string& out) {
  switch (s.kind) {
    case Statement::Kind::text: out += s.text; break;
    case Statement::Kind::output: out += to_text(evaluate(*s.expression, scope)); break;
    case Statement::Kind::if_: return run_if(s, scope, out);
    case Statement::Kind::for_: return run_for(s, scope, out);
    case Statement::Kind::set: assign(s.names, evaluate(*s.expression, scope), scope); break;
    case Statement::Kind::set_block: {
      Value value = text_of(*s.body, scope);
      assign(s.names, s.expression ? apply_filter(*s.expression, scope, &value) : value, scope);
      break;
    }
    case Statement::Kind::macro: scope->values.insert_or_assign(s.text, make_macro(s, scope)); break;
    case Statement::Kind::call: run_call(s, scope, out); break;
    case Statement::Kind::filter: {
      const Value value = text_of(*s.body, scope);
      out += to_text(apply_filter(*s.expression, scope, &value));
      break;
    }
    case Statement::Kind::with: run_with(s, scope, out); break;
    case Statement::Kind::break_: return Flow::break_;
    case Statement::Kind::continue_: return Flow::continue_;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_if(const Statement& s, const ScopeRef& scope, std::string& out) {
  for (const Branch& branch : s.branches)
    if (!branch.condition || is_true(evaluate(*branch.condition, scope))) return run(*branch.body, scope, out);
  return Flow::normal;
}

namespace {

// The variable "loop".
Value loop_value(const std::vector<Value>& items, size_t i) {
  const auto index = static_cast<int64_t>(i), count = static_cast<int64_t>(items.size());
  const auto neighbor = [&](int64_t at, const char* name) {
    return at >= 0 && at < count ? items[static_cast<size_t>(at)] : Value(Undefined{name});
  };
  return make_mapping({{"index", index + 1},
                       {"index0", index},
                       {"revindex", count - index},
                       {"revindex0", count - index - 1},
                       {"first", index == 0},
                       {"last", index + 1 == count},
                       {"length", count},
                       {"depth", int64_t{1}},
                       {"depth0", int64_t{0}},
                       {"previtem", neighbor(index - 1, "previtem")},
                       {"nextitem", neighbor(index + 1, "nextitem")},
                       {"cycle", make_function([index](const Arguments& given) {
                          if (given.positional.empty()) fail("cycle() needs values");
                          return given.positional[static_cast<size_t>(index) % given.positional.size()];
                        })}});
}

}  // namespace

Interpreter::Flow Interpreter::run_for(const Statement& s, const ScopeRef& scope, std::string& out) {
  std::vector<Value> items = items_of(evaluate(*s.expression, scope));
  if (s.condition) {
    std::vector<Value> kept;
    for (const Value& item : items) {
      const ScopeRef inner = inner_of(scope);
      assign(s.names, item, inner);
      if (is_true(evaluate(*s.condition, inner))) kept.push_back(item);
    }
    items = std::move(kept);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    count_step();
    const ScopeRef inner = inner_of(scope);
    inner->values.insert_or_assign("loop", loop_value(items, i));
    assign(s.names, items[i], inner);
    if (run(*s.body, inner, out) == Flow::break_) break;
  }
  if (items.empty() && s.otherwise) return run(*s.otherwise, scope, out);
  return Flow::normal;
}

void Interpreter::run_with(const Statement& s, const ScopeRef& scope, std::string& out) {
  const ScopeRef inner = inner_of(scope);
  for (const Parameter& value : *s.parameters)
    inner->values.insert_or_assign(value.name, evaluate(*value.otherwise, scope));
  run(*s.body, inner, out);
}

void Interpreter::assign(const std::vector<std::vector<std::string>>& names, const Value& value,
                         const ScopeRef& scope) {
  if (names.size() == 1) return assign(names[0], value, scope);
  const std::vector<Value> items = items_of(value);
  if (items.size() != names.size()) fail(text::cat("there are ", items.size(), " values for ", names.size(), " names"));
  for (size_t i = 0; i < names.size(); ++i) assign(names[i], items[i], scope);
}

void Interpreter::assign(const std::vector<std::string>& name, const Value& value, const ScopeRef& scope) {
  if (name.size() == 1) {
    scope->values.insert_or_assign(name[0], value);
    return;
  }
  const Value space = lookup(name[0], scope);
  if (!space.mapping() || !space.mapping()->is_namespace) fail(text::cat("'", name[0], "' is not a namespace"));
  space.mapping()->set(name[1], value);
}

Value Interpreter::make_macro(const Statement& s, const ScopeRef& scope) {
  keep(scope);
  return make_function([this, body = s.body, parameters = s.parameters, scope](const Arguments& given) {
    return call_macro(*parameters, *body, scope, given);
  });
}

Value Interpreter::call_macro(const std::vector<Parameter>& parameters, const Block& body, const ScopeRef& scope,
                              const Arguments& given) {
  if (++depth_ > limits_.depth)
    throw TemplateError(text::cat("macros call each other more than ", limits_.depth, " deep"));
  const ScopeRef inner = inner_of(scope);
  std::vector<Value> more;
  for (size_t i = 0; i < given.positional.size(); ++i)
    if (i < parameters.size()) inner->values.insert_or_assign(parameters[i].name, given.positional[i]);
    else more.push_back(given.positional[i]);
  std::vector<std::pair<std::string, Value>> named;
  for (const auto& [name, value] : given.named) {
    bool is_parameter = name == "caller";
    for (const Parameter& parameter : parameters) is_parameter = is_parameter || parameter.name == name;
    if (is_parameter) inner->values.insert_or_assign(name, value);
    else named.emplace_back(name, value);
  }
  for (const Parameter& parameter : parameters)
    if (!inner->values.contains(parameter.name))
      inner->values.insert_or_assign(parameter.name, parameter.otherwise ? evaluate(*parameter.otherwise, inner)
                                                                         : Value(Undefined{parameter.name}));
  inner->values.insert_or_assign("varargs", make_list(std::move(more), true));
  inner->values.insert_or_assign("kwargs", make_mapping(std::move(named)));
  Value out = text_of(body, inner);
  --depth_;
  return out;
}

void Interpreter::run_call(const Statement& s, const ScopeRef& scope, std::string& out) {
  const Value function = evaluate(*s.expression->parts[0], scope);
  if (!function.function()) fail("a call block needs a macro");
  keep(scope);
  Arguments given = arguments_of(s.expression->arguments, scope);
  given.named.emplace_back(
      "caller", make_function([this, body = s.body, parameters = s.parameters, scope](const Arguments& more) {
        return call_macro(*parameters, *body, scope, more);
      }));
  out += to_text((*function.function())(given));
}

}  // namespace fulgurite::chat
