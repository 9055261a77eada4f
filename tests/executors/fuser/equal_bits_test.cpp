// A fusion of pointwise operators has the eager executor's bits: products are rounded before they are added to
// anything, and 16-bit values are rounded where the program rounds them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/cases/operator_cases.h"
#include "support/test.h"
#include "support/text/text.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string differing(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape().text() != expected.shape().text()) return "another type";
  const auto a = actual.to(Dtype::f64).contiguous().to_vector<double>(),
             b = expected.to(Dtype::f64).contiguous().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint64_t>(a[i]) != std::bit_cast<uint64_t>(b[i]) && !(std::isnan(a[i]) && std::isnan(b[i])))
      return text::cat("element ", i, " is ", a[i], ", not ", b[i]);
  return {};
}

/// The fuser, the eager executor and eager mode agree for the complete function.
template <class F, class... Inputs>
void expect_same_bits(F f, const Inputs&... inputs) {
  auto fused = jit(f, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  const Tensor by_fuser = fused(inputs...), by_eager = f(inputs...);
  expect_equal(fusions_in(last_traces(fused).back()), 1);
  expect_equal(differing(by_fuser, by_eager), std::string());
}

int64_t not_finite(const Tensor& x) { return sum(logical_not(isfinite(x))).item<int64_t>(); }

/// A pointwise case's call on floating tensors of one dtype, each made from the given one by operators before it.
Tensor call_of(const OperatorCase& c, std::span<const Tensor> given, Dtype dtype) {
  std::vector<Value> arguments(c.args.begin(), c.args.end());
  for (Value& argument : arguments)
    if (argument.is_tensor()) {
      const Tensor& input = given.front();
      given = given.subspan(1);
      argument = input.dtype() == dtype ? neg(neg(input)) * 1.25 : input;
    }
  return Tensor(call(c.symbol->qualified_name(), arguments, c.kwargs));
}

bool is_pointwise_case(const OperatorCase& c) {
  return c.symbol->traits.pointwise && c.symbol->traits.effects.empty() &&
         std::ranges::none_of(c.kwargs, [](const auto& entry) { return entry.second.is_tensor(); });
}

void check_all_cases(Dtype dtype) {
  std::vector<const OperatorCase*> cases;
  std::vector<Tensor> inputs, expected;
  std::vector<size_t> first;
  for (const OperatorCase& c : operator_cases()) {
    if (!is_pointwise_case(c)) continue;
    std::vector<Tensor> own;
    for (const Tensor& t : c.inputs()) own.push_back(is_floating(t.dtype()) ? t.detach().to(dtype) : t);
    try {
      const Tensor found = call_of(c, own, dtype);
      expected.push_back(is_floating(found.dtype()) ? found * 0.75 : found);
    } catch (const UserError&) {
      continue;  // not of this dtype
    }
    cases.push_back(&c);
    first.push_back(inputs.size());
    inputs.insert(inputs.end(), own.begin(), own.end());
  }
  auto fused = jit(
      [&](std::vector<Tensor> given) {
        std::vector<Tensor> out;
        for (size_t i = 0; i < cases.size(); ++i) {
          const Tensor found = call_of(*cases[i], std::span(given).subspan(first[i]), dtype);
          out.push_back(is_floating(found.dtype()) ? found * 0.75 : found);
        }
        return out;
      },
      {.executors = {"fuser"}});
  const std::vector<Tensor> found = fused(inputs);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string difference = differing(found[i], expected[i]);
    expect(difference.empty(), text::cat(cases[i]->name, " in ", dtype, ": ", difference));
  }
  expect(cases.size() > 200, text::cat(cases.size(), " cases"));
  expect(fusions_in(last_traces(fused).back()) > 20, text::cat(fusions_in(last_traces(fused).back()), " fusions"));
}

}  // namespace

TEST("a product is rounded before another operator adds it to something") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    manual_seed(2);
    const Tensor r = (rand({65536}) * 10.0 + 0.1).to(dtype);
    const auto discriminant = [](Tensor r) { return (r + r) * (r + r) - r * r * 4.0; };
    expect_same_bits(discriminant, r);
    expect_equal(not_finite(sqrt(jit(discriminant, {.executors = {"fuser"}})(r))), int64_t{0});
    expect_same_bits(
        [](Tensor r, Tensor s) { return where(r * 0.1 - s * 0.1 < 0, r, s * 3.0) + floor(r * 0.1 - s * 0.1); }, r,
        r.clone());
    expect_same_bits([](Tensor r, Tensor s) { return add(r * s, s, 0.3) - sub(s, r, 0.7) * r; }, r, r + 1.0);
  }
}

TEST("large scores have a softmax") {
  manual_seed(2);
  const Tensor scores = rand({400, 97});
  const Tensor classes = zeros({400}, {.dtype = Dtype::i64});
  const auto check = [&](auto f) {
    const Tensor found = jit(f, {.executors = {"fuser"}})(scores);
    expect_equal(not_finite(found), int64_t{0});
    expect_close(found, f(scores), 1e-5);
  };
  check([](Tensor x) { return softmax(x * 1e10, -1); });
  check([](Tensor x) { return log_softmax(x * 1e10, -1) * 1e-10; });
  check([](Tensor x) { return logsumexp(x * 1e10, {-1}) * 1e-10; });
  check([classes](Tensor x) { return nn::cross_entropy(x * 1e10, classes, {}, {}, -100, {}, "none") * 1e-10; });
}

TEST("every pointwise operator of f32 and f64 has the same bits in a fusion") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) check_all_cases(dtype);
}
TEST("every pointwise operator of bf16 and f16 has the same bits in a fusion") {
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) check_all_cases(dtype);
}

TEST("a value of 16 bits is rounded where the program makes it") {
  const Tensor x = arange(65536).to(Dtype::f32) * 0.37;
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    // Converted, returned, compared and added up: one number.
    auto f = jit(
        [dtype](Tensor x) {
          const Tensor y = (x * 1e-3).to(dtype) * 1.01;
          return std::tuple(y, y.to(Dtype::f32), y == y.to(Dtype::f32), sum(y.reshape({256, 256}), {0}),
                            sum(y.reshape({256, 256}), {0}).to(Dtype::f32));
        },
        {.executors = {"fuser"}});
    const auto [y, widened, is_equal, of_columns, widened_sums] = f(x);
    expect_equal(differing(y.to(Dtype::f32), widened), std::string());
    expect_equal(sum(is_equal).item<int64_t>(), int64_t{65536});
    expect_equal(differing(of_columns.to(Dtype::f32), widened_sums), std::string());
    expect_same_bits(
        [dtype](Tensor x) { return ((x.to(dtype) * 3.0 + 1.0) * 0.3 - relu(-x.to(dtype)) / 7.0).to(Dtype::f32); }, x);
    expect_same_bits([dtype](Tensor x) { return tanh(nn::gelu(x.to(dtype) - 100.0)) * 0.3; }, x);
  }
}

TEST("excess precision is an option") {
  const auto squared = [](Tensor x) {
    const Tensor y = x.to(Dtype::f16);
    return (y * y).to(Dtype::f32);
  };
  const Tensor x = full({65536}, 5000.0);
  auto rounded = jit(squared), loose = jit(squared, {.allow_excess_precision = true});
  for (int again = 0; again < 2; ++again) {
    expect_equal(rounded(x)(0).item<double>(), HUGE_VAL);
    expect_equal(loose(x)(0).item<double>(), 2.5e7);
  }
  expect_equal(fusions_in(last_traces(loose).back()), 1);
}

TEST("sums of a fusion differ from eager mode's by their order alone") {
  manual_seed(5);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = randn({70, 5000}).to(dtype), y = randn({70, 5000}).to(dtype);
    const double unit = dtype == Dtype::f32 ? 0x1p-24 : 0x1p-53;
    for (const int64_t dim : {0, 1}) {
      const auto total = [dim](Tensor x, Tensor y) { return sum(x * y, {dim}); };
      const Tensor difference = abs(jit(total, {.executors = {"fuser"}})(x, y) - total(x, y)).to(Dtype::f64);
      const Tensor bound = sum(abs(x.to(Dtype::f64) * y.to(Dtype::f64)), {dim}) * (64 * unit);
      expect(all(difference <= bound).item<bool>(), text::cat("a sum along ", dim, " in ", dtype));
    }
  }
}

TEST("numbers that are none keep no low bits when they are rounded, whatever they come from") {
  // Half a unit added to the NaN with all bits would be -0.
  std::vector<float> given(64);
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = i % 3 == 0 ? std::bit_cast<float>(0x7fffffffu) : i % 3 == 1 ? std::bit_cast<float>(0xffff8000u) : 1.5f;
  const Tensor x = tensor(given), y = full({64}, 3.0).to(Dtype::bf16);
  expect_same_bits([](Tensor a, Tensor b) { return a.to(Dtype::bf16) * b + b; }, x, y);
  expect_same_bits([](Tensor a, Tensor b) { return (a * b).to(Dtype::bf16).to(Dtype::f32) - a; }, x, y);
  const Tensor halves = tensor(given).to(Dtype::f16);
  expect_same_bits([](Tensor a, Tensor b) { return (a.to(Dtype::bf16) * b).to(Dtype::f16) + a; }, halves, y);
  auto mixed = jit([](Tensor a, Tensor b) { return (a.to(Dtype::bf16) * b + b) * b; }, {.executors = {"fuser"}});
  mixed(x, y);
  const std::string text = kernel_of(last_traces(mixed).back(), 0);
  expect(
      text.find("round_to_bfloat16(") != std::string::npos && text.find("round_inside_bfloat16(") != std::string::npos,
      "the first rounding looks for what is not a number, those after it need not: " + text);
}

TEST("whole numbers of eight bits and truth values are 16-bit numbers unrounded") {
  const Tensor x = arange(0, 256).to(Dtype::u8), y = (arange(0, 256) - 128).to(Dtype::i8);
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    expect_same_bits([dtype](Tensor a, Tensor b) { return a.to(dtype) * b.to(dtype) + (a > 7).to(dtype); }, x, y);
    auto converted = jit([dtype](Tensor a) { return -(a > 7).to(dtype); }, {.executors = {"fuser"}});
    converted(x);
    const std::string text = kernel_of(last_traces(converted).back(), 0);
    expect(text.find("round_to") == std::string::npos && text.find("round_inside") == std::string::npos, text);
  }
}
