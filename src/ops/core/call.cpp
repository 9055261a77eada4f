// Calls of operators by name.
#include <algorithm>
#include <optional>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/call_arguments.h"
#include "ops/generated/symbols.h"
#include "ops/nn/pooling_calls.h"
#include "ops/tensor/in_place.h"
#include "support/text/similar_names.h"

namespace fulgurite {

namespace {

// The overloads of a PyTorch name, in the order tried.
struct Overloads {
  const Symbol* first;
  const Symbol* others[2];
};
constexpr Overloads overloads[] = {
    {&max_symbol, {&maximum_symbol, &prims_max_with_indices_symbol}},
    {&min_symbol, {&minimum_symbol, &prims_min_with_indices_symbol}},
    {&median_symbol, {&prims_median_with_indices_symbol}},
    {&nanmedian_symbol, {&prims_nanmedian_with_indices_symbol}},
    {&scatter_symbol, {&prims_scatter_with_reduce_symbol}},
};

std::string_view last_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

Value unknown_operator(std::string_view name, const std::vector<Value>& args, SourceLocation at) {
  const std::vector<std::string_view> similar = similar_operators(name);
  if (Interpreter* const interpreter = innermost_interpreter())
    return interpreter->unknown_call(name, args, similar, at);
  refuse_unknown(name, similar, at);
}

/// PyTorch's older spelling of the variances: unbiased=False for correction=0, by name or in the position after dim.
void translate_unbiased(const Symbol& symbol, std::vector<Value>& args, std::map<std::string, Value>& kwargs) {
  if (&symbol != &var_symbol && &symbol != &std_symbol && &symbol != &var_mean_symbol && &symbol != &std_mean_symbol)
    return;
  const auto set = [&](const Value& unbiased) { kwargs["correction"] = Value(unbiased.boolean().hint() ? 1 : 0); };
  if (const auto named = kwargs.find("unbiased"); named != kwargs.end() && named->second.is_bool()) {
    set(named->second);
    kwargs.erase("unbiased");
  }
  if (args.size() == 2 && args[1].is_bool()) {
    set(args[1]);
    args.pop_back();
  } else if (args.size() >= 3 && args[2].is_bool()) {
    set(args[2]);
    if (args.size() == 4) kwargs["keepdim"] = args[3];
    args.resize(2);
  }
}

/// Splits tensordot's dims, a pair of lists, into the two arguments of its record.
void translate_tensordot(const Symbol& symbol, std::vector<Value>& args, std::map<std::string, Value>& kwargs) {
  if (&symbol != &tensordot_symbol) return;
  const auto named = kwargs.find("dims");
  const Value dims = named != kwargs.end() ? named->second : args.size() == 3 ? args[2] : Value();
  if (!dims.is_list() || dims.list().size() != 2 || !dims.list()[0].is_list() || !dims.list()[1].is_list()) return;
  const std::vector<Value>& both = dims.list();
  if (named != kwargs.end()) named->second = both[0];
  else args[2] = both[0];
  kwargs["dims_b"] = both[1];
}

/// Removes requires_grad from a creation operator's arguments.
bool take_requires_grad(const Symbol& symbol, std::map<std::string, Value>& kwargs) {
  const auto parameters = symbol.signature.params();
  if (parameters.empty() || parameters.back().name != "device") return false;
  const auto found = kwargs.find("requires_grad");
  if (found == kwargs.end() || !found->second.is_bool()) return false;
  const bool wanted = found->second.boolean();
  kwargs.erase(found);
  return wanted;
}

Operand as_operand(const Value& value, const Tensor& tensor, SourceLocation at) {
  switch (value.kind()) {
    case Value::Kind::tensor: return Operand(tensor, at);
    case Value::Kind::integer: return Operand(value.integer(), at);
    case Value::Kind::floating: return Operand(value.floating(), at);
    case Value::Kind::boolean: return Operand(value.boolean(), at);
    default: return {};
  }
}

// The writes that have no record of their own: copy_, fill_ and zero_ of the first argument.
std::optional<Tensor> call_write(std::string_view op, const std::vector<Value>& args,
                                 const std::map<std::string, Value>& kwargs, SourceLocation at) {
  const std::string_view name = op.starts_with("torch.Tensor.") ? op.substr(13) : op;
  const bool copies = name == "copy_", fills = name == "fill_";
  if (!copies && !fills && name != "zero_") return std::nullopt;
  const char* const parameter = copies ? "src" : "value";
  const auto named = kwargs.find(parameter);
  const bool is_named = named != kwargs.end();
  const size_t wanted = copies || fills ? 2 : 1;
  if (args.empty() || !args[0].is_tensor() || args.size() + (is_named ? 1 : 0) != wanted ||
      kwargs.size() != (is_named ? 1U : 0U))
    throw UserError(text::cat(name, ": takes a tensor", wanted == 2 ? text::cat(" and '", parameter, "'") : ""), at);
  const Tensor destination(args[0]);
  if (wanted == 1) return zero_(destination, at);
  const Value& value = is_named ? named->second : args[1];
  const Tensor tensor = value.is_tensor() ? Tensor(value) : Tensor();
  const Operand operand = as_operand(value, tensor, at);
  return copies ? copy_(destination, operand, at) : fill_(destination, operand, at);
}

Value as_value(const Symbol& symbol, const Results& results) {
  if (symbol.signature.result_count == 1) return Value(results[0]);
  if (symbol.signature.result_count == 0) return {};
  return Value(std::vector<Tensor>(results.begin(), results.end()));
}

}  // namespace

std::vector<std::string_view> similar_operators(std::string_view name) {
  std::vector<KnownName> known;
  for (const Symbol* symbol : symbols())
    if (!symbol->traits.structural) known.push_back({symbol->name(), symbol->qualified_name()});
  return similar_names(last_part(name), known);
}

Value call(std::string_view op, const std::vector<Value>& given, const std::map<std::string, Value>& named,
           SourceLocation at) {
  if (const std::optional<Tensor> written = call_write(op, given, named, at)) return Value(*written);
  const Symbol* symbol = find_symbol(op);
  bool in_place = false;
  if (!symbol && op.ends_with('_')) {
    symbol = find_symbol(op.substr(0, op.size() - 1));
    in_place = symbol && (symbol->traits.pointwise || symbol->traits.has_in_place_form);
    if (!in_place) symbol = nullptr;
  }
  if (!symbol) return unknown_operator(op, given, at);

  std::vector<Value> args = given;
  std::map<std::string, Value> kwargs = named;
  translate_unbiased(*symbol, args, kwargs);
  translate_tensordot(*symbol, args, kwargs);
  symbol = translate_pooling(symbol, args, kwargs);
  const bool requires_grad = take_requires_grad(*symbol, kwargs);

  CallArguments bound;
  if (!bound.bind(*symbol, args, kwargs)) {
    const std::string first_error = bound.error();
    bool found = false;
    for (const Overloads& o : overloads) {
      if (o.first != symbol) continue;
      for (const Symbol* other : o.others) {
        CallArguments attempt;
        if (!other || !attempt.bind(*other, args, kwargs)) continue;
        bound = std::move(attempt);
        symbol = other;
        found = true;
        break;
      }
      break;
    }
    if (!found) throw UserError(text::cat(op, ": ", first_error), at);
  }
  if (in_place || asks_for_in_place(*symbol, bound.arguments()))
    return Value(apply_in_place(*symbol, bound.arguments(), at));
  Results results;
  dispatch(*symbol, bound.arguments(), at, results);
  if (requires_grad) results[0].requires_grad_();
  return as_value(*symbol, results);
}

Value call(std::string_view op, std::initializer_list<Arg> args,
           std::initializer_list<std::pair<std::string, Arg>> kwargs, SourceLocation at) {
  std::vector<Value> values;
  for (const Arg& arg : args) values.push_back(arg.value);
  std::map<std::string, Value> named;
  for (const auto& [name, arg] : kwargs) named.emplace(name, arg.value);
  return call(op, values, named, at);
}

}  // namespace fulgurite
