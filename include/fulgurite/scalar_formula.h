#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fulgurite/dtype.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

class Argument;

/// The operations of kernel expressions. Integers wrap around. Each target of the code generator has one table from
/// operations to text.
enum class ScalarOp : uint8_t {
  // Without operands.
  operand,        // an operand of the kernel value, or an argument of an op's call
  number,         // a constant of the program
  whole,          // a small whole number that is exact in every type, part of an operation's definition
  launch_number,  // a number that is known only at launch, because it may be a size
  column_index,   // i32: the index of the element in its row
  column_count,   // the size of a row
  // Arithmetic in one type.
  add,
  subtract,
  multiply,
  divide,
  remainder,     // of a division rounded toward zero; exact
  multiply_add,  // a * b + c, rounded once if the target has an instruction for it
  negate,
  absolute,
  sign,
  copy_sign,
  maximum,  // NaN if either operand is
  minimum,
  floor,
  ceil,
  round,  // ties to even
  truncate,
  // Bits of integers and masks.
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  // Comparisons give a mask; `select` is its second operand where the mask holds, else its third.
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  select,
  // Conversions: as in C; a mask is 1 or 0.
  convert,
  mask_to_number,
  // Roundings to the numbers of a narrower dtype. Inside bf16: for values that are NaN only with the bits of a bf16
  // NaN.
  round_bf16,
  round_inside_bf16,
  round_f16,
  wrap_i16,
  wrap_i8,
  wrap_u8,
  // Functions of floating types.
  sqrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  atan2,
  tanh,
  erf,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  gelu_backward,
  gelu_tanh_backward,
};

/// An element of a pointwise operator's result as a formula of its operands' elements, which generated kernels compute:
/// "maximum(input, 0)", "1 / sqrt(input)", "where(input > 0, input, slope * input)". Names are those of the signature's
/// parameters. As in Python, from the loosest: == != < <= > >=, | & ^ (of integers and conditions), + -, * /, unary -
/// ~, calls and parentheses. Numbers are decimal; `inf` is infinite. Functions: abs acos asin atan atan2 ceil copysign
/// cos erf exp exp2 expm1 floor fmod gelu gelu_backward gelu_tanh gelu_tanh_backward log log10 log1p log2 maximum
/// minimum multiply_add round sigmoid sign silu sin sqrt tan tanh trunc where. 16-bit numbers are computed in f32 and
/// rounded once. A malformed formula does not compile.
struct ScalarFormula {
  static constexpr int max_nodes = 32;
  /// An operation on the nodes before it, in postorder; an operand and a number have their place in the text.
  struct Node {
    ScalarOp op = ScalarOp::operand;
    uint8_t begin = 0, length = 0;
  };
  std::string_view text{};
  std::array<Node, max_nodes> postorder{};
  int count = 0;

  constexpr ScalarFormula() = default;
  template <size_t N>
  consteval ScalarFormula(const char (&spelling)[N]) : ScalarFormula(std::string_view(spelling, N - 1)) {}
  /// For operators made at run time; the text must outlive the formula. Throws a const char* that describes the error.
  constexpr explicit ScalarFormula(std::string_view spelling);

  constexpr bool empty() const { return count == 0; }
  std::span<const Node> nodes() const { return {postorder.data(), static_cast<size_t>(count)}; }
  std::string_view text_of(Node node) const { return text.substr(node.begin, node.length); }
};

/// The formula of an operator, or a function that chooses it from the arguments and the result's dtype, for calls with
/// an expression of their own; an empty formula if a call has none.
struct ScalarRule {
  using Choice = ScalarFormula (*)(std::span<const Argument>, Dtype result);

  constexpr ScalarRule() = default;
  template <size_t N>
  consteval ScalarRule(const char (&text)[N]) : formula(text) {}
  template <class F, class = std::enable_if_t<std::is_convertible_v<F, Choice>>>
  constexpr ScalarRule(F choose) : choose(choose) {}

  constexpr bool empty() const { return formula.empty() && choose == nullptr; }
  ScalarFormula of(std::span<const Argument> arguments, Dtype result) const {
    return choose ? choose(arguments, result) : formula;
  }

  ScalarFormula formula{};
  Choice choose = nullptr;
};

namespace detail {

struct FormulaFunction {
  std::string_view name;
  ScalarOp op;
  int operands = 1;
};
inline constexpr FormulaFunction formula_functions[] = {
    {"abs", ScalarOp::absolute},
    {"acos", ScalarOp::acos},
    {"asin", ScalarOp::asin},
    {"atan", ScalarOp::atan},
    {"atan2", ScalarOp::atan2, 2},
    {"ceil", ScalarOp::ceil},
    {"copysign", ScalarOp::copy_sign, 2},
    {"cos", ScalarOp::cos},
    {"erf", ScalarOp::erf},
    {"exp", ScalarOp::exp},
    {"exp2", ScalarOp::exp2},
    {"expm1", ScalarOp::expm1},
    {"floor", ScalarOp::floor},
    {"fmod", ScalarOp::remainder, 2},
    {"gelu", ScalarOp::gelu},
    {"gelu_backward", ScalarOp::gelu_backward, 2},
    {"gelu_tanh", ScalarOp::gelu_tanh},
    {"gelu_tanh_backward", ScalarOp::gelu_tanh_backward, 2},
    {"log", ScalarOp::log},
    {"log10", ScalarOp::log10},
    {"log1p", ScalarOp::log1p},
    {"log2", ScalarOp::log2},
    {"maximum", ScalarOp::maximum, 2},
    {"minimum", ScalarOp::minimum, 2},
    {"multiply_add", ScalarOp::multiply_add, 3},
    {"round", ScalarOp::round},
    {"sigmoid", ScalarOp::sigmoid},
    {"sign", ScalarOp::sign},
    {"silu", ScalarOp::silu},
    {"sin", ScalarOp::sin},
    {"sqrt", ScalarOp::sqrt},
    {"tan", ScalarOp::tan},
    {"tanh", ScalarOp::tanh},
    {"trunc", ScalarOp::truncate},
    {"where", ScalarOp::select, 3},
};

struct FormulaReader {
  ScalarFormula& out;
  size_t at = 0;

  using Spellings = std::pair<std::string_view, ScalarOp>;
  static constexpr bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

  constexpr void skip_spaces() {
    while (at < out.text.size() && out.text[at] == ' ') ++at;
  }
  constexpr bool take(std::string_view word) {
    skip_spaces();
    if (out.text.substr(at, word.size()) != word) return false;
    at += word.size();
    return true;
  }
  constexpr void push(ScalarOp op, size_t begin = 0, size_t end = 0) {
    if (out.count == ScalarFormula::max_nodes) throw "a formula has at most 32 operations, operands and numbers";
    out.postorder[static_cast<size_t>(out.count++)] = {op, static_cast<uint8_t>(begin),
                                                       static_cast<uint8_t>(end - begin)};
  }
  template <size_t N>
  constexpr bool take_operator(const Spellings (&spellings)[N], ScalarOp& op) {
    for (const auto& [spelling, its] : spellings) {
      if (!take(spelling)) continue;
      op = its;
      return true;
    }
    return false;
  }

  constexpr void comparison() {
    constexpr Spellings spellings[] = {{"==", ScalarOp::equal},         {"!=", ScalarOp::not_equal},
                                       {"<=", ScalarOp::less_equal},    {"<", ScalarOp::less},
                                       {">=", ScalarOp::greater_equal}, {">", ScalarOp::greater}};
    bits();
    ScalarOp op{};
    if (!take_operator(spellings, op)) return;
    bits();
    push(op);
  }
  constexpr void bits() {
    constexpr Spellings spellings[] = {{"&", ScalarOp::bit_and}, {"|", ScalarOp::bit_or}, {"^", ScalarOp::bit_xor}};
    sum();
    for (ScalarOp op{}; take_operator(spellings, op); push(op)) sum();
  }
  constexpr void sum() {
    constexpr Spellings spellings[] = {{"+", ScalarOp::add}, {"-", ScalarOp::subtract}};
    product();
    for (ScalarOp op{}; take_operator(spellings, op); push(op)) product();
  }
  constexpr void product() {
    constexpr Spellings spellings[] = {{"*", ScalarOp::multiply}, {"/", ScalarOp::divide}};
    unary();
    for (ScalarOp op{}; take_operator(spellings, op); push(op)) unary();
  }
  constexpr void unary() {
    constexpr Spellings spellings[] = {{"-", ScalarOp::negate}, {"~", ScalarOp::bit_not}};
    ScalarOp op{};
    if (!take_operator(spellings, op)) return primary();
    unary();
    push(op);
  }
  constexpr void primary() {
    if (take("(")) {
      comparison();
      if (!take(")")) throw "')' is missing in a formula";
      return;
    }
    skip_spaces();
    if (at < out.text.size() && is_digit(out.text[at])) return number();
    const size_t begin = at;
    while (at < out.text.size() && (is_letter(out.text[at]) || is_digit(out.text[at]))) ++at;
    if (at == begin) throw "a formula lacks a name, a number or '('";
    const size_t end = at;
    const std::string_view name = out.text.substr(begin, end - begin);
    if (take("(")) call(name);
    else push(name == "inf" ? ScalarOp::number : ScalarOp::operand, begin, end);
  }
  constexpr void number() {
    const size_t begin = at;
    bool is_whole = true;
    for (; at < out.text.size() && (is_digit(out.text[at]) || out.text[at] == '.'); ++at)
      is_whole = is_whole && out.text[at] != '.';
    push(is_whole && at - begin < 10 ? ScalarOp::whole : ScalarOp::number, begin, at);
  }
  constexpr void call(std::string_view name) {
    for (const FormulaFunction& function : formula_functions) {
      if (function.name != name) continue;
      for (int k = 0; k < function.operands; ++k) {
        if (k > 0 && !take(",")) throw "a formula's function has too few arguments";
        comparison();
      }
      if (!take(")")) throw "a formula's function has too many arguments";
      return push(function.op);
    }
    throw "a formula's function is not one of those that ScalarFormula lists";
  }
};

}  // namespace detail

constexpr ScalarFormula::ScalarFormula(std::string_view spelling) : text(spelling) {
  if (spelling.size() > 255) throw "a formula has at most 255 characters";
  detail::FormulaReader reader{*this};
  reader.comparison();
  reader.skip_spaces();
  if (reader.at != spelling.size()) throw "text is left over after a formula";
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
