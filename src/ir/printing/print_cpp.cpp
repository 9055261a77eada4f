#include <algorithm>
#include <cmath>
#include <ostream>
#include <unordered_set>

#include "ir/analysis/uses.h"
#include "ir/custom_function.h"
#include "ir/printing/print_common.h"
#include "ir/structural.h"

namespace fulgurite {

namespace {

std::string joined(const std::vector<std::string>& items) {
  return text::join(items, [](const std::string& s) { return s; });
}

// "torch.nn.functional.gelu" -> "nn::gelu"
std::string function_name(std::string_view qualified) {
  static constexpr std::pair<std::string_view, std::string_view> spaces[] = {{"torch.nn.functional.", "nn::"},
                                                                             {"torch.linalg.", "linalg::"},
                                                                             {"torch.special.", "special::"},
                                                                             {"torch.Tensor.", ""},
                                                                             {"torch.", ""}};
  for (const auto& [from, to] : spaces)
    if (qualified.starts_with(from)) {
      const std::string_view name = qualified.substr(from.size());
      return name == "std" ? "fulgurite::std" : text::cat(to, name);
    }
  std::string out;
  for (const char c : qualified) out += c == '.' ? "::" : std::string(1, c);
  return out;
}

// Arithmetic on scalars, spelled differently in C++ than in Python.
std::string_view number_pattern(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> patterns[] = {
      {"prims.add_numbers", "{0} + {1}"},        {"prims.subtract_numbers", "{0} - {1}"},
      {"prims.multiply_numbers", "{0} * {1}"},   {"prims.divide_numbers", "{0} / {1}"},
      {"prims.remainder_numbers", "{0} % {1}"},  {"prims.negate_number", "-{0}"},
      {"prims.minimum_number", "min({0}, {1})"}, {"prims.maximum_number", "max({0}, {1})"},
      {"prims.square_root_number", "sqrt({0})"}, {"prims.float_number", "Float({0})"},
      {"prims.equal_numbers", "{0} == {1}"},     {"prims.not_equal_numbers", "{0} != {1}"},
      {"prims.less_numbers", "{0} < {1}"},       {"prims.less_equal_numbers", "{0} <= {1}"},
      {"prims.greater_numbers", "{0} > {1}"},    {"prims.greater_equal_numbers", "{0} >= {1}"},
      {"prims.not_number", "Bool(!{0})"}};
  for (const auto& [symbol, pattern] : patterns)
    if (symbol == name) return pattern;
  return {};
}

std::string integer_text(int64_t value) { return value == INT64_MIN ? "(-9223372036854775807 - 1)" : text::cat(value); }

std::string float_text(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) return text::cat(value < 0 ? "-" : "", "std::numeric_limits<double>::infinity()");
  return text::cat(value);
}

// The signature ends in "*, Dtype? dtype, Device? device": both go into the braces of TensorOptions.
bool takes_options(std::span<const Parameter> parameters) {
  return parameters.size() >= 2 && parameters.back().type == Parameter::Type::device &&
         parameters[parameters.size() - 2].type == Parameter::Type::dtype && parameters.back().name == "device" &&
         parameters[parameters.size() - 2].keyword_only;
}

class CppPrinter final : public OpPrinter {
 public:
  explicit CppPrinter(const PrintOptions& options) : OpPrinter(options, "// ") {}

  std::string trace(const Trace& trace) {
    is_backward_ = trace.tags.has(Tag::backward);
    collect_names(trace);
    print_provenance(trace);
    const std::string provenance = std::move(out_);
    const BoundSymbol* last = trace.bound_symbols.empty() ? nullptr : &trace.bound_symbols.back();
    result_type_ = last ? result_type(*last) : "void";
    out_ = text::cat(result_type_, " ", trace.name, "(", text::join(trace.args, parameter), ") {\n");
    print_argument_types(trace);
    print_body(trace);
    out_ += "}\n";
    std::string head = provenance + "#include <fulgurite/fulgurite.h>\n";
    if (out_.find("std::numeric_limits") != std::string::npos) head += "#include <limits>\n";
    head += "using namespace fulgurite;\n";
    for (const std::string& definition : definitions_) head += "\n" + definition;
    return head + "\n" + out_;
  }

  std::string line(const BoundSymbol& bound) {
    print(bound, 0);
    return out_;
  }

  std::vector<std::string> lines(const Trace& trace) {
    is_backward_ = trace.tags.has(Tag::backward);
    collect_names(trace);
    return body_lines(trace);
  }

 private:
  // A local variable hides a function of the same name.
  void collect_names(const Trace& trace) {
    for (const Value& input : input_values(trace)) names_.insert(proxy_name(input));
    for (const BoundSymbol& bound : trace.bound_symbols)
      for_each_output(bound, [&](const Value& output) { names_.insert(proxy_name(output)); });
  }

  static std::string type_of(const Value& v) {
    if (v.is_collection())
      return v.collection_name() == "saved_for_backward" ? "SavedForBackward" : "std::vector<Tensor>";
    if (v.is_int()) return "Int";
    if (v.is_float()) return "Float";
    return v.is_bool() ? "Bool" : "Tensor";
  }
  static std::string parameter(const Value& arg) { return text::cat(type_of(arg), " ", identifier(proxy_name(arg))); }

  std::string result_type(const BoundSymbol& last) const {
    if (!last.kwargs.empty()) {
      const bool saves =
          std::ranges::any_of(last.kwargs, [](const auto& kwarg) { return kwarg.first == "saved_tensors"; });
      return saves ? "AugmentedForward" : "JointResult";
    }
    if (is_backward_ || last.args.size() > 8) return "std::vector<Tensor>";
    if (last.args.empty()) return "void";
    const auto type = [](const Value& v) { return v.is_list() ? "std::vector<Tensor>" : type_of(v); };
    return last.args.size() == 1 ? type(last.args[0]) : text::cat("std::tuple<", text::join(last.args, type), ">");
  }

  std::string value(const Value& v) const {
    switch (v.kind()) {
      case Value::Kind::none: return "{}";
      case Value::Kind::tensor: return identifier(proxy_name(v));
      case Value::Kind::integer: return v.is_proxy() ? identifier(proxy_name(v)) : integer_text(v.integer().hint());
      case Value::Kind::floating: return v.is_proxy() ? identifier(proxy_name(v)) : float_text(v.floating().hint());
      case Value::Kind::boolean:
        return v.is_proxy() ? identifier(proxy_name(v)) : v.boolean().hint() ? "true" : "false";
      case Value::Kind::string: return quoted(v.string(), '"');
      case Value::Kind::dtype: return text::cat("Dtype::", v.dtype() == Dtype::boolean ? "boolean" : name(v.dtype()));
      case Value::Kind::device: return text::cat("Device(\"", v.device().name(), "\")");
      case Value::Kind::list: return text::cat("{", joined(items(v.list())), "}");
      case Value::Kind::slice: {
        const Slice slice = v.slice();
        const auto end = [&](const std::optional<Int>& e) { return e ? value(Value(*e)) : std::string("{}"); };
        if (!slice.start && !slice.stop && !slice.step) return "Slice()";
        return text::cat("Slice(", end(slice.start), ", ", end(slice.stop),
                         slice.step ? ", " + end(slice.step) : std::string(), ")");
      }
      case Value::Kind::ellipsis: return "Ellipsis";
      case Value::Kind::collection: return identifier(v.collection_name());
    }
    return {};
  }
  // The items of a list, in which a missing tensor needs its type.
  std::vector<std::string> items(std::span<const Value> list) const {
    std::vector<std::string> out;
    for (const Value& item : list) out.push_back(item.is_none() ? "Tensor()" : value(item));
    return out;
  }

  std::string statement(const BoundSymbol& bound, bool in_comment) override {
    switch (statement_of(*bound.symbol)) {
      case Statement::result: return result(bound);
      case Statement::unpack: return unpack(bound);
      case Statement::clear: return text::cat("clear_collection(", value(bound.args[0]), ");");
      case Statement::del: return text::cat("del(", joined(items(bound.args)), ");");
      case Statement::call: break;
    }
    if (is_shape_query(bound) && !in_comment) return sizes(bound);
    if (is_custom_function(bound) && !in_comment)
      return text::cat("auto [", joined(items(bound.outputs)), "] = ", define_custom(bound), "(", arguments(bound),
                       ");");
    if (is_no_gradient(bound)) define_no_gradient();
    std::string names = joined(items(bound.outputs));
    if (in_comment) {
      if (bound.outputs.size() > 1) names = text::cat("(", names, ")");
      return text::cat(names, names.empty() ? "" : " = ", call(bound, true));
    }
    if (bound.is_fusion()) define_fusion(bound);
    if (is_registered(bound)) define_operator(*bound.symbol);
    const bool is_list = bound.symbol->signature.result_count == Signature::list;
    if (bound.outputs.size() > 1 || is_list || bound.is_fusion()) names = text::cat("[", names, "]");
    if (is_list && !bound.outputs.empty())
      return text::cat("auto ", names, " = unpack<", bound.outputs.size(), ">(", call(bound, false), ");");
    return text::cat(bound.outputs.empty() ? "" : "auto ", names, bound.outputs.empty() ? "" : " = ",
                     call(bound, false), ";");
  }

  std::string result(const BoundSymbol& bound) const {
    if (!bound.kwargs.empty()) {
      std::vector<std::string> members, saved;
      for (const auto& [key, v] : bound.kwargs) {
        const std::string list = text::cat("{", v.is_list() ? joined(items(v.list())) : value(v), "}");
        if (key == "saved_tensors" || key == "saved_other") saved.push_back(list);
        else if (key == "flat_output" || (key == "output" && result_type_ == "JointResult"))
          members.push_back(".output = " + list);
        else if (key == "fw_flat_out") members.push_back(".fw_flat_out = " + list);
      }
      if (!saved.empty()) members.push_back(text::cat(".saved_for_backward = {", joined(saved), "}"));
      return text::cat("return {", joined(members), "};");
    }
    if (bound.args.empty() && !is_backward_) return "return;";
    const std::string results = joined(items(bound.args));
    return bound.args.size() == 1 && !is_backward_ ? text::cat("return ", results, ";")
                                                   : text::cat("return {", results, "};");
  }

  std::string unpack(const BoundSymbol& bound) const {
    const std::string from = value(bound.args[0]);
    const bool nests = std::ranges::any_of(bound.outputs, [](const Value& v) { return v.is_collection(); });
    if (nests) return text::cat("auto [", joined(items(bound.outputs)), "] = ", from, ";");
    std::string out;
    for (size_t i = 0; i < bound.outputs.size(); ++i) {
      const Value& v = bound.outputs[i];
      if (v.is_none()) continue;
      const std::string_view as = v.is_int()     ? ".integer()"
                                  : v.is_float() ? ".floating()"
                                  : v.is_bool()  ? ".boolean()"
                                                 : "";
      out += text::cat(out.empty() ? "" : "\n", type_of(v), " ", value(v), " = ", from, "[", i, "]", as, ";");
    }
    return out.empty() ? text::cat("// ", from, " is empty") : out;
  }

  // The symbols among a tensor's sizes.
  std::string sizes(const BoundSymbol& bound) const {
    const std::string all = text::cat("prims::shape<", bound.outputs.size(), ">(", value(bound.args[0]), ")");
    if (std::ranges::all_of(bound.outputs, &Value::is_int))
      return text::cat("auto [", joined(items(bound.outputs)), "] = ", all, ";");
    std::string out;
    for (size_t i = 0; i < bound.outputs.size(); ++i)
      if (bound.outputs[i].is_int())
        out += text::cat(out.empty() ? "Int " : ", ", value(bound.outputs[i]), " = ", all, "[", i, "]");
    return out + ";";
  }

  std::string call(const BoundSymbol& bound, bool in_comment) const {
    const Symbol& symbol = *bound.symbol;
    if (is_custom_function(bound) || is_no_gradient(symbol)) return text::cat(bound.name(), "(", arguments(bound), ")");
    if (is_once_differentiable(symbol)) return text::cat(value(bound.args[0]), ".view_as(", value(bound.args[0]), ")");
    if (const std::string_view pattern = number_pattern(symbol.qualified_name()); !pattern.empty())
      return fill_pattern(pattern, items(bound.args));
    if (is_indexing(symbol) && bound.args.size() == 2) return indexing(bound);
    std::string name = function_name(symbol.qualified_name());
    const bool is_leaf = bound.subsymbols.empty() && !symbol.qualified_name().starts_with("prims.");
    if (in_comment && is_leaf) name = text::cat("prims::", symbol.name());
    else if (names_.contains(name)) name = "fulgurite::" + name;
    return text::cat(name, "(", arguments(bound), ")");
  }

  std::string arguments(const BoundSymbol& bound) const {
    const auto parameters = bound.symbol->signature.params();
    std::vector<Value> all = bound.args;
    for (const auto& [key, v] : bound.kwargs) all.push_back(v);
    if (is_registered(bound))
      return text::join(all, [&](const Value& v) { return v.is_none() ? std::string("None") : value(v); });
    const bool has_options = takes_options(parameters) && all.size() == parameters.size();
    std::string options;
    if (has_options) {
      const Value device = all.back(), dtype = all[all.size() - 2];
      all.resize(all.size() - 2);
      if (dtype.is_dtype()) options = text::cat(".dtype = ", value(dtype));
      if (device.kind() == Value::Kind::device)
        options += text::cat(options.empty() ? "" : ", ", ".device = ", value(device));
    }
    const size_t shown = options.empty() ? shown_arguments(all, parameters) : all.size();
    std::vector<std::string> texts;
    for (size_t i = 0; i < shown; ++i) texts.push_back(value(all[i]));
    if (!options.empty()) texts.push_back(text::cat("{", options, "}"));
    return joined(texts);
  }

  std::string indexing(const BoundSymbol& bound) const {
    const Value& index = bound.args[1];
    const std::vector<Value> indices = index.is_list() ? index.list() : std::vector<Value>{index};
    const auto item_text = [&](const Value& item) { return item.is_none() ? std::string("None") : value(item); };
    return text::cat(value(bound.args[0]), "(", text::join(indices, item_text), ")");
  }

  // Returns true for an operator that a program registered; the library knows it only by name.
  static bool is_registered(const BoundSymbol& bound) {
    const std::string_view name = bound.symbol->qualified_name();
    return bound.subsymbols.empty() && !name.starts_with("torch.") && !name.starts_with("prims.");
  }

  // Defines a function that calls the operator by name.
  void define_operator(const Symbol& symbol) {
    const Signature& signature = symbol.signature;
    std::string parameters, positional, named;
    for (const Parameter& parameter : signature.params()) {
      std::string name = identifier(std::string(parameter.name));
      parameters += text::cat(parameters.empty() ? "" : ", ", "const Arg& ", name);
      if (parameter.keyword_only)
        named += text::cat(named.empty() ? "" : ", ", "{\"", parameter.name, "\", ", name, "}");
      else positional += text::cat(positional.empty() ? "" : ", ", name);
    }
    const std::string call = text::cat("call(", quoted(symbol.qualified_name(), '"'), ", {", positional, "}",
                                       named.empty() ? "" : text::cat(", {", named, "}"), ")");
    std::string result = "Tensor", body = text::cat("  return ", call, ";\n");
    if (signature.result_count != 1) {
      body = text::cat("  const std::vector<Value> results = ", call, ".list();\n");
      std::string types, values;
      for (int i = 0; i < signature.result_count; ++i) {
        types += i == 0 ? "Tensor" : ", Tensor";
        values += text::cat(i == 0 ? "" : ", ", "results[", i, "]");
      }
      const bool is_list = signature.result_count == Signature::list;
      result = is_list ? "std::vector<Tensor>" : text::cat("std::tuple<", types, ">");
      body += is_list ? "  return {results.begin(), results.end()};\n" : text::cat("  return {", values, "};\n");
    }
    const std::string full = function_name(symbol.qualified_name());
    const size_t colons = full.rfind("::");
    const std::string function = colons == std::string::npos ? full : full.substr(colons + 2);
    std::string definition = text::cat("inline ", result, " ", function, "(", parameters, ") {\n", body, "}\n");
    if (colons != std::string::npos)
      definition = text::cat("namespace ", full.substr(0, colons), " {\n", definition, "}\n");
    if (std::ranges::find(definitions_, definition) == definitions_.end())
      definitions_.push_back(std::move(definition));
  }

  // Defines a fusion as a function of its subsymbols, so that the program needs only the library; its kernel is printed
  // above.
  void define_fusion(const BoundSymbol& bound) {
    std::string kernel, body;
    if (bound.implementation) {
      std::string_view rest = kernel_text(*bound.implementation);
      const std::string executor = fusing_executor_text(bound);
      if (!rest.empty())
        kernel = executor.empty() ? "// Run by this kernel:\n" : text::cat("// Run", executor, " with this kernel:\n");
      else if (!executor.empty()) kernel = text::cat("// Run", executor, "\n");
      while (!rest.empty()) {
        const size_t end = std::min(rest.find('\n'), rest.size() - 1);
        kernel += text::cat("//   ", rest.substr(0, end + 1));
        rest.remove_prefix(end + 1);
      }
    }
    for (const BoundSymbol& subsymbol : bound.subsymbols) body += text::cat("  ", statement(subsymbol, false), "\n");
    std::string definition =
        text::cat(kernel, "static auto ", bound.symbol->qualified_name(), "(", text::join(bound.args, parameter),
                  ") {\n", body, "  return std::tuple(", joined(items(bound.outputs)), ");\n}\n");
    if (std::ranges::find(definitions_, definition) == definitions_.end())
      definitions_.push_back(std::move(definition));
  }

  // Defines a custom function as a function of its forward's ops; returns its unique name.
  std::string define_custom(const BoundSymbol& bound) {
    std::string body;
    for (const BoundSymbol& line : forward_lines(bound)) body += text::cat("  ", statement(line, false), "\n");
    body += text::cat("  return std::tuple(", joined(items(bound.outputs)), ");\n}\n");
    for (int number = 0;; ++number) {
      std::string name = text::cat(bound.name(), number == 0 ? "" : text::cat("_", number));
      const std::string head = text::cat("static auto ", name, "(");
      const std::string definition = text::cat(head, text::join(bound.args, parameter), ") {\n", body);
      const auto same =
          std::ranges::find_if(definitions_, [&](const std::string& other) { return other.starts_with(head); });
      if (same == definitions_.end()) definitions_.push_back(definition);
      else if (*same != definition) continue;
      return name;
    }
  }

  void define_no_gradient() {
    const std::string definition =
        "static Tensor no_gradient(const Tensor&, const char* message) {\n  throw UserError(message);\n}\n";
    if (std::ranges::find(definitions_, definition) == definitions_.end()) definitions_.push_back(definition);
  }

  bool is_backward_ = false;
  std::string result_type_;
  std::unordered_set<std::string> names_;
  std::vector<std::string> definitions_;
};

}  // namespace

std::string Trace::cpp(PrintOptions options) const { return CppPrinter(options).trace(*this); }
std::vector<std::string> cpp_lines(const Trace& trace) { return CppPrinter({}).lines(trace); }
std::string print(const Trace& trace, PrintOptions options) { return trace.cpp(options); }
std::ostream& operator<<(std::ostream& out, const Trace& trace) { return out << trace.cpp(); }
std::ostream& operator<<(std::ostream& out, const BoundSymbol& bound) { return out << CppPrinter({}).line(bound); }

}  // namespace fulgurite
