// Operators that are registered from outside.
#include <algorithm>
#include <functional>
#include <stdexcept>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

Tensor scaled(const Tensor& x, double s) {
  const Tensor in = x.contiguous();
  Tensor out = empty(in.shape());
  const float* from = in.data<float>();
  float* to = out.data<float>();
  for (int64_t i = 0; i < static_cast<int64_t>(in.numel()); ++i) to[i] = static_cast<float>(from[i] * s);
  return out;
}

}  // namespace

TEST("a registered operator is called like its function, with its signature's defaults") {
  const OperatorExecutor ex("operators");
  const auto f = ex.register_operator("operators::scaled(Tensor x, float s=3.0) -> Tensor", scaled);
  const Tensor x = tensor({1.0, 2.0});
  expect_near(f(x, 2.0).to_vector<float>(), {2, 4});
  expect_near(f(x, 2).to_vector<float>(), {2, 4});
  expect_near(f(x).to_vector<float>(), {3, 6});
  expect_near(Tensor(call("operators::scaled", {x})).to_vector<float>(), {3, 6});
  expect_near(Tensor(call("operators::scaled", {x}, {{"s", 0.5}})).to_vector<float>(), {0.5, 1});
  expect_equal(find_symbol("operators::scaled"), &f.symbol());
  expect_different(std::ranges::find(symbols(), &f.symbol()), symbols().end());
  const Symbol& symbol = f;
  expect_equal(symbol.documentation, "Registered by the executor operators.");
  expect_error([&] { call("operators::scaled", {x}, {{"t", 1}}); }, "has no argument 't'");
}

TEST("a registered operator is one symbol of a trace, which any executor list can run") {
  const OperatorExecutor ex("operators2");
  const auto f = ex.register_operator("operators2::scaled(Tensor x, float s=3.0) -> Tensor", scaled);
  const auto g = jit([f](Tensor x) { return f(x + 1, 2.0).transpose(0, 1) * 2; });
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  expect_near(g(x).to_vector<float>(), {8, 16, 12, 20});
  expect_near(g(x).to_vector<float>(), {8, 16, 12, 20});
  expect_trace(last_traces(g).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

namespace operators2 {
inline Tensor scaled(const Arg& x, const Arg& s) {
  return call("operators2::scaled", {x, s});
}
}

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2, 2]"
  auto t0 = add(t_0, 1);  // t0: "cpu f32[2, 2]"
  auto t1 = operators2::scaled(t0, 2.0);  // t1: "cpu f32[2, 2]"
  auto t2 = transpose(t1, 0, 1);  // t2: "cpu f32[2, 2]"
  auto t3 = mul(t2, 2);  // t3: "cpu f32[2, 2]"
  return t3;
}
)");
  expect_python(last_traces(g).front(), R"(
import torch

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[2, 2]"
  t0 = torch.add(t_0, 1)  # t0: "cpu f32[2, 2]"
  t1 = torch.ops.operators2.scaled(t0, 2.0)  # t1: "cpu f32[2, 2]"
  t2 = torch.transpose(t1, 0, 1)  # t2: "cpu f32[2, 2]"
  t3 = torch.mul(t2, 2)  # t3: "cpu f32[2, 2]"
  return t3
)");
  const auto only_eager = jit([f](Tensor t) { return f(t); }, {.executors = {"eager"}});
  expect_near(only_eager(x).to_vector<float>(), {3, 6, 9, 12});
}

TEST("an operator takes and gives what signatures can say") {
  const OperatorExecutor ex("kinds");
  const auto f = ex.register_operator(
      "kinds::f(Tensor[] xs, Tensor? bias, int n, int[] dims, bool flip=False, str mode='sum', *, float? eps=None, "
      "Dtype dtype=f32) -> (Tensor, Tensor)",
      [](const std::vector<Tensor>& xs, Tensor bias, int64_t n, Shape dims, bool flip, std::string mode,
         std::optional<double> eps, Dtype dtype) {
        Tensor total = xs[0];
        for (size_t i = 1; i < xs.size(); ++i) total = total + xs[i];
        if (bias.defined()) total = total + bias;
        const Tensor reduced = mode == "sum" ? sum(total, dims) : mean(total, dims);
        return std::pair(total * n + eps.value_or(0), (flip ? -reduced : reduced).to(dtype));
      });
  const Tensor x = ones({2, 3}), y = full({2, 3}, 2.0);
  const auto [a, b] = f({x, y}, {}, 2, {1});
  expect_near(a.to_vector<float>(), {6, 6, 6, 6, 6, 6});
  expect_near(b.to_vector<float>(), {9, 9});
  const auto [c, d] = f({x, y}, x, 1, {0, 1}, true, "mean", 0.5, Dtype::f64);
  expect_near(c.to_vector<float>(), {4.5, 4.5, 4.5, 4.5, 4.5, 4.5});
  expect_near(d.to_vector<double>(), {-4});
  const std::vector<Value> both = call("kinds::f", {{x, y}, None, 2, {1}}, {{"eps", 1.0}}).list();
  expect_near(Tensor(both[0]).to_vector<float>(), {7, 7, 7, 7, 7, 7});
  const auto compiled = jit([f](Tensor s, Tensor t) { return f({s, t}, {}, 2, {1}, true, "sum", 0.25); });
  const auto [e, g] = compiled(x, y);
  expect_near(e.to_vector<float>(), {6.25, 6.25, 6.25, 6.25, 6.25, 6.25});
  expect_near(g.to_vector<float>(), {-9, -9});

  const auto chunks = ex.register_operator("kinds::pieces(Tensor x, int n) -> Tensor[]",
                                           [](Tensor t, int64_t n) { return split(t, n); });
  const std::vector<Tensor> parts = jit([chunks](Tensor t) { return chunks(t, 2); })(arange(6));
  expect_equal(parts.size(), 3u);
  expect_equal(parts[2].to_vector<int64_t>(), std::vector<int64_t>({4, 5}));
}

TEST("an Operand is a tensor or a number; gradients go to it where it is a tensor") {
  const OperatorExecutor ex("operand");
  const auto f = ex.register_operator("operand::product(Operand a, Tensor b, *, Operand scale=1) -> Tensor",
                                      [](const Operand& a, Tensor b, const Operand& scale) { return a * b * scale; },
                                      {.grad_transform = [](const Operand& a, Tensor b, const Operand& scale) {
                                        Tensor y = a * b * scale;
                                        const Tensor g = get_grad(y) * scale;
                                        if (a.is_tensor()) put_grad(a.tensor(), g * b);
                                        put_grad(b, g * a);
                                        return y;
                                      }});
  const Tensor a = tensor({2.0, 3.0}).requires_grad_(), b = tensor({5.0, 7.0}).requires_grad_();
  expect_near(f(4, b).to_vector<float>(), {20, 28});
  for (const auto& run : {std::function<Tensor()>([&] { return f(a, b, 10); }), std::function<Tensor()>([&] {
                            return jit([f](Tensor s, Tensor t) { return f(s, t, 10); })(a, b);
                          })}) {
    a.set_grad({});
    b.set_grad({});
    run().sum().backward();
    expect_near(a.grad().to_vector<float>(), {50, 70});
    expect_near(b.grad().to_vector<float>(), {20, 30});
  }
  b.set_grad({});
  f(0.5, b).sum().backward();
  expect_near(b.grad().to_vector<float>(), {0.5, 0.5});
}

TEST("an exception in run is the caller's, and nothing stays behind") {
  const OperatorExecutor ex("throws");
  const auto f = ex.register_operator("throws::f(Tensor x, bool fails=False) -> Tensor",
                                      [](Tensor x, bool fails) {
                                        if (fails) throw std::runtime_error("the kernel failed");
                                        return x + 1;
                                      },
                                      {.infer = [](Tensor x, bool) { return empty_like(x); }});
  const auto g = jit([f](Tensor x, bool fails) { return f(x, fails) * 2; });
  const Tensor x = ones({2});
  for (int i = 0; i < 2; ++i) {
    expect_error([&] { f(x, true); }, "the kernel failed");
    expect_error([&] { g(x, true); }, "the kernel failed");
    expect_near(g(x, false).to_vector<float>(), {4, 4});
  }
}

TEST("infer says what the results are without running; else run is asked once for each kind of arguments") {
  const OperatorExecutor ex("types");
  int runs = 0;
  const auto counted = [&runs](Tensor x, int64_t n) {
    ++runs;
    return full({x.size(0), n}, 2.0);
  };
  const auto without = ex.register_operator("types::without(Tensor x, int n) -> Tensor", counted);
  const auto with =
      ex.register_operator("types::with(Tensor x, int n) -> Tensor", counted, {.infer = [](Tensor x, int64_t n) {
                             return empty({x.size(0), n});
                           }});
  const Tensor x = ones({3});
  trace([&](Tensor t) { return with(t, 2) + with(t, 2); }, x);
  expect_equal(runs, 0);
  trace([&](Tensor t) { return without(t, 2) + without(t, 2); }, x);
  expect_equal(runs, 1);
  trace([&](Tensor t) { return without(t, 4); }, x);
  expect_equal(runs, 2);
  const auto wrong = ex.register_operator("types::wrong(Tensor x) -> Tensor", [](Tensor t) { return t.sum(); },
                                          {.infer = [](Tensor t) { return empty_like(t); }});
  expect_error([&] { jit(wrong)(x); },
               "the run of types::wrong gave cpu f32[] as result 0, where its types were found to be cpu f32[3]");
}

TEST("a result is memory of its own") {
  const OperatorExecutor ex("own");
  const auto same = ex.register_operator("own::same(Tensor x) -> Tensor", [](Tensor x) { return x; });
  const auto turned =
      ex.register_operator("own::turned(Tensor x) -> Tensor", [](Tensor x) { return x.transpose(0, 1); });
  const auto twice = ex.register_operator("own::twice(Tensor x) -> (Tensor, Tensor)", [](Tensor x) {
    const Tensor y = x * 2;
    return std::pair(y, y);
  });
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor y = same(x);
  expect_different(y.data<float>(), x.data<float>());
  expect(turned(x).is_contiguous());
  const auto [a, b] = twice(x);
  expect_different(a.data<float>(), b.data<float>());
  const auto f = jit([same, turned](Tensor t) { return std::tuple(same(t), turned(t + 1) * 2); });
  for (int i = 0; i < 2; ++i) {
    const auto [c, d] = f(x);
    expect_different(c.data<float>(), x.data<float>());
    expect_near(c.to_vector<float>(), {1, 2, 3, 4});
    expect_near(d.to_vector<float>(), {4, 8, 6, 10});
  }
}

TEST("a misspelled signature says where") {
  const OperatorExecutor ex("spelling");
  const auto run = [](Tensor x) { return x; };
  const auto refused = [&](const char* signature, const std::string& why) {
    expect_error([&] { ex.register_operator(signature, run); },
                 "the signature \"" + std::string(signature) + "\" cannot be read: " + why);
  };
  refused("spelling::f(Tensor x", "',' or ')' is missing after a parameter");
  refused("spelling::f(Tensr x) -> Tensor", "a parameter's type is not one of Tensor, Operand");
  refused("spelling::f(Tensor x)", "'->' is missing");
  refused("spelling::f(Tensor x) -> Tensor, Tensor", "text is left over after the results");
  refused("spelling::f(Tensor x) -> ()", "an operator gives at least one tensor");
  refused("spelling::f(Tensor x, Tensor x) -> Tensor", "two parameters are named x");
  refused("spelling::f(Tensor x, float s=big) -> Tensor", "big is not a default of a parameter of type float");
  refused("spelling::f(Tensor x, float s=1.0, int n) -> Tensor", "n has no default, and s before it has one");
  expect_equal(find_symbol("spelling::f"), nullptr);
}

TEST("functions that do not match the signature are refused") {
  const OperatorExecutor ex("mismatch");
  const auto run = [](Tensor x, double) { return x; };
  const char* signature = "mismatch::f(Tensor x, float s) -> Tensor";
  expect_error(
      [&] { ex.register_operator(signature, [](Tensor x) { return x; }); },
      "the run of mismatch::f takes 1 argument(s), but the operator has 2: mismatch::f(Tensor x, float s) -> Tensor");
  expect_error([&] { ex.register_operator(signature, [](Tensor x, std::string) { return x; }); },
               "the run of mismatch::f takes a string for 's', which is of type float");
  expect_error([&] { ex.register_operator(signature, [](Tensor x, double) { return std::pair(x, x); }); },
               "the run of mismatch::f gives 2 tensor(s), but the operator 1");
  expect_error([&] { ex.register_operator(signature, run, {.checker = [](Tensor x, double) { return x; }}); },
               "the checker of mismatch::f returns tensors; it says with a bool whether the call is taken");
  expect_error([&] { ex.register_operator(signature, run, {.grad_transform = [](Tensor x) { return x; }}); },
               "the grad transform of mismatch::f takes 1 argument(s), but the operator has 2");
  expect_error([&] { ex.register_operator("mismatch::g(Tensor x, float? s) -> Tensor", run); },
               "the run of mismatch::g takes a floating number for 's', which may be None: make it a std::optional");
  expect_error(
      [&] { ex.register_operator("mismatch::h(Tensor x, float s) -> Tensor", run, {.traits = {.view = true}}); },
      "a registered operator makes new tensors");
  expect_error([&] { ex.register_operator("mismatch::v(Tensor x) -> Tensor[]", [](Tensor x) { return x; }); },
               "gives 1 tensor(s), but the operator a list; return a std::vector<Tensor>");
}

TEST("a name is taken once") {
  const OperatorExecutor ex("taken");
  const auto run = [](Tensor x) { return x; };
  ex.register_operator("taken::f(Tensor x) -> Tensor", run);
  expect_error([&] { ex.register_operator("taken::f(Tensor y) -> Tensor", run); },
               "the name taken::f is taken by the operator taken::f(Tensor x) -> Tensor");
  expect_error([&] { ex.register_operator("torch.sin(Tensor x) -> Tensor", run); },
               "the name torch.sin is taken by the operator torch.sin(Tensor input) -> Tensor");
}

TEST("the results of run are checked against the operator") {
  const OperatorExecutor ex("given");
  const auto list = ex.register_operator("given::list(Tensor x) -> (Tensor, Tensor)",
                                         [](Tensor x) { return std::vector<Tensor>{x}; });
  expect_error([&] { list(ones({2})); }, "the run of given::list gave 1 tensor(s), but the operator has 2");
  const auto none = ex.register_operator("given::none(Tensor x) -> Tensor", [](Tensor) { return Tensor(); });
  expect_error([&] { none(ones({2})); }, "the run of given::none gave an undefined tensor");
  const auto picky = ex.register_operator("given::picky(Tensor x) -> Tensor", [](Tensor x) { return x; },
                                          {.checker = [](Tensor x) { return x.ndim() == 1; }});
  expect_near(picky(ones({2})).to_vector<float>(), {1, 1});
  expect_error(
      [&] {
        picky(ones({2, 2}));
      },
      "picky(cpu f32[2, 2]): its checker refuses these arguments, and nothing else implements given::picky");
  expect_error([&] { jit(picky)(ones({2, 2})); }, "no executor implements given::picky for this call");
}

TEST("the traits of an operator say what passes may do") {
  const OperatorExecutor ex("traits");
  int runs = 0;
  const auto noted = ex.register_operator(
      "traits::noted(Tensor x) -> Tensor",
      [&runs](Tensor x) {
        ++runs;
        return x;
      },
      {.infer = [](Tensor x) { return empty_like(x); }, .traits = {.side_effect = true}, .documentation = "Counts."});
  const auto f = jit([noted](Tensor x) {
    noted(x);
    noted(x);
    return x + 1;
  });
  f(ones({2}));
  expect_equal(runs, 2);
  expect_equal(noted.symbol().documentation, "Counts.");
}

}  // namespace fulgurite
