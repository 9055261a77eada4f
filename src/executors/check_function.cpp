#include "executors/check_function.h"

#include <cstdlib>

#include <fulgurite/error.h>

#include "ops/core/argument.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

using detail::ArgumentType;
using detail::ParameterType;

const char* type_name(ArgumentType type) {
  switch (type) {
    case ArgumentType::tensor: return "a Tensor";
    case ArgumentType::operand: return "an Operand";
    case ArgumentType::tensors: return "a std::vector<Tensor>";
    case ArgumentType::integer: return "an integer";
    case ArgumentType::integers: return "a list of integers";
    case ArgumentType::floating: return "a floating number";
    case ArgumentType::boolean: return "a bool";
    case ArgumentType::string: return "a string";
    case ArgumentType::dtype: return "a Dtype";
    case ArgumentType::device: return "a Device";
  }
  return "";
}

const char* type_name(Parameter::Type type) {
  switch (type) {
    case Parameter::Type::tensor: return "Tensor";
    case Parameter::Type::operand: return "Operand";
    case Parameter::Type::tensors: return "Tensor[]";
    case Parameter::Type::integer: return "int";
    case Parameter::Type::integers: return "int[]";
    case Parameter::Type::floating: return "float";
    case Parameter::Type::floatings: return "float[]";
    case Parameter::Type::padding: return "Padding";
    case Parameter::Type::boolean: return "bool";
    case Parameter::Type::string: return "str";
    case Parameter::Type::dtype: return "Dtype";
    case Parameter::Type::device: return "Device";
    case Parameter::Type::indices: return "Index[]";
  }
  return "";
}

bool matches(const Parameter& parameter, ArgumentType type) {
  switch (parameter.type) {
    case Parameter::Type::tensor: return type == ArgumentType::tensor;
    case Parameter::Type::operand:
      return type == ArgumentType::operand || type == ArgumentType::tensor || type == ArgumentType::floating ||
             type == ArgumentType::integer;
    case Parameter::Type::tensors: return type == ArgumentType::tensors;
    case Parameter::Type::integer: return type == ArgumentType::integer;
    case Parameter::Type::integers: return type == ArgumentType::integers;
    case Parameter::Type::floating: return type == ArgumentType::floating;
    case Parameter::Type::boolean: return type == ArgumentType::boolean;
    case Parameter::Type::string: return type == ArgumentType::string;
    case Parameter::Type::dtype: return type == ArgumentType::dtype;
    case Parameter::Type::device: return type == ArgumentType::device;
    case Parameter::Type::floatings:
    case Parameter::Type::padding:
    case Parameter::Type::indices: return false;
  }
  return false;
}

// Returns true if C++ has a value of this type that means "not given".
bool has_none(const ParameterType& type) {
  return type.is_optional || type.type == ArgumentType::tensor || type.type == ArgumentType::operand ||
         type.type == ArgumentType::integers || type.type == ArgumentType::tensors;
}

bool is_number(std::string_view spelled) {
  const std::string text(spelled);
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0';
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
}

bool is_dtype(std::string_view text) {
  try {
    dtype_from_name(text);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool is_default_of(const Parameter& parameter) {
  const std::string_view text = parameter.default_text;
  const bool is_bool = text == "True" || text == "False";
  if (text == "None") return parameter.optional;
  switch (parameter.type) {
    case Parameter::Type::integer: return is_number(text) && text.find_first_of(".e") == std::string_view::npos;
    case Parameter::Type::floating: return is_number(text);
    case Parameter::Type::operand: return is_number(text) || is_bool;
    case Parameter::Type::boolean: return is_bool;
    case Parameter::Type::string: return is_quoted(text);
    case Parameter::Type::device: return is_quoted(text);
    case Parameter::Type::integers:
      return is_number(text) || (text.size() >= 2 && (text.front() == '[' || text.front() == '('));
    case Parameter::Type::dtype: return is_dtype(text);
    default: return false;
  }
}

}  // namespace

Signature read_signature(std::string_view text, SourceLocation at) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(text::cat("the signature \"", text, "\" cannot be read: ", why,
                              "; it has the form \"mine::f(Tensor x, float s=1.0) -> Tensor\""),
                    at);
  };
  try {
    const Signature signature(text);
    if (signature.result_count == 0) refuse("an operator gives at least one tensor");
    const auto parameters = signature.params();
    for (size_t i = 0; i < parameters.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (parameters[i].name == parameters[j].name)
          refuse(text::cat("two parameters are named ", parameters[i].name));
      if (parameters[i].type == Parameter::Type::indices) refuse("Index[] is for the library's own operators");
      if (parameters[i].default_text.empty()) {
        if (i > 0 && !parameters[i].keyword_only && !parameters[i - 1].default_text.empty())
          refuse(text::cat(parameters[i].name, " has no default, and ", parameters[i - 1].name, " before it has one"));
      } else if (!is_default_of(parameters[i])) {
        refuse(text::cat(parameters[i].default_text, " is not a default of a parameter of type ",
                         type_name(parameters[i].type)));
      }
    }
    return signature;
  } catch (const char* why) {
    refuse(why);
    throw;
  }
}

void check_parameters(const Symbol& symbol, const std::vector<ParameterType>& given, const char* what,
                      SourceLocation at) {
  const auto parameters = symbol.signature.params();
  if (given.size() != parameters.size())
    throw UserError(text::cat("the ", what, " of ", symbol.qualified_name(), " takes ", given.size(),
                              " argument(s), but the operator has ", parameters.size(), ": ", symbol.signature.text),
                    at);
  for (size_t i = 0; i < given.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (!matches(parameter, given[i].type))
      throw UserError(
          text::cat("the ", what, " of ", symbol.qualified_name(), " takes ", type_name(given[i].type), " for '",
                    parameter.name, "', which is of type ", type_name(parameter.type), ": ", symbol.signature.text),
          at);
    if (parameter.optional && !has_none(given[i]))
      throw UserError(text::cat("the ", what, " of ", symbol.qualified_name(), " takes ", type_name(given[i].type),
                                " for '", parameter.name, "', which may be None: make it a std::optional"),
                      at);
  }
}

void check_results(const Symbol& symbol, const detail::OperatorFunction& run, SourceLocation at) {
  check_answers(symbol, run, false, "run", at);
  const int expected = symbol.signature.result_count, given = run.result_count();
  if (given == expected || given == Signature::list) return;
  throw UserError(expected == Signature::list
                      ? text::cat("the run of ", symbol.qualified_name(), " gives ", given,
                                  " tensor(s), but the operator a list; return a std::vector<Tensor>")
                      : text::cat("the run of ", symbol.qualified_name(), " gives ", given,
                                  " tensor(s), but the operator ", expected, ": ", symbol.signature.text),
                  at);
}

void check_answers(const Symbol& symbol, const detail::OperatorFunction& function, bool gives_answer, const char* what,
                   SourceLocation at) {
  if (!function || (function.gives() == detail::OperatorFunction::Gives::answer) == gives_answer) return;
  throw UserError(text::cat("the ", what, " of ", symbol.qualified_name(), " returns ",
                            gives_answer ? "tensors; it says with a bool whether the call is taken"
                                         : "a bool; it returns the operator's results"),
                  at);
}

bool takes_arguments(const std::vector<ParameterType>& parameters, std::span<const Argument> arguments) {
  for (size_t i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    switch (parameters[i].type) {
      case ArgumentType::tensor:
        if (!argument.is_tensor() && !argument.is_none()) return false;
        break;
      case ArgumentType::floating:
        if (!argument.is_number() && !argument.is_none()) return false;
        break;
      case ArgumentType::integer:
        if (!argument.is_integer() && !argument.is_boolean() && !argument.is_none()) return false;
        break;
      default: break;
    }
  }
  return true;
}

}  // namespace fulgurite
