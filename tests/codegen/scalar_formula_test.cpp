// Formulas of operators' records, and the expressions that they are lowered to.
#include "codegen/lowering/scalar_ops.h"

#include <algorithm>

#include <fulgurite/fulgurite.h>

#include "ops/generated/symbols.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The formula's operations in postorder: "input 0 maximum".
std::string postorder(const ScalarFormula& formula) {
  std::string out;
  for (const ScalarFormula::Node node : formula.nodes()) {
    if (!out.empty()) out += ' ';
    out += node.length > 0 ? formula.text_of(node) : codegen::record_of(node.op).name;
  }
  return out;
}

std::string parse_error(std::string_view text) {
  try {
    ScalarFormula{text};
  } catch (const char* error) {
    return error;
  }
  return "";
}

Symbol pointwise(ScalarFormula formula) {
  Symbol symbol{.signature = "test.f(Tensor input, Operand other, float scale=1.0) -> Tensor"};
  symbol.scalar.formula = formula;
  return symbol;
}

std::optional<codegen::Expression> lowered(const Symbol& symbol, Dtype dtype) {
  const Tensor x = zeros({2}, dtype);
  const Argument arguments[] = {Argument(x), Argument(x), Argument(Float(2.5))};
  return codegen::expression_of(symbol, arguments, dtype);
}

void expect_unfit(ScalarFormula formula, std::string_view message) {
  const Symbol symbol = pointwise(formula);
  expect_error([&] { lowered(symbol, Dtype::f32); }, message);
}

}  // namespace

TEST("operators of a formula bind as in Python") {
  expect_equal(postorder("a + b * -c"), "a b c negate multiply add");
  expect_equal(postorder("a - b - c"), "a b subtract c subtract");
  expect_equal(postorder("a & b + 1 == ~c"), "a b 1 add bit_and c bit_not equal");
  expect_equal(postorder("(a != 0) ^ (b <= 0.25)"), "a 0 not_equal b 0.25 less_equal bit_xor");
  expect_equal(postorder("where(a > inf, minimum(a, b), 1 / sqrt(b))"),
               "a inf greater a b minimum 1 b sqrt divide select");
}

TEST("malformed formulas are refused") {
  expect_equal(parse_error("input +"), "a formula lacks a name, a number or '('");
  expect_equal(parse_error("(input"), "')' is missing in a formula");
  expect_equal(parse_error("input other"), "text is left over after a formula");
  expect_equal(parse_error("a < b < c"), "text is left over after a formula");
  expect_equal(parse_error("expo(input)"), "a formula's function is not one of those that ScalarFormula lists");
  expect_equal(parse_error("maximum(input)"), "a formula's function has too few arguments");
  expect_equal(parse_error("exp(input, other)"), "a formula's function has too many arguments");
  expect_equal(parse_error("a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a"),
               "a formula has at most 32 operations, operands and numbers");
  expect_equal(parse_error(std::string(256, ' ')), "a formula has at most 255 characters");
}

TEST("formulas of the library's records read parameters of their signatures") {
  int count = 0;
  for (const Symbol* symbol : symbols()) {
    count += symbol->scalar.empty() ? 0 : 1;
    for (const ScalarFormula::Node node : symbol->scalar.formula.nodes()) {
      if (node.op != ScalarOp::operand) continue;
      const auto parameters = symbol->signature.params();
      expect(std::ranges::any_of(parameters,
                                 [&](const Parameter& p) { return p.name == symbol->scalar.formula.text_of(node); }));
    }
    expect(symbol->scalar.empty() || symbol->traits.pointwise);
  }
  expect_equal(count, 63);
}

TEST("the operands' dtype decides whether a call has an expression") {
  const Symbol product = pointwise("input * other"), quotient = pointwise("input / other"),
               half = pointwise("0.5 * input"), complement = pointwise("~input"), infinite = pointwise("input == inf"),
               whole = pointwise("floor(input)");
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::i64, Dtype::u8}) {
    expect(lowered(product, dtype).has_value());
    expect(lowered(whole, dtype).has_value());
    for (const Symbol* floating : {&quotient, &half, &infinite})
      expect_equal(lowered(*floating, dtype).has_value(), is_floating(dtype));
    expect_equal(lowered(complement, dtype).has_value(), !is_floating(dtype));
  }
}

TEST("cost, exactness and arguments of an expression follow from its formula") {
  const Symbol exact = pointwise("maximum(-input, other)"), rounded = pointwise("input * scale"),
               costly = pointwise("exp(other)"), selection = pointwise("where(other, input, input)");
  expect(lowered(exact, Dtype::bf16)->is_exact);
  expect(!lowered(exact, Dtype::bf16)->is_costly);
  expect(!lowered(rounded, Dtype::bf16)->is_exact);
  expect_equal(lowered(rounded, Dtype::bf16)->arguments[1], 2);
  expect(lowered(rounded, Dtype::bf16)->computed == Dtype::f32);
  expect(lowered(costly, Dtype::f64)->is_costly);
  expect_equal(lowered(costly, Dtype::f64)->arguments[0], 1);
  expect_equal(lowered(selection, Dtype::u8)->condition, 1);
  expect(lowered(selection, Dtype::u8)->computed == Dtype::u8);
  expect_equal(lowered(exact, Dtype::f32)->condition, -1);
}

TEST("formulas whose types do not fit are errors") {
  expect_unfit("input * factor", "the formula of test.f, input * factor, has no value: factor is not a parameter");
  expect_unfit("(input > 0) * other",
               "the formula of test.f, (input > 0) * other, has no value: it combines a condition and a number");
  expect_unfit("where(input + other, input, other)",
               "the formula of test.f, where(input + other, input, other), has no value: where() tests a number");
}
