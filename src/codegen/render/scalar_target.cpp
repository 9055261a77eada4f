#include "codegen/render/scalar_target.h"

#include <cmath>

#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Form = Spelling::Form;

bool is_floating(Lanes type) { return type == Lanes::floats || type == Lanes::doubles; }

/// An operation on floating values and masks, and on integers, if it differs: those wrap around.
struct Entry {
  Spelling spelling, integers = {};
};
constexpr Entry entries[] = {
    {{"operand"}},
    {{"number"}},
    {{"whole"}},
    {{"launch.numbers"}},
    {{"c"}},
    {{"launch.columns"}},
    {{"+", Form::sum}, {"add"}},
    {{"-", Form::sum}, {"subtract"}},
    {{"*", Form::product}, {"multiply"}},
    {{"/", Form::product}},
    {{"fmod"}},
    {{"multiply_add"}},
    {{"-", Form::prefix}, {"negate"}},
    {{"abs"}},
    {{"sign"}},
    {{"copy_sign"}},
    {{"maximum"}},
    {{"minimum"}},
    {{"floor"}},
    {{"ceil"}},
    {{"round_to_even"}},
    {{"trunc"}},
    {{"&&", Form::bits}, {"&", Form::bits}},
    {{"||", Form::bits}, {"|", Form::bits}},
    {{"!=", Form::bits}, {"^", Form::bits}},
    {{"!", Form::prefix}, {"~", Form::prefix}},
    {{"==", Form::comparison}},
    {{"!=", Form::comparison}},
    {{"<", Form::comparison}},
    {{"<=", Form::comparison}},
    {{">", Form::comparison}},
    {{">=", Form::comparison}},
    {{"select"}},
    {{"convert"}},
    {{"to_int"}},
    {{"round_to_bfloat16"}},
    {{"round_to_bfloat16"}},
    {{"round_to_float16"}},
    {{"wrap_16"}},
    {{"wrap_8"}},
    {{"wrap_unsigned_8"}},
    {{"sqrt"}},
    {{"exp"}},
    {{"exp2"}},
    {{"expm1"}},
    {{"log"}},
    {{"log2"}},
    {{"log10"}},
    {{"log1p"}},
    {{"sin"}},
    {{"cos"}},
    {{"tan"}},
    {{"asin"}},
    {{"acos"}},
    {{"atan"}},
    {{"atan2"}},
    {{"tanh"}},
    {{"erf"}},
    {{"sigmoid"}},
    {{"silu"}},
    {{"gelu"}},
    {{"gelu_tanh"}},
    {{"gelu_backward"}},
    {{"gelu_tanh_backward"}},
};
static_assert(std::size(entries) == scalar_op_count);

Spelling spelling(const ScalarNode& node, Lanes operand_type) {
  static constexpr std::string_view conversions[] = {"to_float", "to_double", "to_int", "to_long", ""};
  if (node.op == ScalarOp::convert) return {conversions[static_cast<int>(node.type)]};
  const Entry& entry = entries[static_cast<int>(node.op)];
  const bool is_integer = operand_type == Lanes::ints || operand_type == Lanes::longs;
  return is_integer && !entry.integers.text.empty() ? entry.integers : entry.spelling;
}

std::string floating_text(const ScalarNode& node) {
  if (node.op == ScalarOp::whole) return text::cat(node.payload, node.type == Lanes::floats ? ".0f" : ".0");
  const double value = floating_value(node);
  if (node.type == Lanes::doubles && !std::isfinite(value))
    return text::cat(value < 0 ? "-" : "", std::isnan(value) ? "(double)not_a_number" : "(double)infinity");
  return floating_literal(node);
}

std::string leaf(const ScalarNode& node, bool) {
  switch (node.op) {
    case ScalarOp::launch_number: return text::cat("(", lane_text(node.type), ")launch.numbers[", node.payload, "]");
    case ScalarOp::column_count: return text::cat("(", lane_text(node.type), ")launch.columns");
    case ScalarOp::column_index: return "(int)c";
    default: break;
  }
  if (node.type == Lanes::mask) return node.payload != 0 ? "true" : "false";
  if (is_floating(node.type)) {
    const bool is_negative = node.op == ScalarOp::whole ? node.payload < 0 : std::signbit(floating_value(node));
    return is_negative ? text::cat("(", floating_text(node), ")") : floating_text(node);
  }
  const std::string text = text::cat(whole_literal(node), node.type == Lanes::longs ? "LL" : "");
  if (node.type == Lanes::longs && node.payload == INT64_MIN) return "(-9223372036854775807LL - 1)";
  return node.payload < 0 ? text::cat("(", text, ")") : text;
}

}  // namespace

const Target scalar_target{spelling, leaf};

std::string_view scalar_type_text(Lanes lanes) { return lanes == Lanes::mask ? "bool" : lane_text(lanes); }

}  // namespace fulgurite::codegen
