#include <limits>
#include <sstream>

#include <fulgurite/operators.h>

#include "ops/generated/symbols.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// Arguments of every kind.
Trace many_arguments() {
  return record({f32({2, 3}), f32({2, 3})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = add(x[0], x[1], 2);
    const Tensor b = clamp(a, {}, 0.1);
    const Tensor c = mul(b, -std::numeric_limits<double>::infinity());
    const Tensor d = sum(c, 1, false, Dtype::f64);
    const Tensor e = cat({d, d}, 0);
    const Tensor f = nn::gelu(e, "tanh");
    const Tensor g = reshape(f, {2, -1});
    const Tensor h = g(Slice(0, 1), Ellipsis, None);
    const Tensor i = zeros({2}, {.dtype = Dtype::f64});
    const Tensor j = add(h, i);
    const Tensor k = nn::layer_norm(j, {2});
    return {prims::convert_element_type(k, Dtype::boolean)};
  });
}

Trace two_results() {
  return record({f32({4, 6})}, [](auto& x) -> std::vector<Tensor> {
    const std::vector<Tensor> parts = split(x[0], {3, 3}, 1);
    const auto [variance, mean] = var_mean(parts[0], 1);
    return {variance, parts[1]};
  });
}

}  // namespace

TEST("the Python form spells arguments as PyTorch does") {
  expect_python(many_arguments(), R"(
import torch

@torch.no_grad()
def computation(t_0, t_1):
  # t_0: "cpu f32[2, 3]"
  # t_1: "cpu f32[2, 3]"
  t0 = torch.add(t_0, t_1, alpha=2)  # t0: "cpu f32[2, 3]"
  t1 = torch.clamp(t0, None, 0.1)  # t1: "cpu f32[2, 3]"
  t2 = torch.mul(t1, float("-inf"))  # t2: "cpu f32[2, 3]"
  t3 = torch.sum(t2, (1,), dtype=torch.float64)  # t3: "cpu f64[2]"
  t4 = torch.cat((t3, t3))  # t4: "cpu f64[4]"
  t13 = torch.nn.functional.gelu(t4, approximate='tanh')  # t13: "cpu f64[4]"
    # t5 = prims.mul(t4, t4)  # t5: "cpu f64[4]"
    # t6 = prims.mul(t5, t4)  # t6: "cpu f64[4]"
    # t7 = prims.mul(t6, 0.044715)  # t7: "cpu f64[4]"
    # t8 = prims.add(t4, t7)  # t8: "cpu f64[4]"
    # t9 = prims.mul(t8, 0.7978845608028654)  # t9: "cpu f64[4]"
    # t10 = prims.tanh(t9)  # t10: "cpu f64[4]"
    # t11 = prims.mul(t4, 0.5)  # t11: "cpu f64[4]"
    # t12 = prims.add(t10, 1)  # t12: "cpu f64[4]"
    # t13 = prims.mul(t11, t12)  # t13: "cpu f64[4]"
  t14 = torch.reshape(t13, (2, -1))  # t14: "cpu f64[2, 2]"
  t16 = t14[0:1, ..., None]  # t16: "cpu f64[1, 2, 1]"
    # t15 = prims.slice(t14, 0, 0, 1)  # t15: "cpu f64[1, 2]"
    # t16 = prims.unsqueeze(t15, 2)  # t16: "cpu f64[1, 2, 1]"
  t17 = torch.zeros((2,), dtype=torch.float64)  # t17: "cpu f64[2]"
    # t17 = prims.full((2,), 0, dtype=torch.float64)  # t17: "cpu f64[2]"
  t18 = torch.add(t16, t17)  # t18: "cpu f64[1, 2, 2]"
  t25 = torch.nn.functional.layer_norm(t18, (2,), None, None)  # t25: "cpu f64[1, 2, 2]"
    # (t25, t19, t24) = prims.layer_norm(t18, (2,), None, None, 1e-05)  # t25: "cpu f64[1, 2, 2]", t19: "cpu f64[1, 2, 1]", t24: "cpu f64[1, 2, 1]"
      # t19 = prims.mean(t18, (2,), True)  # t19: "cpu f64[1, 2, 1]"
      # t20 = prims.sub(t18, t19)  # t20: "cpu f64[1, 2, 2]"
      # t21 = prims.mul(t20, t20)  # t21: "cpu f64[1, 2, 2]"
      # t22 = prims.mean(t21, (2,), True)  # t22: "cpu f64[1, 2, 1]"
      # t23 = prims.add(t22, 1e-05)  # t23: "cpu f64[1, 2, 1]"
      # t24 = prims.rsqrt(t23)  # t24: "cpu f64[1, 2, 1]"
      # t25 = prims.mul(t20, t24)  # t25: "cpu f64[1, 2, 2]"
  t26 = t25.to(torch.bool)  # t26: "cpu bool[1, 2, 2]"
  return t26
)");
}

TEST("the C++ form spells arguments as the library does") {
  expect_trace(many_arguments(), R"(
#include <fulgurite/fulgurite.h>
#include <limits>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1) {
  // t_0: "cpu f32[2, 3]"
  // t_1: "cpu f32[2, 3]"
  auto t0 = add(t_0, t_1, 2);  // t0: "cpu f32[2, 3]"
  auto t1 = clamp(t0, {}, 0.1);  // t1: "cpu f32[2, 3]"
  auto t2 = mul(t1, -std::numeric_limits<double>::infinity());  // t2: "cpu f32[2, 3]"
  auto t3 = sum(t2, {1}, false, Dtype::f64);  // t3: "cpu f64[2]"
  auto t4 = cat({t3, t3});  // t4: "cpu f64[4]"
  auto t13 = nn::gelu(t4, "tanh");  // t13: "cpu f64[4]"
    // t5 = prims::mul(t4, t4)  // t5: "cpu f64[4]"
    // t6 = prims::mul(t5, t4)  // t6: "cpu f64[4]"
    // t7 = prims::mul(t6, 0.044715)  // t7: "cpu f64[4]"
    // t8 = prims::add(t4, t7)  // t8: "cpu f64[4]"
    // t9 = prims::mul(t8, 0.7978845608028654)  // t9: "cpu f64[4]"
    // t10 = prims::tanh(t9)  // t10: "cpu f64[4]"
    // t11 = prims::mul(t4, 0.5)  // t11: "cpu f64[4]"
    // t12 = prims::add(t10, 1)  // t12: "cpu f64[4]"
    // t13 = prims::mul(t11, t12)  // t13: "cpu f64[4]"
  auto t14 = reshape(t13, {2, -1});  // t14: "cpu f64[2, 2]"
  auto t16 = t14(Slice(0, 1), Ellipsis, None);  // t16: "cpu f64[1, 2, 1]"
    // t15 = prims::slice(t14, 0, 0, 1)  // t15: "cpu f64[1, 2]"
    // t16 = prims::unsqueeze(t15, 2)  // t16: "cpu f64[1, 2, 1]"
  auto t17 = zeros({2}, {.dtype = Dtype::f64});  // t17: "cpu f64[2]"
    // t17 = prims::full({2}, 0, {.dtype = Dtype::f64})  // t17: "cpu f64[2]"
  auto t18 = add(t16, t17);  // t18: "cpu f64[1, 2, 2]"
  auto t25 = nn::layer_norm(t18, {2}, {}, {});  // t25: "cpu f64[1, 2, 2]"
    // (t25, t19, t24) = prims::layer_norm(t18, {2}, {}, {}, 1e-05)  // t25: "cpu f64[1, 2, 2]", t19: "cpu f64[1, 2, 1]", t24: "cpu f64[1, 2, 1]"
      // t19 = prims::mean(t18, {2}, true)  // t19: "cpu f64[1, 2, 1]"
      // t20 = prims::sub(t18, t19)  // t20: "cpu f64[1, 2, 2]"
      // t21 = prims::mul(t20, t20)  // t21: "cpu f64[1, 2, 2]"
      // t22 = prims::mean(t21, {2}, true)  // t22: "cpu f64[1, 2, 1]"
      // t23 = prims::add(t22, 1e-05)  // t23: "cpu f64[1, 2, 1]"
      // t24 = prims::rsqrt(t23)  // t24: "cpu f64[1, 2, 1]"
      // t25 = prims::mul(t20, t24)  // t25: "cpu f64[1, 2, 2]"
  auto t26 = prims::convert_element_type(t25, Dtype::boolean);  // t26: "cpu bool[1, 2, 2]"
  return t26;
}
)");
}

TEST("several results and lists of results are bound to names") {
  expect_trace(two_results(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::tuple<Tensor, Tensor> computation(Tensor t_0) {
  // t_0: "cpu f32[4, 6]"
  auto [t0, t1] = unpack<2>(split(t_0, {3, 3}, 1));  // t0: "cpu f32[4, 3]", t1: "cpu f32[4, 3]"
    // t0 = prims::narrow(t_0, 1, 0, 3)  // t0: "cpu f32[4, 3]"
    // t1 = prims::narrow(t_0, 1, 3, 3)  // t1: "cpu f32[4, 3]"
  auto [t2, t3] = var_mean(t0, {1}, 1.0);  // t2: "cpu f32[4]", t3: "cpu f32[4]"
    // t2 = prims::var(t0, {1}, 1.0)  // t2: "cpu f32[4]"
    // t3 = prims::mean(t0, {1})  // t3: "cpu f32[4]"
  return {t2, t1};
}
)");
  expect_python(two_results(), R"(
import torch

def split(x, sizes, dim):
  sizes = [sizes] if isinstance(sizes, int) else list(sizes)
  return torch.split(x, sizes[0] if len(sizes) == 1 else sizes, dim)

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[4, 6]"
  (t0, t1) = split(t_0, (3, 3), 1)  # t0: "cpu f32[4, 3]", t1: "cpu f32[4, 3]"
    # t0 = prims.narrow(t_0, 1, 0, 3)  # t0: "cpu f32[4, 3]"
    # t1 = prims.narrow(t_0, 1, 3, 3)  # t1: "cpu f32[4, 3]"
  (t2, t3) = torch.var_mean(t0, (1,), correction=1.0)  # t2: "cpu f32[4]", t3: "cpu f32[4]"
    # t2 = prims.var(t0, (1,), correction=1.0)  # t2: "cpu f32[4]"
    # t3 = prims.mean(t0, (1,))  # t3: "cpu f32[4]"
  return (t2, t1)
)");
}

TEST("depth chooses how many levels of a decomposition are shown") {
  const Trace trace =
      record({f32({4, 6})}, [](auto& x) -> std::vector<Tensor> { return {nn::dropout(x[0], 0.5, true)}; });
  expect_text(trace.cpp({.time = false, .source = false, .depth = 0}), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[4, 6]"
  auto t5 = nn::dropout(t_0);  // t5: "cpu f32[4, 6]"
  return t5;
}
)");
  expect_text(trace.cpp({.time = false, .source = false, .depth = 1}), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[4, 6]"
  auto t5 = nn::dropout(t_0);  // t5: "cpu f32[4, 6]"
    // t0 = prims::random_state(24)  // t0: "cpu i64[2]"
    // t1 = prims::uniform(t0, {4, 6}, 0.0, 1.0, Dtype::f32)  // t1: "cpu f32[4, 6]"
    // t2 = prims::ge(t1, 0.5)  // t2: "cpu bool[4, 6]"
    // t3 = prims::convert_element_type(t2, Dtype::f32)  // t3: "cpu f32[4, 6]"
    // t4 = prims::mul(t_0, t3)  // t4: "cpu f32[4, 6]"
    // t5 = prims::mul(t4, 2.0)  // t5: "cpu f32[4, 6]"
  return t5;
}
)");
}

TEST("the provenance line says what made the trace, and how long it took") {
  Trace trace = record({f32({1})}, [](auto& x) -> std::vector<Tensor> { return {x[0]}; });
  trace.provenance = "Delete Last Used";
  trace.milliseconds = 2.6;
  expect_text(trace.python(), R"(
# Constructed by Delete Last Used (took 3 milliseconds)
import torch

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[1]"
  return t_0
)");
}

TEST("ops of one user line share one comment") {
  const Trace trace = delete_last_used(record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = exp(x[0]);
    return {mul(add(a, a), a)};
  }));
  const std::string text = trace.cpp();
  expect(text.find("\n  // printing_test.cpp:") != std::string::npos, text);
  size_t comments = 0;
  for (size_t at = 0; (at = text.find("// printing_test.cpp:", at)) != std::string::npos; ++at) ++comments;
  expect_equal(comments, 2);
}

TEST("a file that is gone leaves its line's number") {
  Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> { return {exp(x[0])}; });
  trace.bound_symbols[0].source = {"/nowhere/model.cpp", 12};
  expect_text(trace.cpp({.time = false}), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"

  // model.cpp:12
  auto t0 = exp(t_0);  // t0: "cpu f32[2]"
  return t0;
}
)");
}

TEST("a bound symbol prints as an op") {
  std::ostringstream out;
  out << two_results().bound_symbols[1];
  expect_text(out.str(), R"(
auto [t2, t3] = var_mean(t0, {1}, 1.0);  // t2: "cpu f32[4]", t3: "cpu f32[4]"
  // t2 = prims::var(t0, {1}, 1.0)  // t2: "cpu f32[4]"
  // t3 = prims::mean(t0, {1})  // t3: "cpu f32[4]"
)");
}

TEST("an operator that PyTorch lacks is defined above from its decomposition, once for equal calls") {
  Trace trace = record({f32({2}), f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = mul(x[0], 3);
    const Tensor b = mul(x[1], 3);
    const Tensor c = mul(a, 4);
    return {b, c};
  });
  static const Symbol scale{.signature = "mine::scale(Tensor input, float by=1.0) -> Tensor"};
  for (size_t i = 0; i < 3; ++i) {
    BoundSymbol& bound = trace.bound_symbols[i];
    bound.subsymbols = {bound};
    bound.symbol = &scale;
  }
  expect_python(trace, R"(
import torch

def mine__scale(input, by):
  v1 = torch.mul(input, 3)
  return v1

def mine__scale_1(input, by):
  v1 = torch.mul(input, 4)
  return v1

@torch.no_grad()
def computation(t_0, t_1):
  # t_0: "cpu f32[2]"
  # t_1: "cpu f32[2]"
  t0 = mine__scale(t_1, 3)  # t0: "cpu f32[2]"
    # t0 = prims.mul(t_1, 3)  # t0: "cpu f32[2]"
  t1 = mine__scale(t_0, 3)  # t1: "cpu f32[2]"
    # t1 = prims.mul(t_0, 3)  # t1: "cpu f32[2]"
  t2 = mine__scale_1(t1, 4)  # t2: "cpu f32[2]"
    # t2 = prims.mul(t1, 4)  # t2: "cpu f32[2]"
  return (t0, t2)
)");
}

TEST("a fusion is defined above under its own name") {
  Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    return {exp(a)};
  });
  static const Symbol fusion{.signature = "fusion0() -> Tensor"};
  BoundSymbol bound;
  bound.symbol = &fusion;
  bound.args = trace.args;
  bound.outputs = trace.bound_symbols[1].outputs;
  bound.subsymbols = {trace.bound_symbols[0], trace.bound_symbols[1]};
  expect(bound.is_fusion());
  trace.bound_symbols = {bound, trace.bound_symbols[2]};
  check_trace(trace);
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

static auto fusion0(Tensor t_0) {
  auto t0 = sin(t_0);
  auto t1 = exp(t0);
  return std::tuple(t1);
}

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto [t1] = fusion0(t_0);
    // t0 = prims::sin(t_0)  // t0: "cpu f32[2]"
    // t1 = prims::exp(t0)  // t1: "cpu f32[2]"
  return t1;
}
)");
  expect_python(trace, R"(
import torch

def fusion0(t_0):
  t0 = torch.sin(t_0)
  t1 = torch.exp(t0)
  return (t1,)

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[2]"
  [t1] = fusion0(t_0)
    # t0 = prims.sin(t_0)  # t0: "cpu f32[2]"
    # t1 = prims.exp(t0)  # t1: "cpu f32[2]"
  return t1
)");
}

TEST("keywords and names of functions make no bad variables") {
  const Trace trace =
      record({{{2}, Dtype::f32, false, "lambda"}, {{2}, Dtype::f32, false, "exp"}}, [](auto& x) -> std::vector<Tensor> {
        const Tensor a = add(x[0], x[1]);
        return {exp(a)};
      });
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor lambda_, Tensor exp) {
  // lambda_: "cpu f32[2]"
  // exp: "cpu f32[2]"
  auto t2 = add(lambda_, exp);  // t2: "cpu f32[2]"
  auto t3 = fulgurite::exp(t2);  // t3: "cpu f32[2]"
  return t3;
}
)");
}

TEST("defaults are left out only where they mean the same") {
  const Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = add(x[0], x[0], 1);
    const Tensor b = add(a, a, 1.0);
    return {sum(b, Dims(), false)};
  });
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto t0 = add(t_0, t_0);  // t0: "cpu f32[2]"
  auto t1 = add(t0, t0, 1.0);  // t1: "cpu f32[2]"
  auto t2 = sum(t1);  // t2: "cpu f32[]"
  return t2;
}
)");
}
