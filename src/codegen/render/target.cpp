#include "codegen/render/target.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/printing/print_common.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Form = Spelling::Form;

class Renderer {
 public:
  Renderer(const ScalarExpr& expression, const Target& target, const OperandName& name)
      : nodes_(expression.nodes()), target_(target), name_(name) {}

  std::string print(size_t at, bool is_typed) const {
    const ScalarNode& node = nodes_[at];
    if (node.op == ScalarOp::operand) return name_(static_cast<int>(node.payload));
    const int count = record_of(node.op).operands;
    if (count == 0) return target_.leaf(node, is_typed);
    const Spelling spelling = spelling_of(node);
    if (spelling.form == Form::call) return call(node, spelling.text, count);
    if (spelling.form == Form::prefix) return text::cat(spelling.text, inside(node, 0, spelling.form));
    return text::cat(inside(node, 0, spelling.form), " ", spelling.text, " ", inside(node, 1, spelling.form));
  }

 private:
  Spelling spelling_of(const ScalarNode& node) const {
    const int count = record_of(node.op).operands;
    return target_.spelling(node, nodes_[node.operands[count - 1]].type);
  }

  std::string call(const ScalarNode& node, std::string_view function, int count) const {
    std::string out = text::cat(function, "(");
    for (int k = 0; k < count; ++k)
      out += text::cat(k > 0 ? ", " : "", print(node.operands[k], node.op == ScalarOp::select));
    return out + ")";
  }

  // An operand of an operator, in parentheses unless it binds more strongly.
  std::string inside(const ScalarNode& parent, int k, Form form) const {
    const size_t at = parent.operands[k];
    std::string text = print(at, false);
    if (record_of(nodes_[at].op).operands == 0) return text;
    const Form own = spelling_of(nodes_[at]).form;
    const bool is_infix = own > Form::prefix;
    const bool needs = is_infix && (form == Form::prefix || form == Form::bits || own > form ||
                                    (own == form && k == 1) || (own == form && form == Form::comparison));
    return needs ? text::cat("(", text, ")") : text;
  }

  std::span<const ScalarNode> nodes_;
  const Target& target_;
  const OperandName& name_;
};

template <class T>
std::string digits(T value, std::string_view suffix) {
  if (std::isnan(value)) return "not_a_number";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out + std::string(suffix);
}

}  // namespace

std::string render(const ScalarExpr& expression, const Target& target, const OperandName& name) {
  return Renderer(expression, target, name).print(expression.nodes().size() - 1, true);
}

std::string floating_literal(const ScalarNode& constant) {
  const double value = floating_value(constant);
  return constant.type == Lanes::doubles ? digits(value, "") : digits(static_cast<float>(value), "f");
}

std::string whole_literal(const ScalarNode& constant) {
  if (constant.payload == INT64_MIN) return "(-9223372036854775807 - 1)";
  if (constant.payload == INT32_MIN && constant.type == Lanes::ints) return "(-2147483647 - 1)";
  return text::cat(constant.payload);
}

std::vector<std::string> value_names(const Kernel& kernel, bool plain, bool (*is_taken)(std::string_view)) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kernel.values.size(); ++i) {
    std::string name = plain ? text::cat("v", i) : identifier(kernel.values[i].name);
    for (char& c : name)
      if (c == '.' || c == ':') c = '_';
    while (!plain && (is_taken(name) || std::ranges::find(names, name) != names.end())) name += '_';
    names.push_back(std::move(name));
  }
  return names;
}

std::string_view element_text(Dtype dtype) {
  static constexpr std::string_view names[dtype_count] = {
      "double", "float", "BFloat16", "Float16", "long long", "int", "short", "signed char", "unsigned char", "Boolean"};
  return names[static_cast<int>(dtype)];
}

std::string_view lane_text(Lanes lanes) {
  static constexpr std::string_view names[] = {"float", "double", "int", "long long", "int"};
  return names[static_cast<int>(lanes)];
}

}  // namespace fulgurite::codegen
