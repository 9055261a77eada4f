#include "codegen/render/vector_target.h"

#include "support/text/text.h"

namespace fulgurite::codegen {

std::string_view lanes_text(Lanes lanes) {
  static constexpr std::string_view names[] = {"Floats", "Doubles", "Ints", "Longs", "Ints"};
  return names[static_cast<int>(lanes)];
}

namespace {

using Form = Spelling::Form;

// The functions of device_lib are overloaded for all types.
constexpr Spelling spellings[] = {
    {"operand"},
    {"number"},
    {"whole"},
    {"launch.numbers"},
    {"c.places"},
    {"launch.columns"},
    {"+", Form::sum},
    {"-", Form::sum},
    {"*", Form::product},
    {"/", Form::product},
    {"fmod"},
    {"multiply_add"},
    {"-", Form::prefix},
    {"abs"},
    {"sign"},
    {"copy_sign"},
    {"maximum"},
    {"minimum"},
    {"floor"},
    {"ceil"},
    {"round_to_even"},
    {"trunc"},
    {"&", Form::bits},
    {"|", Form::bits},
    {"^", Form::bits},
    {"~", Form::prefix},
    {"==", Form::comparison},
    {"!=", Form::comparison},
    {"<", Form::comparison},
    {"<=", Form::comparison},
    {">", Form::comparison},
    {">=", Form::comparison},
    {"select"},
    {"convert"},
    {"to_numbers"},
    {"round_to_bfloat16"},
    {"round_inside_bfloat16"},
    {"round_to_float16"},
    {"wrap_16"},
    {"wrap_8"},
    {"wrap_unsigned_8"},
    {"sqrt"},
    {"exp"},
    {"exp2"},
    {"expm1"},
    {"log"},
    {"log2"},
    {"log10"},
    {"log1p"},
    {"sin"},
    {"cos"},
    {"tan"},
    {"asin"},
    {"acos"},
    {"atan"},
    {"atan2"},
    {"tanh"},
    {"erf"},
    {"sigmoid"},
    {"silu"},
    {"gelu"},
    {"gelu_tanh"},
    {"gelu_backward"},
    {"gelu_tanh_backward"},
};
static_assert(std::size(spellings) == scalar_op_count);

Spelling spelling(const ScalarNode& node, Lanes) {
  static constexpr std::string_view conversions[] = {"to_floats", "to_doubles", "to_ints", "to_longs", ""};
  if (node.op == ScalarOp::convert) return {conversions[static_cast<int>(node.type)]};
  return spellings[static_cast<int>(node.op)];
}

std::string constant_text(const ScalarNode& node) {
  if (node.op == ScalarOp::whole) return text::cat(node.payload);
  if (node.type == Lanes::mask) return node.payload != 0 ? "-1" : "0";  // all bits of a lane
  const bool is_floating = node.type == Lanes::floats || node.type == Lanes::doubles;
  return is_floating ? floating_literal(node) : whole_literal(node);
}

bool is_negative(const ScalarNode& node) {
  const bool is_floating = node.type == Lanes::floats || node.type == Lanes::doubles;
  if (node.op == ScalarOp::number && node.type == Lanes::mask) return node.payload != 0;
  if (node.op == ScalarOp::number && is_floating)
    return floating_value(node) < 0 || (floating_value(node) == 0 && node.payload != 0);
  const bool is_least = node.payload == INT64_MIN || (node.payload == INT32_MIN && node.type == Lanes::ints);
  return node.payload < 0 && !is_least;
}

// Constants become lanes by themselves where one operand has lanes; but a selection has several of them.
std::string leaf(const ScalarNode& node, bool is_typed) {
  const std::string_view type = lanes_text(node.type);
  switch (node.op) {
    case ScalarOp::launch_number: return text::cat(type, "(launch.numbers[", node.payload, "])");
    case ScalarOp::column_count: return text::cat(type, "(launch.columns)");
    case ScalarOp::column_index: return "c.places()";
    default: break;
  }
  const std::string text = constant_text(node);
  if (is_typed) return text::cat(type, "(", text, ")");
  return is_negative(node) ? text::cat("(", text, ")") : text;
}

}  // namespace

const Target vector_target{spelling, leaf};

HeaderParts header_parts(const ScalarExpr& expression) {
  HeaderParts parts;
  for (const ScalarNode& node : expression.nodes()) {
    parts.is_wide = parts.is_wide || node.type == Lanes::doubles || node.type == Lanes::longs;
    switch (node.op) {
      case ScalarOp::remainder:
      case ScalarOp::tan:
      case ScalarOp::asin:
      case ScalarOp::acos:
      case ScalarOp::atan:
      case ScalarOp::atan2: parts.has_angles = true; break;
      default: break;
    }
  }
  return parts;
}

HeaderParts header_parts(const Kernel& kernel) {
  HeaderParts all;
  for (const KernelValue& value : kernel.values) {
    const HeaderParts parts = header_parts(value.expression);
    all.is_wide = all.is_wide || parts.is_wide || value.lanes == Lanes::doubles || value.lanes == Lanes::longs;
    all.has_angles = all.has_angles || parts.has_angles;
  }
  return all;
}

}  // namespace fulgurite::codegen
