#include "ops/core/call_arguments.h"

#include <cstdlib>

#include <fulgurite/error.h>

namespace fulgurite {

namespace {

std::string value_text(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return "None";
    case Value::Kind::tensor: return text::cat("a tensor (", value.tensor().type_text(), ")");
    case Value::Kind::integer: return text::cat("the integer ", value.integer().hint());
    case Value::Kind::floating: return text::cat("the float ", value.floating().hint());
    case Value::Kind::boolean: return value.boolean().hint() ? "True" : "False";
    case Value::Kind::string: return text::cat("the string '", value.string(), "'");
    case Value::Kind::dtype: return text::cat("the dtype ", value.dtype());
    case Value::Kind::device: return "a device";
    case Value::Kind::list: return "a list";
    case Value::Kind::slice: return "a slice";
    case Value::Kind::ellipsis: return "an ellipsis";
    case Value::Kind::collection: return "a collection";
  }
  return "";
}

const char* wanted_text(Parameter::Type type) {
  switch (type) {
    case Parameter::Type::tensor: return "a tensor";
    case Parameter::Type::operand: return "a tensor or a number";
    case Parameter::Type::tensors: return "a list of tensors";
    case Parameter::Type::integer: return "an integer";
    case Parameter::Type::integers: return "an integer or a list of integers";
    case Parameter::Type::floating: return "a number";
    case Parameter::Type::floatings: return "a number or a list of numbers";
    case Parameter::Type::boolean: return "a bool";
    case Parameter::Type::string: return "a string";
    case Parameter::Type::padding: return "an integer, a list of integers or a string";
    case Parameter::Type::dtype: return "a dtype";
    case Parameter::Type::device: return "a device";
    case Parameter::Type::indices: return "an index or a list of indexes";
  }
  return "";
}

bool all_of_kind(const Value& list, Value::Kind kind) {
  if (!list.is_list()) return false;
  for (const Value& item : list.list())
    if (item.kind() != kind) return false;
  return true;
}

}  // namespace

Argument CallArguments::index_item(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::tensor: return Argument(tensors_.emplace_back(value));
    case Value::Kind::integer: return Argument(value.integer());
    case Value::Kind::boolean: return Argument(value.boolean());
    case Value::Kind::slice: return Argument(slices_.emplace_back(value.slice()));
    case Value::Kind::ellipsis: return Argument(Ellipsis);
    case Value::Kind::list: {
      std::vector<Argument> items;
      for (const Value& item : value.list()) items.push_back(index_item(item));
      return Argument(std::span<const Argument>(lists_.emplace_back(std::move(items))));
    }
    default: return Argument();
  }
}

bool CallArguments::convert(const Parameter& parameter, const Value& value, Argument& out) {
  using Type = Parameter::Type;
  if (value.is_none() && parameter.optional) {
    out = Argument();
    return true;
  }
  const auto tensor = [&](const Value& v) -> const Tensor& { return tensors_.emplace_back(v); };
  switch (parameter.type) {
    case Type::tensor:
      if (!value.is_tensor()) return false;
      out = Argument(tensor(value));
      return !out.is_none();
    case Type::operand:
      if (value.is_tensor()) out = Argument(tensor(value));
      else if (value.is_int()) out = Argument(value.integer());
      else if (value.is_float()) out = Argument(value.floating());
      else if (value.is_bool()) out = Argument(value.boolean());
      return !out.is_none();
    case Type::tensors: {
      if (!value.is_list()) return false;
      std::vector<Tensor> items;
      for (const Value& item : value.list()) {
        if (!item.is_tensor() && !item.is_none()) return false;
        items.push_back(item.is_none() ? Tensor() : Tensor(item));
      }
      out = Argument(tensor_lists_.emplace_back(std::move(items)));
      return true;
    }
    case Type::integer:
      if (value.is_tensor() && !is_floating(value.tensor().dtype)) {  // from a tensor of one integer
        out = Argument(Int(Tensor(value)));
        return true;
      }
      if (!value.is_int()) return false;
      out = Argument(value.integer());
      return true;
    case Type::padding:
      if (value.is_string()) {
        out = Argument(std::string_view(strings_.emplace_back(value.string())));
        return true;
      }
      [[fallthrough]];
    case Type::integers: {
      std::vector<Int> items;
      if (value.is_int()) items.push_back(value.integer());
      else if (!all_of_kind(value, Value::Kind::integer)) return false;
      else
        for (const Value& item : value.list()) items.push_back(item.integer());
      out = Argument(std::span<const Int>(integer_lists_.emplace_back(std::move(items))));
      return true;
    }
    case Type::floating:
      if (!value.is_int() && !value.is_float()) return false;
      out = Argument(value.floating());
      return true;
    case Type::floatings: {
      std::vector<Float>& items = floating_lists_.emplace_back();
      const std::vector<Value> numbers = value.is_list() ? value.list() : std::vector<Value>{value};
      for (const Value& item : numbers) {
        if (!item.is_int() && !item.is_float()) return false;
        items.push_back(item.floating());
      }
      out = Argument(std::span<const Float>(items));
      return true;
    }
    case Type::boolean:
      if (!value.is_bool()) return false;
      out = Argument(value.boolean());
      return true;
    case Type::string:
      if (!value.is_string()) return false;
      out = Argument(std::string_view(strings_.emplace_back(value.string())));
      return true;
    case Type::dtype:
      if (!value.is_dtype()) return false;
      out = Argument(value.dtype());
      return true;
    case Type::device:
      if (!value.is_device() && !value.is_string()) return false;
      out = Argument(value.is_device() ? value.device() : Device(value.string()));
      return true;
    case Type::indices: {
      const std::vector<Value> items = value.is_list() ? value.list() : std::vector<Value>{value};
      out = index_item(Value(items));
      return true;
    }
  }
  return false;
}

Argument CallArguments::default_of(const Parameter& parameter) {
  const std::string_view spelled = parameter.default_text;
  if (spelled == "None") return {};
  using Type = Parameter::Type;
  const std::string number(spelled);
  switch (parameter.type) {
    case Type::integer: return Argument(Int(static_cast<int64_t>(std::strtoll(number.c_str(), nullptr, 10))));
    case Type::floating: return Argument(Float(std::strtod(number.c_str(), nullptr)));
    case Type::boolean: return Argument(spelled == "True");
    case Type::string: return Argument(spelled.substr(1, spelled.size() - 2));
    case Type::dtype: return Argument(dtype_from_name(spelled));
    case Type::device: return Argument(Device(spelled.substr(1, spelled.size() - 2)));
    case Type::operand:
      if (spelled == "True" || spelled == "False") return Argument(spelled == "True");
      if (spelled.find_first_of(".e") == std::string_view::npos)
        return Argument(Int(static_cast<int64_t>(std::strtoll(number.c_str(), nullptr, 10))));
      return Argument(Float(std::strtod(number.c_str(), nullptr)));
    case Type::padding:
    case Type::integers: {
      std::vector<Int> items;
      for (const char* at = number.c_str(); *at != '\0';) {
        char* end = nullptr;
        const long long n = std::strtoll(at, &end, 10);
        if (end != at) items.emplace_back(Int(static_cast<int64_t>(n)));
        at = end != at ? end : at + 1;
      }
      return Argument(std::span<const Int>(integer_lists_.emplace_back(std::move(items))));
    }
    default: throw InternalError(text::cat("a default of parameter ", parameter.name, " cannot be read: ", spelled));
  }
}

bool CallArguments::bind(const Symbol& symbol, const std::vector<Value>& args,
                         const std::map<std::string, Value>& kwargs) {
  const std::span<const Parameter> parameters = symbol.signature.params();
  size_t positional = 0;
  while (positional < parameters.size() && !parameters[positional].keyword_only) ++positional;
  if (args.size() > positional)
    return fail(text::cat("takes at most ", positional,
                          positional == 1 ? " positional argument" : " positional arguments", ", not ", args.size(),
                          "; its signature is ", symbol.signature.text));
  for (const auto& [keyword, value] : kwargs) {
    bool known = false;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name != keyword) continue;
      if (i < args.size()) return fail(text::cat("argument '", keyword, "' is given twice"));
      known = true;
    }
    if (!known) return fail(text::cat("has no argument '", keyword, "'; its signature is ", symbol.signature.text));
  }
  arguments_.assign(parameters.size(), Argument());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const Value* given = nullptr;
    if (i < args.size()) given = &args[i];
    else if (const auto found = kwargs.find(std::string(parameter.name)); found != kwargs.end()) given = &found->second;
    if (!given) {
      if (parameter.default_text.empty())
        return fail(text::cat("argument '", parameter.name, "' is missing; its signature is ", symbol.signature.text));
      arguments_[i] = default_of(parameter);
      continue;
    }
    if (!convert(parameter, *given, arguments_[i]))
      return fail(text::cat("argument '", parameter.name, "' must be ", wanted_text(parameter.type),
                            parameter.optional ? " or None" : "", ", not ", value_text(*given)));
  }
  return true;
}

}  // namespace fulgurite
