#include "codegen/lowering/scalar_ops.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fulgurite/symbol.h>

#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"
#include "tensor/half.h"

namespace fulgurite::codegen {

namespace {

/// The spelling of an operator. Without a text for integers it supports floating dtypes only.
struct Spelling {
  const Symbol* symbol;
  std::string_view floating, integer = {};
  bool is_costly = false, is_exact = false;
};
constexpr bool costly = true, cheap = false, exact = true;

const Spelling unary[] = {
    {&abs_symbol, "abs({0})", "abs({0})", cheap, exact},
    {&neg_symbol, "-{0}", "-{0}", cheap, exact},
    {&square_symbol, "{0} * {0}", "{0} * {0}"},
    {&sign_symbol, "sign({0})", "sign({0})", cheap, exact},
    {&floor_symbol, "floor({0})", "{0}", cheap, exact},
    {&ceil_symbol, "ceil({0})", "{0}", cheap, exact},
    {&round_symbol, "round_to_even({0})", "{0}", cheap, exact},
    {&trunc_symbol, "trunc({0})", "{0}", cheap, exact},
    {&relu_symbol, "maximum({0}, 0)", "maximum({0}, 0)", cheap, exact},
    {&exp_symbol, "exp({0})", {}, costly},
    {&exp2_symbol, "exp2({0})", {}, costly},
    {&expm1_symbol, "expm1({0})", {}, costly},
    {&log_symbol, "log({0})", {}, costly},
    {&log2_symbol, "log2({0})", {}, costly},
    {&log10_symbol, "log10({0})", {}, costly},
    {&log1p_symbol, "log1p({0})", {}, costly},
    {&sqrt_symbol, "sqrt({0})", {}, costly},
    {&rsqrt_symbol, "1 / sqrt({0})", {}, costly},
    {&reciprocal_symbol, "1 / {0}", {}, costly},
    {&sin_symbol, "sin({0})", {}, costly},
    {&cos_symbol, "cos({0})", {}, costly},
    {&tan_symbol, "tan({0})", {}, costly},
    {&asin_symbol, "asin({0})", {}, costly},
    {&acos_symbol, "acos({0})", {}, costly},
    {&atan_symbol, "atan({0})", {}, costly},
    {&tanh_symbol, "tanh({0})", {}, costly},
    {&erf_symbol, "erf({0})", {}, costly},
    {&sigmoid_symbol, "sigmoid({0})", {}, costly},
    {&silu_symbol, "silu({0})", {}, costly},
};
const Spelling binary[] = {
    {&maximum_symbol, "maximum({0}, {1})", "maximum({0}, {1})", cheap, exact},
    {&minimum_symbol, "minimum({0}, {1})", "minimum({0}, {1})", cheap, exact},
    {&clamp_min_symbol, "maximum({0}, {1})", "maximum({0}, {1})", cheap, exact},
    {&clamp_max_symbol, "minimum({0}, {1})", "minimum({0}, {1})", cheap, exact},
    {&bitwise_and_symbol, {}, "{0} & {1}"},
    {&bitwise_or_symbol, {}, "{0} | {1}"},
    {&bitwise_xor_symbol, {}, "{0} ^ {1}"},
    {&atan2_symbol, "atan2({0}, {1})", {}, costly},
    {&copysign_symbol, "copy_sign({0}, {1})", {}, cheap, exact},
};
const Spelling tests[] = {
    {&isnan_symbol, "{0} != {0}"},
    {&isinf_symbol, "abs({0}) == infinity"},
    {&isfinite_symbol, "abs({0}) < infinity"},
    {&logical_not_symbol, "{0} == 0", "{0} == 0"},
};
const Spelling comparisons[] = {
    {&eq_symbol, "{0} == {1}", "{0} == {1}"},
    {&ne_symbol, "{0} != {1}", "{0} != {1}"},
    {&lt_symbol, "{0} < {1}", "{0} < {1}"},
    {&le_symbol, "{0} <= {1}", "{0} <= {1}"},
    {&gt_symbol, "{0} > {1}", "{0} > {1}"},
    {&ge_symbol, "{0} >= {1}", "{0} >= {1}"},
    {&logical_and_symbol, "({0} != 0) & ({1} != 0)", "({0} != 0) & ({1} != 0)"},
    {&logical_or_symbol, "({0} != 0) | ({1} != 0)", "({0} != 0) | ({1} != 0)"},
    {&logical_xor_symbol, "({0} != 0) ^ ({1} != 0)", "({0} != 0) ^ ({1} != 0)"},
};

template <class Entry, size_t count>
const Entry* find(const Entry (&entries)[count], const Symbol& symbol) {
  const auto* const found = std::ranges::find(entries, &symbol, &Entry::symbol);
  return found != std::end(entries) ? found : nullptr;
}

/// The dtype that arithmetic on a dtype is computed in, as in the eager kernels.
Dtype computed_in(Dtype dtype) {
  if (dtype == Dtype::f64 || dtype == Dtype::i64) return dtype;
  return is_floating(dtype) ? Dtype::f32 : Dtype::i32;
}

std::string_view spelled(const Spelling& spelling, Dtype dtype) {
  return is_floating(dtype) ? spelling.floating : spelling.integer;
}

std::optional<Expression> made(std::string_view text, SmallVector<int, 4> arguments, Dtype read, Dtype computed,
                               bool is_costly = false, bool is_exact = false) {
  if (text.empty()) return std::nullopt;
  return Expression{std::string(text), std::move(arguments), read, computed, is_costly, is_exact};
}

// Returns true for a factor that moves the exponent up: bf16 overflows where f32 does, and no digits are lost.
bool is_large_power_of_two(const Argument& factor) {
  if (!factor.is_number()) return false;
  int exponent = 0;
  return std::fabs(std::frexp(factor.floating().hint(), &exponent)) == 0.5 && exponent >= 1 && exponent <= 100;
}

// add and sub with their factor.
std::optional<Expression> sum_of(std::string_view sign, Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  const bool is_one = a[2].floating().hint() == 1;
  if (is_one) return made(text::cat("{0} ", sign, " {1}"), {0, 1}, computed, computed);
  if (!is_floating(computed))
    return made(sign == "-" ? "{0} - {2} * {1}" : "{2} * {1} + {0}", {0, 1, 2}, computed, computed);
  return made(sign == "-" ? "multiply_add(-{2}, {1}, {0})" : "multiply_add({2}, {1}, {0})", {0, 1, 2}, computed,
              computed);
}

std::optional<Expression> product_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  const bool moves_exponent = result == Dtype::bf16 && (is_large_power_of_two(a[0]) || is_large_power_of_two(a[1]));
  return made("{0} * {1}", {0, 1}, computed, computed, cheap, moves_exponent);
}

std::optional<Expression> quotient_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (!is_floating(computed)) return std::nullopt;
  if (a[2].is_none()) return made("{0} / {1}", {0, 1}, computed, computed, costly);
  return a[2].string() == "trunc" ? made("trunc({0} / {1})", {0, 1}, computed, computed, costly) : std::nullopt;
}

std::optional<Expression> remainder_of(Arguments a, Dtype result) {
  // The scalar is rounded to the result's dtype, which an expression in f32 would not do.
  const bool rounds_scalar = size_of(result) == 2 && a[1].is_number();
  if (computed_in(result) != Dtype::f32 || rounds_scalar) return std::nullopt;
  return made("fmod({0}, {1})", {0, 1}, Dtype::f32, Dtype::f32, costly, exact);
}

// The exponents that eager mode has kernels for.
std::optional<Expression> power_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (a[1].is_tensor() || !is_floating(computed)) return std::nullopt;
  static constexpr std::pair<double, std::string_view> powers[] = {
      {0.5, "sqrt({0})"}, {-0.5, "1 / sqrt({0})"}, {-1, "1 / {0}"},       {-2, "1 / ({0} * {0})"},
      {1, "{0}"},         {2, "{0} * {0}"},        {3, "{0} * {0} * {0}"}};
  for (const auto& [exponent, text] : powers)
    if (a[1].floating().hint() == exponent) return made(text, {0}, computed, computed, exponent < 1);
  return std::nullopt;
}

std::optional<Expression> clamped(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (a[1].is_none()) return made("minimum({0}, {2})", {0, 2}, computed, computed, cheap, exact);
  if (a[2].is_none()) return made("maximum({0}, {1})", {0, 1}, computed, computed, cheap, exact);
  return made("minimum(maximum({0}, {1}), {2})", {0, 1, 2}, computed, computed, cheap, exact);
}

// Only bits move: operands are read in the result's own dtype.
std::optional<Expression> selected(std::string_view text, int condition, Dtype result) {
  std::optional<Expression> select = made(text, {0, 1, 2}, result, result, cheap, exact);
  select->condition = condition;
  return select;
}

/// An operator with an expression that depends on the arguments.
struct Rule {
  const Symbol* symbol;
  std::optional<Expression> (*expression)(Arguments, Dtype result);
};
const Rule rules[] = {
    {&add_symbol, [](Arguments a, Dtype result) { return sum_of("+", a, result); }},
    {&sub_symbol, [](Arguments a, Dtype result) { return sum_of("-", a, result); }},
    {&mul_symbol, product_of},
    {&div_symbol, quotient_of},
    {&fmod_symbol, remainder_of},
    {&pow_symbol, power_of},
    {&clamp_symbol, clamped},
    {&bitwise_not_symbol,
     [](Arguments, Dtype result) {
       const Dtype computed = result == Dtype::boolean ? result : computed_in(result);
       return made("~{0}", {0}, computed, computed);
     }},
    {&where_symbol, [](Arguments, Dtype result) { return selected("select({0}, {1}, {2})", 0, result); }},
    {&masked_fill_symbol, [](Arguments, Dtype result) { return selected("select({1}, {2}, {0})", 1, result); }},
    {&gelu_symbol,
     [](Arguments a, Dtype result) {
       const Dtype computed = computed_in(result);
       return made(a[1].string() == "tanh" ? "gelu_tanh({0})" : "gelu({0})", {0}, computed, computed, costly);
     }},
    {&prims_gelu_backward_symbol,
     [](Arguments a, Dtype result) {
       const Dtype computed = computed_in(result);
       const bool is_tanh = a[2].string() == "tanh";
       return made(is_tanh ? "gelu_tanh_backward({0}, {1})" : "gelu_backward({0}, {1})", {0, 1}, computed, computed,
                   costly);
     }},
};

}  // namespace

Lanes lanes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return Lanes::doubles;
    case Dtype::i64: return Lanes::longs;
    case Dtype::boolean: return Lanes::mask;
    default: return is_floating(dtype) ? Lanes::floats : Lanes::ints;
  }
}

std::optional<Expression> expression_of(const Symbol& symbol, Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (const Spelling* s = find(unary, symbol))
    return made(spelled(*s, computed), {0}, computed, computed, s->is_costly, s->is_exact);
  if (const Spelling* s = find(binary, symbol))
    return made(spelled(*s, computed), {0, 1}, computed, computed, s->is_costly, s->is_exact);
  if (const Spelling* s = find(tests, symbol)) {
    const Dtype read = computed_in(a[0].tensor().dtype());
    return made(spelled(*s, read), {0}, read, Dtype::boolean);
  }
  if (const Spelling* s = find(comparisons, symbol)) {
    const Dtype read = computed_in(result_dtype(a.first(2)));
    return made(spelled(*s, read), {0, 1}, read, Dtype::boolean);
  }
  if (const Rule* rule = find(rules, symbol)) return rule->expression(a, result);
  return std::nullopt;
}

std::string rounded_text(const std::string& text, Dtype dtype) {
  return text::cat(dtype == Dtype::bf16 ? "round_to_bfloat16(" : "round_to_float16(", text, ")");
}

std::string converted(const std::string& text, Dtype from, Dtype to) {
  const Lanes wanted = lanes_of(to);
  if (from == to) return text;
  if (from == Dtype::boolean) {
    if (wanted == Lanes::ints) return text::cat("to_numbers(", text, ")");
    return converted(text::cat("to_numbers(", text, ")"), Dtype::u8, to);
  }
  if (to == Dtype::boolean) return text::cat(text, " != 0");
  std::string out = text;
  if (lanes_of(from) != wanted && !(wanted == Lanes::ints && lanes_of(from) == Lanes::ints)) {
    static constexpr std::string_view names[] = {"to_floats", "to_doubles", "to_ints", "to_longs", ""};
    out = text::cat(names[static_cast<int>(wanted)], "(", text, ")");
  }
  switch (to) {
    case Dtype::bf16:
    case Dtype::f16: return from == Dtype::i8 || from == Dtype::u8 ? out : rounded_text(out, to);
    case Dtype::i16: return from == Dtype::i8 || from == Dtype::u8 ? out : text::cat("wrap_16(", out, ")");
    case Dtype::i8: return text::cat("wrap_8(", out, ")");
    case Dtype::u8: return text::cat("wrap_unsigned_8(", out, ")");
    default: return out;
  }
}

namespace {

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

std::string literal(const Argument& number, Dtype dtype) {
  const bool is_floating_number = number.is_floating();
  const double value = number.floating().hint();
  switch (dtype) {
    case Dtype::f64: return digits(value, "");
    case Dtype::f32: return digits(static_cast<float>(value), "f");
    case Dtype::bf16: return digits(bf16_to_float(float_to_bf16(static_cast<float>(value))), "f");
    case Dtype::f16: return digits(f16_to_float(float_to_f16(static_cast<float>(value))), "f");
    case Dtype::boolean: return value != 0 ? "-1" : "0";  // as a mask
    default: break;
  }
  int64_t whole = is_floating_number ? static_cast<int64_t>(value) : number.integer().hint();
  if (dtype == Dtype::i64) return whole == INT64_MIN ? "(-9223372036854775807 - 1)" : text::cat(whole);
  if (dtype == Dtype::u8) whole = static_cast<uint8_t>(whole);
  else if (dtype == Dtype::i8) whole = static_cast<int8_t>(whole);
  else if (dtype == Dtype::i16) whole = static_cast<int16_t>(whole);
  else whole = static_cast<int32_t>(whole);
  return whole == INT32_MIN ? "(-2147483647 - 1)" : text::cat(whole);
}

}  // namespace fulgurite::codegen
