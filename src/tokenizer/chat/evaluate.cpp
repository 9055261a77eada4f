#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"

namespace fulgurite::chat {

using Kind = Expression::Kind;

Value Interpreter::lookup(std::string_view name, const ScopeRef& scope) {
  for (const Scope* at = scope.get(); at != nullptr; at = at->parent.get())
    if (const auto found = at->values.find(name); found != at->values.end()) return found->second;
  return Undefined{std::string(name)};
}

Value Interpreter::evaluate_plain(const Expression& e, const ScopeRef& scope) {
  switch (e.kind) {
    case Kind::constant: return e.value;
    case Kind::name: return lookup(e.text, scope);
    case Kind::list: return list_of(e, scope, false);
    case Kind::tuple: return list_of(e, scope, true);
    case Kind::mapping: return mapping_of(e, scope);
    case Kind::attribute: return attribute_of(evaluate(*e.parts[0], scope), e.text);
    case Kind::item: {
      const Value value = evaluate(*e.parts[0], scope);
      return item_of(value, evaluate(*e.parts[1], scope));
    }
    case Kind::slice: return slice(e, scope);
    case Kind::call: return call(e, scope);
    case Kind::filter: return apply_filter(e, scope, nullptr);
    case Kind::test: {
      const Value value = evaluate(*e.parts[0], scope);
      return apply_test(e.text, value, arguments_of(e.arguments, scope));
    }
    case Kind::unary: {
      const Value value = evaluate(*e.parts[0], scope);
      if (e.text == "not") return !is_true(value);
      if (const double* number = value.get<double>()) return e.text == "-" ? -*number : *number;
      return e.text == "-" ? -to_integer(value) : to_integer(value);
    }
    case Kind::binary: return binary(e, scope);
    case Kind::conditional: return conditional(e, scope);
  }
  return {};
}

Value Interpreter::list_of(const Expression& e, const ScopeRef& scope, bool is_tuple) {
  std::vector<Value> items;
  for (const ExpressionRef& part : e.parts) items.push_back(evaluate(*part, scope));
  return make_list(std::move(items), is_tuple);
}

Value Interpreter::mapping_of(const Expression& e, const ScopeRef& scope) {
  Mapping out;
  for (size_t i = 0; i + 1 < e.parts.size(); i += 2) {
    const Value key = evaluate(*e.parts[i], scope);
    out.set(to_text(key), evaluate(*e.parts[i + 1], scope));
  }
  return make_mapping(std::move(out.entries));
}

Value Interpreter::conditional(const Expression& e, const ScopeRef& scope) {
  if (is_true(evaluate(*e.parts[0], scope))) return evaluate(*e.parts[1], scope);
  return e.parts[2] ? evaluate(*e.parts[2], scope) : Value(Undefined{"the value without else"});
}

Value Interpreter::slice(const Expression& e, const ScopeRef& scope) {
  const Value value = evaluate(*e.parts[0], scope);
  std::optional<int64_t> bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!e.parts[i + 1]) continue;
    const Value bound = evaluate(*e.parts[i + 1], scope);
    if (!bound.is_none()) bounds[i] = to_integer(bound);
  }
  return slice_of(value, bounds[0], bounds[1], bounds[2].value_or(1));
}

Arguments Interpreter::arguments_of(const CallArguments& given, const ScopeRef& scope) {
  Arguments out;
  for (const ExpressionRef& argument : given.positional) out.positional.push_back(evaluate(*argument, scope));
  for (const auto& [name, argument] : given.named) out.named.emplace_back(name, evaluate(*argument, scope));
  return out;
}

Value Interpreter::call(const Expression& e, const ScopeRef& scope) {
  const Value function = evaluate(*e.parts[0], scope);
  if (function.is_undefined()) fail(text::cat("'", printable(function.get<Undefined>()->name), "' is undefined"));
  if (!function.function()) fail(text::cat("a value of the type ", type_name(function), " cannot be called"));
  return (*function.function())(arguments_of(e.arguments, scope));
}

Value Interpreter::apply_filter(const Expression& e, const ScopeRef& scope, const Value* input) {
  Value value;
  if (!e.parts[0]) value = *input;
  else if (input != nullptr && e.parts[0]->kind == Kind::filter) value = apply_filter(*e.parts[0], scope, input);
  else value = evaluate(*e.parts[0], scope);
  return chat::apply_filter(e.text, value, arguments_of(e.arguments, scope));
}

Value Interpreter::binary(const Expression& e, const ScopeRef& scope) {
  const Value a = evaluate(*e.parts[0], scope);
  if (e.text == "and") return is_true(a) ? evaluate(*e.parts[1], scope) : a;
  if (e.text == "or") return is_true(a) ? a : evaluate(*e.parts[1], scope);
  return apply_operator(e.text, a, evaluate(*e.parts[1], scope));
}

}  // namespace fulgurite::chat
