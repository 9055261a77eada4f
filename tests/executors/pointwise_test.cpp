#include <fulgurite/jit.h>

#include "executors/reference.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr Dtype floating[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16};

/// Applies an operator and a function of doubles to contiguous, transposed, sliced and 0-d operands of every floating
/// dtype.
void check_unary(const char* name, const std::function<Tensor(const Tensor&)>& op, double (*reference)(double),
                 double low, double high) {
  for (const Dtype dtype : floating) {
    const Tensor x = make({7, 33}, dtype, low, high);
    const Tensor views[] = {x, transpose(x, 0, 1), narrow(x, 1, 3, 19), select(select(x, 0, 2), 0, 5),
                            narrow(x, 0, 0, 0)};
    for (const Tensor& view : views) {
      std::vector<double> expected = elements(view);
      for (double& value : expected) value = reference(value);
      const Tensor result = op(view);
      expect_equal(result.dtype(), dtype);
      if (!expect_near(elements(result), expected, 2 * tolerance_of(dtype)))
        fail(std::string(name) + " of " + std::string(fulgurite::name(dtype)));
    }
  }
}

using Binary = std::function<Tensor(const Operand&, const Operand&)>;

/// Every pair of layouts that broadcast to [6, 5, 40].
void check_binary(const char* name, const Binary& op, const std::function<double(double, double)>& reference,
                  Dtype dtype, double low, double high) {
  const Tensor full = make({6, 5, 40}, dtype, low, high, 1), other = make({6, 5, 40}, dtype, low, high, 2);
  const Tensor permuted = permute(make({40, 6, 5}, dtype, low, high, 3), {1, 2, 0});
  const Tensor row = make({40}, dtype, low, high, 4), column = make({5, 1}, dtype, low, high, 5),
               scalar = make({}, dtype, low, high, 6);
  const Tensor stepped = narrow(make({6, 5, 90}, dtype, low, high, 7), 2, 11, 40);
  const Tensor operands[] = {full, other, permuted, row, column, scalar, stepped};
  for (const Tensor& a : operands)
    for (const Tensor& b : operands) {
      const Tensor result = op(a, b);
      const Shape shape = result.shape();
      const std::vector<double> x = elements(expand(a, shape)), y = elements(expand(b, shape));
      std::vector<double> expected;
      for (size_t i = 0; i < x.size(); ++i) expected.push_back(reference(x[i], y[i]));
      if (!expect_near(elements(result), expected, 2 * tolerance_of(dtype)))
        fail(std::string(name) + " of " + std::string(fulgurite::name(dtype)));
    }
}

}  // namespace

TEST("functions of one operand") {
#define CHECK_UNARY(op, low, high) \
  check_unary(                     \
      #op, [](const Tensor& x) { return op(x); }, [](double x) { return static_cast<double>(std::op(x)); }, low, high)
  CHECK_UNARY(exp, -3, 3);
  CHECK_UNARY(exp2, -3, 3);
  CHECK_UNARY(expm1, -3, 3);
  CHECK_UNARY(log, 0.1, 9);
  CHECK_UNARY(log2, 0.1, 9);
  CHECK_UNARY(log10, 0.1, 9);
  CHECK_UNARY(log1p, -0.9, 9);
  CHECK_UNARY(sqrt, 0, 9);
  CHECK_UNARY(sin, -9, 9);
  CHECK_UNARY(cos, -9, 9);
  CHECK_UNARY(tan, -1, 1);
  CHECK_UNARY(asin, -1, 1);
  CHECK_UNARY(acos, -1, 1);
  CHECK_UNARY(atan, -9, 9);
  CHECK_UNARY(sinh, -3, 3);
  CHECK_UNARY(cosh, -3, 3);
  CHECK_UNARY(tanh, -3, 3);
  CHECK_UNARY(erf, -3, 3);
  CHECK_UNARY(abs, -3, 3);
  CHECK_UNARY(floor, -9, 9);
  CHECK_UNARY(ceil, -9, 9);
  CHECK_UNARY(trunc, -9, 9);
#undef CHECK_UNARY
  check_unary(
      "round", [](const Tensor& x) { return round(x); }, [](double x) { return std::nearbyint(x); }, -9, 9);
  check_unary(
      "neg", [](const Tensor& x) { return neg(x); }, [](double x) { return -x; }, -9, 9);
  check_unary(
      "rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9);
  check_unary(
      "reciprocal", [](const Tensor& x) { return reciprocal(x); }, [](double x) { return 1 / x; }, 0.1, 9);
  check_unary(
      "square", [](const Tensor& x) { return square(x); }, [](double x) { return x * x; }, -3, 3);
  check_unary(
      "sign", [](const Tensor& x) { return sign(x); }, [](double x) { return double(x > 0) - double(x < 0); }, -3, 3);
  check_unary(
      "sigmoid", [](const Tensor& x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -9, 9);
  check_unary(
      "relu", [](const Tensor& x) { return nn::relu(x); }, [](double x) { return x > 0 ? x : 0; }, -3, 3);
  check_unary(
      "silu", [](const Tensor& x) { return nn::silu(x); }, [](double x) { return x / (1 + std::exp(-x)); }, -9, 9);
  check_unary(
      "gelu", [](const Tensor& x) { return nn::gelu(x); },
      [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, -6, 6);
  check_unary(
      "gelu tanh", [](const Tensor& x) { return nn::gelu(x, "tanh"); },
      [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, -6, 6);
}

TEST("arithmetic of two operands in every layout") {
  for (const Dtype dtype :
       {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8}) {
    check_binary(
        "add", [](const Operand& a, const Operand& b) { return add(a, b); }, [](double a, double b) { return a + b; },
        dtype, -9, 9);
    check_binary(
        "sub", [](const Operand& a, const Operand& b) { return sub(a, b); }, [](double a, double b) { return a - b; },
        dtype, -9, 9);
    check_binary(
        "mul", [](const Operand& a, const Operand& b) { return mul(a, b); }, [](double a, double b) { return a * b; },
        dtype, -9, 9);
    check_binary(
        "maximum", [](const Operand& a, const Operand& b) { return maximum(a.tensor(), b.tensor()); },
        [](double a, double b) { return std::fmax(a, b); }, dtype, -9, 9);
    check_binary(
        "minimum", [](const Operand& a, const Operand& b) { return minimum(a.tensor(), b.tensor()); },
        [](double a, double b) { return std::fmin(a, b); }, dtype, -9, 9);
    check_binary(
        "fmod", [](const Operand& a, const Operand& b) { return fmod(a.tensor(), b); },
        [](double a, double b) { return std::fmod(a, b); }, dtype, 1, 9);
    check_binary(
        "lt", [](const Operand& a, const Operand& b) { return lt(a.tensor(), b); },
        [](double a, double b) { return a < b; }, dtype, -9, 9);
    check_binary(
        "eq", [](const Operand& a, const Operand& b) { return eq(a.tensor(), b); },
        [](double a, double b) { return a == b; }, dtype, -2, 2);
  }
  for (const Dtype dtype : {Dtype::f64, Dtype::f32}) {
    check_binary(
        "div", [](const Operand& a, const Operand& b) { return div(a, b); }, [](double a, double b) { return a / b; },
        dtype, 1, 9);
    check_binary(
        "pow", [](const Operand& a, const Operand& b) { return pow(a, b); },
        [](double a, double b) { return std::pow(a, b); }, dtype, 0.5, 3);
    check_binary(
        "atan2", [](const Operand& a, const Operand& b) { return atan2(a.tensor(), b.tensor()); },
        [](double a, double b) { return std::atan2(a, b); }, dtype, -3, 3);
  }
}

TEST("short rows are gathered into blocks") {
  const Tensor x = make({700, 3}, Dtype::f32, -9, 9), row = make({3}, Dtype::f32, -9, 9, 2),
               column = make({700, 1}, Dtype::bf16, -9, 9, 3);
  const std::vector<double> a = elements(x), b = elements(row), c = elements(column);
  std::vector<double> expected;
  for (size_t i = 0; i < a.size(); ++i) expected.push_back((a[i] + b[i % 3]) * c[i / 3]);
  expect_near(elements(mul(add(x, row), column)), expected, 1e-6);
}

TEST("numbers as operands, and alpha") {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  expect_near(elements(add(x, 2)), {3, 4, 5});
  expect_near(elements(sub(10, x)), {9, 8, 7});
  expect_near(elements(add(x, x, -2)), {-1, -2, -3});
  expect_near(elements(sub(x, x, 0.5)), {0.5, 1, 1.5});
  const Tensor n = tensor({5, -7, 9});
  expect_equal(elements(add(n, n, 3)), std::vector<double>{20, -28, 36});
  expect_equal(div(n, 2).dtype(), Dtype::f32);
  expect_near(elements(div(n, 2)), {2.5, -3.5, 4.5});
}

TEST("integer division rounds as asked and refuses zero") {
  const Tensor a = tensor({7, -7, 7, -7}), b = tensor({2, 2, -2, -2});
  expect_equal(elements(div(a, b, "floor")), std::vector<double>{3, -4, -4, 3});
  expect_equal(elements(div(a, b, "trunc")), std::vector<double>{3, -3, -3, 3});
  expect_equal(elements(remainder(a, b)), std::vector<double>{1, 1, -1, -1});
  expect_equal(elements(fmod(a, b)), std::vector<double>{1, -1, 1, -1});
  expect_error([&] { div(a, 0, "floor"); }, "zero");
  const Tensor lowest = tensor(std::vector<int64_t>{INT64_MIN});
  expect_equal(div(lowest, -1, "trunc").item<int64_t>(), INT64_MIN);
}

TEST("remainders of 16-bit elements by a number take the number as an element") {
  const Tensor x = tensor({5.3, 7.1, 100., -33.}, {.dtype = Dtype::bf16});
  const std::vector<double> modulus{2.171875, 0.8125, 2.640625, 1.546875}, rest{2.171875, 0.8125, 2.640625, -1.59375};
  expect_equal(elements(remainder(x, 3.14159)), modulus);
  expect_equal(elements(remainder(x, tensor(3.14159, {.dtype = Dtype::bf16}))), modulus);
  expect_equal(elements(fmod(x, 3.14159)), rest);
  expect_equal(elements(jit([](Tensor t) { return fmod(t, 3.14159) + 0; }, {.executors = {"fuser"}})(x)), rest);
}

TEST("floating division rounds and takes remainders as Python does") {
  const Tensor a = tensor({7.5f, -7.5f, 7.5f, -7.5f}), b = tensor({2.f, 2.f, -2.f, -2.f});
  expect_near(elements(div(a, b, "floor")), {3, -4, -4, 3});
  expect_near(elements(remainder(a, b)), {1.5, 0.5, -0.5, -1.5});
  expect_near(elements(fmod(a, b)), {1.5, -1.5, 1.5, -1.5});
}

TEST("integers to integer powers wrap; common exponents are exact") {
  expect_equal(elements(pow(tensor({2, -3, 0}), 3)), std::vector<double>{8, -27, 0});
  expect_equal(elements(pow(tensor({2, 1, -1}), tensor({-1, -5, -3}))), std::vector<double>{0, 1, -1});
  const Tensor x = tensor({4.f, 9.f});
  expect_equal(elements(pow(x, 0.5)), std::vector<double>{2, 3});
  expect_equal(elements(pow(x, 2)), std::vector<double>{16, 81});
  expect_equal(elements(pow(x, -1)), std::vector<double>{0.25, static_cast<double>(1.f / 9.f)});
}

TEST("powers of floats, special cases included, are those of the C library") {
  const std::vector<float> values = {0.f,         -0.f,       1.f,      -1.f,      2.f,  -2.f,       0.5f,
                                     -0.5f,       3.f,        -3.f,     1e-40f,    7.3f, -7.3f,      1e20f,
                                     -1e20f,      3.4e38f,    INFINITY, -INFINITY, NAN,  16777217.f, -33554433.f,
                                     0.99999994f, 1.0000001f, 60.f,     -149.f,    127.f};
  std::vector<float> bases, exponents;
  for (const float a : values)
    for (const float b : values) {
      bases.push_back(a);
      exponents.push_back(b);
    }
  const std::vector<float> result = pow(tensor(bases), tensor(exponents)).to_vector<float>();
  for (size_t i = 0; i < bases.size(); ++i) {
    const float expected =
        static_cast<float>(std::pow(static_cast<double>(bases[i]), static_cast<double>(exponents[i])));
    const bool equal = std::isnan(expected)
                           ? std::isnan(result[i])
                           : result[i] == expected && std::signbit(result[i]) == std::signbit(expected);
    expect(equal, "pow(" + std::to_string(bases[i]) + ", " + std::to_string(exponents[i]) +
                      ") = " + std::to_string(result[i]));
  }
}

TEST("large transposed operands") {
  const Tensor a = make({300, 170}, Dtype::f32, -9, 9), b = make({170, 300}, Dtype::bf16, -9, 9, 2);
  const std::vector<double> x = elements(a), y = elements(transpose(b, 0, 1));
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] + y[i]);
  expect_near(elements(add(a, transpose(b, 0, 1))), expected, 1e-6);
}

TEST("booleans") {
  const Tensor a = tensor({true, true, false, false}), b = tensor({true, false, true, false});
  expect_equal(elements(add(a, b)), std::vector<double>{1, 1, 1, 0});
  expect_equal(elements(mul(a, b)), std::vector<double>{1, 0, 0, 0});
  expect_equal(elements(bitwise_not(a)), std::vector<double>{0, 0, 1, 1});
  expect_equal(elements(bitwise_xor(a, b)), std::vector<double>{0, 1, 1, 0});
  expect_equal(elements(logical_and(a, b)), std::vector<double>{1, 0, 0, 0});
  expect_equal(elements(logical_not(tensor({0.f, 2.f, NAN}))), std::vector<double>{1, 0, 0});
  expect_equal(elements(isnan(tensor({0.f, INFINITY, NAN}))), std::vector<double>{0, 0, 1});
  expect_equal(elements(isinf(tensor({0.f, -INFINITY, NAN}))), std::vector<double>{0, 1, 0});
  expect_equal(elements(isfinite(tensor({0.f, -INFINITY, NAN}))), std::vector<double>{1, 0, 0});
  expect_equal(elements(isfinite(tensor({0, 1}))), std::vector<double>{1, 1});
}

TEST("operators that choose") {
  const Tensor x = make({5, 50}, Dtype::f32, -1, 1), y = make({50}, Dtype::f32, -1, 1, 2);
  const Tensor condition = gt(x, 0);
  const std::vector<double> a = elements(x), b = elements(y);
  std::vector<double> chosen, filled, clamped;
  for (size_t i = 0; i < a.size(); ++i) {
    chosen.push_back(a[i] > 0 ? a[i] : b[i % 50]);
    filled.push_back(a[i] > 0 ? -7 : a[i]);
    clamped.push_back(std::fmin(std::fmax(a[i], -0.25), 0.5));
  }
  expect_equal(elements(where(condition, x, y)), chosen);
  expect_equal(elements(masked_fill(x, condition, -7)), filled);
  expect_equal(elements(clamp(x, -0.25, 0.5)), clamped);
  expect_equal(elements(clamp(tensor({1, 5, 9}), 3, {})), std::vector<double>{3, 5, 9});
  expect_equal(elements(where(tensor({true, false}), tensor({1, 2}), 5)), std::vector<double>{1, 5});
  expect(std::isnan(clamp(tensor({NAN}), 0, 1).item<float>()));
}

TEST("operators of three operands") {
  const Tensor a = tensor({1.f, 2.f}), b = tensor({3.f, 5.f}), c = tensor({2.f, 4.f});
  expect_near(elements(lerp(a, b, 0.25)), {1.5, 2.75});
  expect_near(elements(lerp(a, b, 0.75)), {2.5, 4.25});
  expect_near(elements(addcmul(a, b, c, 0.5)), {4, 12});
  expect_near(elements(addcdiv(a, b, c, 2)), {4, 4.5});
}

TEST("the backward of gelu is its derivative") {
  const Tensor x = make({64}, Dtype::f64, -4, 4), g = make({64}, Dtype::f64, -1, 1, 2);
  for (const char* form : {"none", "tanh"}) {
    const double h = 1e-5;
    const Tensor difference = sub(nn::gelu(add(x, h), form), nn::gelu(sub(x, h), form));
    const std::vector<double> expected = elements(mul(g, div(difference, 2 * h)));
    expect_near(elements(prims::gelu_backward(g, x, form)), expected, 1e-8);
    expect_near(elements(prims::gelu_backward(g.to(Dtype::f32), x.to(Dtype::f32), form)), expected, 1e-6);
  }
}
