#include <fulgurite/python_form.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/analysis/uses.h"
#include "ir/custom_function.h"
#include "ir/printing/print_common.h"
#include "ir/structural.h"

namespace fulgurite {

namespace {

constexpr std::string_view clear_collection_definition =
    "def clear_collection(collection):\n"
    "  if isinstance(collection, list):\n"
    "    collection.clear()\n";

// Stands for the cotangents that the caller would pass.
constexpr std::string_view get_grad_definition =
    "class prims:\n"
    "  @staticmethod\n"
    "  def get_grad(result, position):\n"
    "    return torch.ones_like(result)\n";

std::string dtype_text(Dtype dtype) {
  static constexpr const char* names[dtype_count] = {"float64", "float32", "bfloat16", "float16", "int64",
                                                     "int32",   "int16",   "int8",     "uint8",   "bool"};
  return text::cat("torch.", names[static_cast<int>(dtype)]);
}

std::string float_text(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return text::cat(value);
}

// "(a, b)", "(a,)", "()"
std::string tuple_text(const std::vector<std::string>& items) {
  return text::cat("(", text::join(items, [](const std::string& s) { return s; }), items.size() == 1 ? ",)" : ")");
}

class PythonPrinter final : public OpPrinter {
 public:
  explicit PythonPrinter(const PrintOptions& options) : OpPrinter(options, "# ") {}

  std::string trace(const Trace& trace) {
    is_backward_ = trace.tags.has(Tag::backward);
    print_provenance(trace);
    std::string provenance = std::move(out_);
    out_ = text::cat("@torch.no_grad()\ndef ", trace.name, "(",
                     text::join(trace.args, [](const Value& arg) { return identifier(proxy_name(arg)); }), "):\n");
    print_argument_types(trace);
    print_body(trace);
    // Definitions were collected while printing.
    std::string head = provenance + "import torch\n";
    const auto uses_math = [](const std::string& text) { return text.find("math.") != std::string::npos; };
    if (uses_math(out_) || std::ranges::any_of(definitions_, uses_math))
      head = provenance + "import math\n\nimport torch\n";
    for (const std::string& definition : definitions_) head += "\n" + definition;
    return head + "\n" + out_;
  }

  std::vector<std::string> lines(const Trace& trace) {
    is_backward_ = trace.tags.has(Tag::backward);
    return body_lines(trace);
  }

  std::string line(const BoundSymbol& bound) {
    print(bound, 0);
    while (!out_.empty() && out_.back() == '\n') out_.pop_back();
    return std::move(out_);
  }

  std::string value_text(const Value& v) const { return value(v); }

 private:
  std::string value(const Value& v) const {
    switch (v.kind()) {
      case Value::Kind::none: return "None";
      case Value::Kind::tensor: return name(v);
      case Value::Kind::integer: return v.is_proxy() ? name(v) : text::cat(v.integer().hint());
      case Value::Kind::floating: return v.is_proxy() ? name(v) : float_text(v.floating().hint());
      case Value::Kind::boolean: return v.is_proxy() ? name(v) : v.boolean().hint() ? "True" : "False";
      case Value::Kind::string: return quoted(v.string(), '\'');
      case Value::Kind::dtype: return dtype_text(v.dtype());
      case Value::Kind::device: return text::cat("torch.device(\"", v.device().name(), "\")");
      case Value::Kind::list: return tuple_text(values(v.list()));
      case Value::Kind::slice: {
        const Slice slice = v.slice();
        return text::cat("slice(", bound(slice.start), ", ", bound(slice.stop), ", ", bound(slice.step), ")");
      }
      case Value::Kind::ellipsis: return "...";
      case Value::Kind::collection: return identifier(v.collection_name());
    }
    return {};
  }
  std::vector<std::string> values(std::span<const Value> list) const {
    std::vector<std::string> out;
    for (const Value& item : list) out.push_back(value(item));
    return out;
  }
  std::string bound(const std::optional<Int>& end) const { return end ? value(Value(*end)) : "None"; }
  std::string name(const Value& v) const {
    if (local_names_)
      if (const auto local = local_names_->find(proxy_id(v)); local != local_names_->end()) return local->second;
    return identifier(proxy_name(v));
  }

  std::string statement(const BoundSymbol& bound, bool in_comment) override {
    switch (statement_of(*bound.symbol)) {
      case Statement::result: return "return " + result(bound);
      case Statement::unpack: return unpack(bound);
      case Statement::clear:
        define(std::string(clear_collection_definition));
        return text::cat("clear_collection(", value(bound.args[0]), ")");
      case Statement::del: return "del " + text::join(values(bound.args), [](const std::string& s) { return s; });
      case Statement::call: break;
    }
    const bool is_custom = is_custom_function(bound);
    std::string call = in_comment ? short_call(bound) : is_custom ? custom_call(bound) : full_call(bound);
    if (bound.outputs.empty()) return call;
    std::vector<std::string> names = values(bound.outputs);
    if (is_shape_query(bound)) {
      for (size_t i = 0; i < names.size(); ++i)
        if (bound.outputs[i].is_none()) names[i] = "_";
      return text::cat(tuple_text(names), " = ", call);
    }
    const std::string list = text::join(names, [](const std::string& s) { return s; });
    if (bound.is_fusion() || (is_custom && !in_comment)) return text::cat("[", list, "] = ", call);
    if (bound.symbol->signature.result_count == Signature::list || names.size() > 1)
      return text::cat(tuple_text(names), " = ", call);
    return text::cat(list, " = ", call);
  }

  std::string result(const BoundSymbol& bound) const {
    if (bound.kwargs.empty()) {
      const std::vector<std::string> results = values(bound.args);
      return results.size() == 1 && !is_backward_ ? results[0] : tuple_text(results);
    }
    std::string dictionary;
    std::vector<std::string> saved;
    for (const auto& [key, v] : bound.kwargs) {
      if (key == "saved_tensors" || key == "saved_other") {
        saved.push_back(value(v));
        continue;
      }
      dictionary += text::cat(dictionary.empty() ? "'" : ", '", key, "': ");
      if (key == "flat_args")
        dictionary += text::cat("[", text::join(values(v.list()), [](const std::string& s) { return s; }), "]");
      else dictionary += value(v);
    }
    return text::cat("{", dictionary, "}", saved.empty() ? std::string() : ", " + tuple_text(saved));
  }

  std::string unpack(const BoundSymbol& bound) const {
    std::string out;
    for (const Value& output : bound.outputs) {
      const bool is_empty = output.is_none() || (output.is_collection() && output.list().empty());
      out += text::cat(is_empty ? "_" : value(output), ", \\\n");
    }
    if (bound.outputs.empty()) out = "() \\\n";
    return text::cat(out, "= ", value(bound.args[0]));
  }

  // The executable call: the operator's PyTorch spelling, or the function defined above for it.
  std::string full_call(const BoundSymbol& bound) {
    const Symbol& symbol = *bound.symbol;
    const auto parameters = symbol.signature.params();
    if (!symbol.python_definition.empty()) define(std::string(symbol.python_definition));
    if (std::string index = indexing(bound); !index.empty()) return index;
    if (!symbol.python.empty()) {
      std::vector<std::string> texts = values(bound.args);
      for (const auto& [key, v] : bound.kwargs) texts.push_back(value(v));
      return fill_pattern(symbol.python, texts);
    }
    if (is_get_grad(symbol)) define(std::string(get_grad_definition));
    // PyTorch's generator would return other numbers.
    const bool is_native =
        symbol.qualified_name().starts_with("torch.") && !std::ranges::any_of(bound.subsymbols, has_effect);
    if (is_native || bound.subsymbols.empty())
      return text::cat(symbol.qualified_name(), "(", arguments(bound, parameters), ")");
    if (bound.is_fusion()) return fusion_call(bound);
    std::vector<std::string> texts = values(bound.args);
    for (const auto& [key, v] : bound.kwargs) texts.push_back(value(v));
    return text::cat(defined_operator(bound), "(", text::join(texts, [](const std::string& s) { return s; }), ")");
  }

  // In comments: leaf primitives are prims.
  std::string short_call(const BoundSymbol& bound) const {
    const Symbol& symbol = *bound.symbol;
    const bool is_leaf = bound.subsymbols.empty() && !symbol.qualified_name().starts_with("prims.");
    const std::string name = is_leaf ? text::cat("prims.", symbol.name())
                                     : std::string(is_custom_function(bound) ? symbol.name() : symbol.qualified_name());
    return text::cat(name, "(", arguments(bound, symbol.signature.params()), ")");
  }

  std::string arguments(const BoundSymbol& bound, std::span<const Parameter> parameters) const {
    std::vector<std::string> texts = values(std::span(bound.args).first(shown_arguments(bound.args, parameters)));
    for (const auto& [key, v] : bound.kwargs) {
      const auto parameter = std::ranges::find(parameters, std::string_view(key), &Parameter::name);
      if (parameter == parameters.end() || !is_default(v, *parameter)) texts.push_back(text::cat(key, "=", value(v)));
    }
    return text::join(texts, [](const std::string& s) { return s; });
  }

  // x[1, 0:2, ...]; "" if the symbol does not index.
  std::string indexing(const BoundSymbol& bound) const {
    const auto parameters = bound.symbol->signature.params();
    if (!is_indexing(bound) || parameters.size() < 2 || bound.args.size() != 2) return {};
    const Value& index = bound.args[1];
    const std::vector<Value> items = index.is_list() ? index.list() : std::vector<Value>{index};
    const auto item_text = [&](const Value& item) {
      if (!item.is_slice())
        return item.is_list() ? "[" + text::join(values(item.list()), [](const std::string& s) { return s; }) + "]"
                              : value(item);
      const Slice slice = item.slice();
      const auto end = [&](const std::optional<Int>& e) { return e ? value(Value(*e)) : std::string(); };
      return text::cat(end(slice.start), ":", end(slice.stop), slice.step ? ":" + end(slice.step) : std::string());
    };
    return text::cat(value(bound.args[0]), "[", items.empty() ? "()" : text::join(items, item_text), "]");
  }

  void define(std::string definition) {
    if (!definition.ends_with('\n')) definition += '\n';
    if (std::ranges::find(definitions_, definition) == definitions_.end())
      definitions_.push_back(std::move(definition));
  }

  // The body of a function made of subsymbols, without its def line.
  std::string definition_body(const BoundSymbol& bound) {
    std::string body;
    for (const BoundSymbol& line : forward_lines(bound)) body += text::cat("  ", statement(line, false), "\n");
    const std::vector<std::string> results = values(bound.outputs);
    const bool is_single = results.size() == 1 && !bound.is_fusion() && !is_custom_function(bound) &&
                           bound.symbol->signature.result_count != Signature::list;
    return text::cat(body, "  return ", is_single ? results[0] : tuple_text(results), "\n");
  }

  // A fusion keeps its own name and those of its values.
  std::string fusion_call(const BoundSymbol& bound) {
    const auto* const outer_names = std::exchange(local_names_, nullptr);
    const std::string list = text::join(values(bound.args), [](const std::string& s) { return s; });
    const std::string head = text::cat("def ", bound.symbol->qualified_name(), "(", list, "):\n");
    const std::string executor = fusing_executor_text(bound);
    define(text::cat(executor.empty() ? "" : text::cat("# Run", executor, "\n"), head, definition_body(bound)));
    local_names_ = outer_names;
    return text::cat(bound.symbol->qualified_name(), "(",
                     text::join(values(bound.args), [](const std::string& s) { return s; }), ")");
  }

  // A custom function becomes a function of its forward's ops, under a unique name.
  std::string custom_call(const BoundSymbol& bound) {
    const auto* const outer_names = std::exchange(local_names_, nullptr);
    const std::string list = text::join(values(bound.args), [](const std::string& s) { return s; });
    const std::string body = definition_body(bound);
    local_names_ = outer_names;
    const std::string call =
        text::cat("(", text::join(values(bound.args), [](const std::string& s) { return s; }), ")");
    for (int number = 0;; ++number) {
      std::string name = text::cat(bound.name(), number == 0 ? "" : text::cat("_", number));
      const std::string head = text::cat("def ", name, "(");
      const std::string definition = text::cat(head, list, "):\n", body);
      const auto same =
          std::ranges::find_if(definitions_, [&](const std::string& other) { return other.starts_with(head); });
      if (same != definitions_.end() && *same != definition) continue;
      define(definition);
      return name + call;
    }
  }

  // An operator that PyTorch lacks becomes a function of its decomposition, with local names, so that equal calls share
  // it.
  std::string defined_operator(const BoundSymbol& bound) {
    std::unordered_map<int, std::string> names;
    std::string parameters;
    size_t position = 0;
    const auto add_parameter = [&](const Value& v, std::string_view given) {
      const auto all = bound.symbol->signature.params();
      const std::string parameter = identifier(std::string(!given.empty()          ? given
                                                           : position < all.size() ? all[position].name
                                                                                   : std::string_view("argument")));
      parameters += text::cat(parameters.empty() ? "" : ", ", parameter);
      ++position;
      if (v.is_list()) {
        for (size_t i = 0; i < v.list().size(); ++i)
          if (const int id = proxy_id(v.list()[i]); id >= 0) names.emplace(id, text::cat(parameter, "[", i, "]"));
      } else if (const int id = proxy_id(v); id >= 0) {
        names.emplace(id, parameter);
      }
    };
    for (const Value& v : bound.args) add_parameter(v, {});
    for (const auto& [key, v] : bound.kwargs) add_parameter(v, key);
    name_results(bound, names);
    const auto* const outer_names = std::exchange(local_names_, &names);
    const std::string body = definition_body(bound);
    local_names_ = outer_names;

    std::string base(bound.symbol->qualified_name());
    for (char& c : base)
      if (c == '.' || c == ':') c = '_';
    for (int number = 0;; ++number) {
      std::string name = number == 0 ? base : text::cat(base, "_", number);
      const std::string definition = text::cat("def ", name, "(", parameters, "):\n", body);
      const auto [at, is_new] = operators_.emplace(name, definition);
      if (is_new) define(definition);
      if (at->second == definition) return name;
    }
  }

  static void name_results(const BoundSymbol& bound, std::unordered_map<int, std::string>& names) {
    for (const BoundSymbol& subsymbol : bound.subsymbols)
      for_each_output(subsymbol, [&](const Value& output) {
        if (const int id = proxy_id(output); id >= 0) names.try_emplace(id, text::cat("v", names.size()));
      });
  }

  bool is_backward_ = false;
  std::vector<std::string> definitions_;
  std::unordered_map<std::string, std::string> operators_;  // name -> definition
  const std::unordered_map<int, std::string>* local_names_ = nullptr;
};

}  // namespace

std::vector<std::string> python_lines(const Trace& trace) { return PythonPrinter({}).lines(trace); }
std::string python(const BoundSymbol& bound, PrintOptions options) { return PythonPrinter(options).line(bound); }
std::string python_value(const Value& value) { return PythonPrinter({}).value_text(value); }
std::string Trace::python(PrintOptions options) const { return PythonPrinter(options).trace(*this); }

}  // namespace fulgurite
