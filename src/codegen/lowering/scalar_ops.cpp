#include "codegen/lowering/scalar_ops.h"

#include <algorithm>
#include <cmath>

#include <fulgurite/symbol.h>

#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"

namespace fulgurite::codegen {

namespace {

using X = const ScalarExpr&;

template <ScalarOp op>
ScalarExpr one(X x, X) {
  return apply(op, x);
}
template <ScalarOp op>
ScalarExpr two(X x, X y) {
  return apply(op, x, y);
}
/// A rounding to whole numbers, which integers are.
template <ScalarOp op>
ScalarExpr integral(X x, X) {
  return x.type() == Lanes::ints || x.type() == Lanes::longs ? x : apply(op, x);
}
ScalarExpr square(X x, X) { return x * x; }
ScalarExpr relu(X x, X) { return apply(ScalarOp::maximum, x, whole(0, x.type())); }
ScalarExpr reciprocal(X x, X) { return whole(1, x.type()) / x; }
ScalarExpr rsqrt(X x, X) { return whole(1, x.type()) / apply(ScalarOp::sqrt, x); }
ScalarExpr infinity(X like) {
  return constant(Argument(Float(HUGE_VAL)), like.type() == Lanes::doubles ? Dtype::f64 : Dtype::f32);
}
ScalarExpr is_nan(X x, X) { return apply(ScalarOp::not_equal, x, x); }
ScalarExpr is_infinite(X x, X) { return apply(ScalarOp::equal, apply(ScalarOp::absolute, x), infinity(x)); }
ScalarExpr is_finite(X x, X) { return apply(ScalarOp::less, apply(ScalarOp::absolute, x), infinity(x)); }
ScalarExpr is_zero(X x, X) { return apply(ScalarOp::equal, x, whole(0, x.type())); }
ScalarExpr is_set(X x) { return apply(ScalarOp::not_equal, x, whole(0, x.type())); }
template <ScalarOp op>
ScalarExpr logical(X x, X y) {
  return apply(op, is_set(x), is_set(y));
}

enum class Types : uint8_t { floating, integers, both };

/// The expression of an operator whose operands have one dtype.
struct Entry {
  const Symbol* symbol;
  ScalarExpr (*build)(X x, X y);
  Types types = Types::floating;
  bool is_costly = false, is_exact = false;
};
constexpr bool costly = true, cheap = false, exact = true;

const Entry unary[] = {
    {&abs_symbol, one<ScalarOp::absolute>, Types::both, cheap, exact},
    {&neg_symbol, one<ScalarOp::negate>, Types::both, cheap, exact},
    {&square_symbol, square, Types::both},
    {&sign_symbol, one<ScalarOp::sign>, Types::both, cheap, exact},
    {&floor_symbol, integral<ScalarOp::floor>, Types::both, cheap, exact},
    {&ceil_symbol, integral<ScalarOp::ceil>, Types::both, cheap, exact},
    {&round_symbol, integral<ScalarOp::round>, Types::both, cheap, exact},
    {&trunc_symbol, integral<ScalarOp::truncate>, Types::both, cheap, exact},
    {&relu_symbol, relu, Types::both, cheap, exact},
    {&exp_symbol, one<ScalarOp::exp>, Types::floating, costly},
    {&exp2_symbol, one<ScalarOp::exp2>, Types::floating, costly},
    {&expm1_symbol, one<ScalarOp::expm1>, Types::floating, costly},
    {&log_symbol, one<ScalarOp::log>, Types::floating, costly},
    {&log2_symbol, one<ScalarOp::log2>, Types::floating, costly},
    {&log10_symbol, one<ScalarOp::log10>, Types::floating, costly},
    {&log1p_symbol, one<ScalarOp::log1p>, Types::floating, costly},
    {&sqrt_symbol, one<ScalarOp::sqrt>, Types::floating, costly},
    {&rsqrt_symbol, rsqrt, Types::floating, costly},
    {&reciprocal_symbol, reciprocal, Types::floating, costly},
    {&sin_symbol, one<ScalarOp::sin>, Types::floating, costly},
    {&cos_symbol, one<ScalarOp::cos>, Types::floating, costly},
    {&tan_symbol, one<ScalarOp::tan>, Types::floating, costly},
    {&asin_symbol, one<ScalarOp::asin>, Types::floating, costly},
    {&acos_symbol, one<ScalarOp::acos>, Types::floating, costly},
    {&atan_symbol, one<ScalarOp::atan>, Types::floating, costly},
    {&tanh_symbol, one<ScalarOp::tanh>, Types::floating, costly},
    {&erf_symbol, one<ScalarOp::erf>, Types::floating, costly},
    {&sigmoid_symbol, one<ScalarOp::sigmoid>, Types::floating, costly},
    {&silu_symbol, one<ScalarOp::silu>, Types::floating, costly},
};
const Entry binary[] = {
    {&maximum_symbol, two<ScalarOp::maximum>, Types::both, cheap, exact},
    {&minimum_symbol, two<ScalarOp::minimum>, Types::both, cheap, exact},
    {&clamp_min_symbol, two<ScalarOp::maximum>, Types::both, cheap, exact},
    {&clamp_max_symbol, two<ScalarOp::minimum>, Types::both, cheap, exact},
    {&bitwise_and_symbol, two<ScalarOp::bit_and>, Types::integers},
    {&bitwise_or_symbol, two<ScalarOp::bit_or>, Types::integers},
    {&bitwise_xor_symbol, two<ScalarOp::bit_xor>, Types::integers},
    {&atan2_symbol, two<ScalarOp::atan2>, Types::floating, costly},
    {&copysign_symbol, two<ScalarOp::copy_sign>, Types::floating, cheap, exact},
};
const Entry tests[] = {
    {&isnan_symbol, is_nan},
    {&isinf_symbol, is_infinite},
    {&isfinite_symbol, is_finite},
    {&logical_not_symbol, is_zero, Types::both},
};
const Entry comparisons[] = {
    {&eq_symbol, two<ScalarOp::equal>, Types::both},
    {&ne_symbol, two<ScalarOp::not_equal>, Types::both},
    {&lt_symbol, two<ScalarOp::less>, Types::both},
    {&le_symbol, two<ScalarOp::less_equal>, Types::both},
    {&gt_symbol, two<ScalarOp::greater>, Types::both},
    {&ge_symbol, two<ScalarOp::greater_equal>, Types::both},
    {&logical_and_symbol, logical<ScalarOp::bit_and>, Types::both},
    {&logical_or_symbol, logical<ScalarOp::bit_or>, Types::both},
    {&logical_xor_symbol, logical<ScalarOp::bit_xor>, Types::both},
};

template <size_t count>
const Entry* find(const Entry (&entries)[count], const Symbol& symbol) {
  const auto* const found = std::ranges::find(entries, &symbol, &Entry::symbol);
  return found != std::end(entries) ? found : nullptr;
}

/// The dtype that arithmetic on a dtype is computed in, as in the eager kernels.
Dtype computed_in(Dtype dtype) {
  if (dtype == Dtype::f64 || dtype == Dtype::i64) return dtype;
  return is_floating(dtype) ? Dtype::f32 : Dtype::i32;
}

ScalarExpr argument(int k, Dtype dtype) { return operand(k, lanes_of(dtype)); }

std::optional<Expression> made(ScalarExpr value, SmallVector<int, 4> arguments, Dtype read, Dtype computed,
                               bool is_costly = false, bool is_exact = false) {
  return Expression{std::move(value), std::move(arguments), read, computed, is_costly, is_exact};
}

std::optional<Expression> made(const Entry& entry, SmallVector<int, 4> arguments, Dtype read, Dtype computed) {
  if (entry.types == (is_floating(read) ? Types::integers : Types::floating)) return std::nullopt;
  return made(entry.build(argument(0, read), argument(1, read)), std::move(arguments), read, computed, entry.is_costly,
              entry.is_exact);
}

// Returns true for a factor that moves the exponent up: bf16 overflows where f32 does, and no digits are lost.
bool is_large_power_of_two(const Argument& factor) {
  if (!factor.is_number()) return false;
  int exponent = 0;
  return std::fabs(std::frexp(factor.floating().hint(), &exponent)) == 0.5 && exponent >= 1 && exponent <= 100;
}

// add and sub with their factor.
std::optional<Expression> sum_of(bool is_difference, Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  const ScalarExpr x = argument(0, computed), y = argument(1, computed), factor = argument(2, computed);
  if (a[2].floating().hint() == 1) return made(is_difference ? x - y : x + y, {0, 1}, computed, computed);
  if (!is_floating(computed))
    return made(is_difference ? x - factor * y : factor * y + x, {0, 1, 2}, computed, computed);
  const ScalarExpr multiplier = is_difference ? apply(ScalarOp::negate, factor) : factor;
  return made(multiply_add(multiplier, y, x), {0, 1, 2}, computed, computed);
}

std::optional<Expression> product_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  const bool moves_exponent = result == Dtype::bf16 && (is_large_power_of_two(a[0]) || is_large_power_of_two(a[1]));
  return made(argument(0, computed) * argument(1, computed), {0, 1}, computed, computed, cheap, moves_exponent);
}

std::optional<Expression> quotient_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (!is_floating(computed)) return std::nullopt;
  const ScalarExpr quotient = argument(0, computed) / argument(1, computed);
  if (a[2].is_none()) return made(quotient, {0, 1}, computed, computed, costly);
  if (a[2].string() != "trunc") return std::nullopt;
  return made(apply(ScalarOp::truncate, quotient), {0, 1}, computed, computed, costly);
}

std::optional<Expression> remainder_of(Arguments a, Dtype result) {
  // The scalar is rounded to the result's dtype, which an expression in f32 would not do.
  const bool rounds_scalar = size_of(result) == 2 && a[1].is_number();
  if (computed_in(result) != Dtype::f32 || rounds_scalar) return std::nullopt;
  const ScalarExpr remainder = apply(ScalarOp::remainder, argument(0, Dtype::f32), argument(1, Dtype::f32));
  return made(remainder, {0, 1}, Dtype::f32, Dtype::f32, costly, exact);
}

// The exponents that eager mode has kernels for.
std::optional<Expression> power_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (a[1].is_tensor() || !is_floating(computed)) return std::nullopt;
  struct Power {
    double exponent;
    ScalarExpr (*build)(X x, X);
  };
  static constexpr Power powers[] = {{0.5, one<ScalarOp::sqrt>},
                                     {-0.5, rsqrt},
                                     {-1, reciprocal},
                                     {-2, [](X x, X) { return whole(1, x.type()) / (x * x); }},
                                     {1, [](X x, X) { return x; }},
                                     {2, square},
                                     {3, [](X x, X) { return x * x * x; }}};
  const ScalarExpr base = argument(0, computed);
  for (const auto& [exponent, build] : powers)
    if (a[1].floating().hint() == exponent) return made(build(base, base), {0}, computed, computed, exponent < 1);
  return std::nullopt;
}

std::optional<Expression> clamped(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  const ScalarExpr x = argument(0, computed), least = argument(1, computed), most = argument(2, computed);
  if (a[1].is_none()) return made(apply(ScalarOp::minimum, x, most), {0, 2}, computed, computed, cheap, exact);
  const ScalarExpr raised = apply(ScalarOp::maximum, x, least);
  if (a[2].is_none()) return made(raised, {0, 1}, computed, computed, cheap, exact);
  return made(apply(ScalarOp::minimum, raised, most), {0, 1, 2}, computed, computed, cheap, exact);
}

// Only bits move: operands are read in the result's own dtype.
std::optional<Expression> selected(int condition, int where_set, int where_clear, Dtype result) {
  const ScalarExpr value =
      select(argument(condition, Dtype::boolean), argument(where_set, result), argument(where_clear, result));
  std::optional<Expression> out = made(value, {0, 1, 2}, result, result, cheap, exact);
  out->condition = condition;
  return out;
}

std::optional<Expression> inverted(Arguments, Dtype result) {
  const Dtype computed = result == Dtype::boolean ? result : computed_in(result);
  if (is_floating(computed)) return std::nullopt;
  return made(apply(ScalarOp::bit_not, argument(0, computed)), {0}, computed, computed);
}

std::optional<Expression> gelu_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (!is_floating(computed)) return std::nullopt;
  const ScalarOp op = a[1].string() == "tanh" ? ScalarOp::gelu_tanh : ScalarOp::gelu;
  return made(apply(op, argument(0, computed)), {0}, computed, computed, costly);
}

std::optional<Expression> gelu_backward_of(Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (!is_floating(computed)) return std::nullopt;
  const ScalarOp op = a[2].string() == "tanh" ? ScalarOp::gelu_tanh_backward : ScalarOp::gelu_backward;
  return made(apply(op, argument(0, computed), argument(1, computed)), {0, 1}, computed, computed, costly);
}

/// An operator with an expression that depends on the arguments.
struct Rule {
  const Symbol* symbol;
  std::optional<Expression> (*expression)(Arguments, Dtype result);
};
const Rule rules[] = {
    {&add_symbol, [](Arguments a, Dtype result) { return sum_of(false, a, result); }},
    {&sub_symbol, [](Arguments a, Dtype result) { return sum_of(true, a, result); }},
    {&mul_symbol, product_of},
    {&div_symbol, quotient_of},
    {&fmod_symbol, remainder_of},
    {&pow_symbol, power_of},
    {&clamp_symbol, clamped},
    {&bitwise_not_symbol, inverted},
    {&where_symbol, [](Arguments, Dtype result) { return selected(0, 1, 2, result); }},
    {&masked_fill_symbol, [](Arguments, Dtype result) { return selected(1, 2, 0, result); }},
    {&gelu_symbol, gelu_of},
    {&prims_gelu_backward_symbol, gelu_backward_of},
};

}  // namespace

std::optional<Expression> expression_of(const Symbol& symbol, Arguments a, Dtype result) {
  const Dtype computed = computed_in(result);
  if (const Entry* entry = find(unary, symbol)) return made(*entry, {0}, computed, computed);
  if (const Entry* entry = find(binary, symbol)) return made(*entry, {0, 1}, computed, computed);
  if (const Entry* entry = find(tests, symbol))
    return made(*entry, {0}, computed_in(a[0].tensor().dtype()), Dtype::boolean);
  if (const Entry* entry = find(comparisons, symbol))
    return made(*entry, {0, 1}, computed_in(result_dtype(a.first(2))), Dtype::boolean);
  const auto* const rule = std::ranges::find(rules, &symbol, &Rule::symbol);
  return rule != std::end(rules) ? rule->expression(a, result) : std::nullopt;
}

}  // namespace fulgurite::codegen
