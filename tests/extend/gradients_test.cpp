// User-defined gradient rules: their sources and their limits.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/test.h"

namespace fulgurite {

namespace {

Tensor run_power(Tensor x, double n) { return pow(x, n); }

Tensor grad_of(const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  f(leaf).sum().backward();
  return leaf.grad();
}

}  // namespace

TEST("a grad transform computes the results and says what the gradients are") {
  const OperatorExecutor ex("joint");
  const auto power = ex.register_operator("joint::power(Tensor x, float n=2.0) -> Tensor", run_power,
                                          {.grad_transform = [](Tensor x, double n) {
                                            Tensor y = call("joint::power", {x, n});
                                            const Tensor g = get_grad(y);
                                            const Tensor slope = pow(x, n - 1) * n;
                                            put_grad(x, g * slope);
                                            return y;
                                          }});
  const Tensor x = tensor({1.0, 2.0, 3.0});
  expect_near(grad_of([&](Tensor t) { return power(t, 3); }, x).to_vector<float>(), {3, 12, 27});
  expect_near(grad_of(jit([power](Tensor t) { return power(t, 3); }), x).to_vector<float>(), {3, 12, 27});
  expect_near(grad([power](Tensor t) { return power(t, 3).sum(); })(x).to_vector<float>(), {3, 12, 27});
  expect_near(jit(grad([power](Tensor t) { return power(t).sum(); }))(x).to_vector<float>(), {2, 4, 6});
  expect_trace(grad_transform_on_trace(trace([power](Tensor t) { return power(t, 3.0); }, x.clone().requires_grad_())),
               R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

namespace joint {
inline Tensor power(const Arg& x, const Arg& n) {
  return call("joint::power", {x, n});
}
}

JointResult computation(Tensor t_0) {
  // t_0: "cpu f32[3]"
  auto t0 = joint::power(t_0, 3.0);  // t0: "cpu f32[3]"
  auto t6 = prims::get_grad(t0, 0);  // t6: "cpu f32[3]"
  auto t3 = pow(t_0, 2.0);  // t3: "cpu f32[3]"
  auto t4 = mul(t3, 3.0);  // t4: "cpu f32[3]"
  auto t5 = mul(t6, t4);  // t5: "cpu f32[3]"
  return {.output = {t5}, .fw_flat_out = {t0}};
}
)");
}

TEST("second gradients go through a grad transform, eagerly and compiled") {
  const OperatorExecutor ex("second");
  const auto cube = ex.register_operator("second::cube(Tensor x) -> Tensor", [](Tensor x) { return x * x * x; },
                                         {.grad_transform = [](Tensor x) {
                                           const Tensor square = x * x;
                                           Tensor y = square * x;
                                           const Tensor g = get_grad(y);
                                           const Tensor slope = square * 3;
                                           put_grad(x, g * slope);
                                           return y;
                                         }});
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  const auto first = autograd::grad(cube(x).sum(), x, {}, {.create_graph = true});
  expect_near(first[0].to_vector<float>(), {3, 12});
  expect_near(autograd::grad(first[0].sum(), x)[0].to_vector<float>(), {6, 12});
  const auto slope = [cube](Tensor t) { return grad([cube](Tensor s) { return cube(s).sum(); })(t).sum(); };
  expect_near(grad(slope)(x.detach()).to_vector<float>(), {6, 12});
  expect_near(jit(grad(slope))(x.detach()).to_vector<float>(), {6, 12});
  const auto compiled = jit([cube](Tensor t) { return cube(t).sum(); });
  const auto again = autograd::grad(compiled(x), x, {}, {.create_graph = true});
  expect_near(autograd::grad(again[0].sum(), x)[0].to_vector<float>(), {6, 12});
}

TEST("an augmented forward with its backward is a gradient rule") {
  const OperatorExecutor ex("paired");
  const auto scaled_exp = ex.register_operator("paired::scaled_exp(Tensor x, float s) -> Tensor",
                                               [](Tensor x, double s) { return exp(x * s); });
  ex.register_augmented_forward(scaled_exp, [scaled_exp](Tensor x, double s) {
    const Tensor y = scaled_exp(x, s);
    return std::pair(y, std::tuple(y, s));
  });
  ex.register_backward(scaled_exp, [](Tensor y, double s, Tensor g) { return g * y * s; });
  const Tensor x = tensor({0.0, 0.5});
  const std::vector<double> slope{2, 2 * std::exp(1.0)};
  expect_near(grad_of([&](Tensor t) { return scaled_exp(t, 2); }, x).to_vector<float>(), slope);
  expect_near(grad_of(jit([&](Tensor t) { return scaled_exp(t, 2); }), x).to_vector<float>(), slope);

  const auto product =
      ex.register_operator("paired::product(Tensor a, Tensor b) -> Tensor", [](Tensor a, Tensor b) { return a * b; });
  ex.register_augmented_forward(product, [](Tensor a, Tensor b) {
    return std::pair(a * b, std::vector<Tensor>{a, b});
  });
  ex.register_backward(product, [](const std::vector<Tensor>& saved, const std::vector<Tensor>& cotangents) {
    const Tensor db = cotangents[0] * saved[0];
    return std::vector<Tensor>{cotangents[0] * saved[1], db};
  });
  const auto [da, db] = grad<0, 1>([product](Tensor a, Tensor b) { return product(a, b).sum(); })(x, x + 1);
  expect_near(da.to_vector<float>(), {1, 1.5});
  expect_near(db.to_vector<float>(), {0, 0.5});
}

TEST("the symbol's own rule, and its decomposition, are next") {
  const Tensor x = tensor({0.5, 1.0});
  expect_near(grad_of([](Tensor t) { return sin(t); }, x).to_vector<float>(), cos(x).to_vector<float>());
  expect_near(grad_of([](Tensor t) { return nn::dropout(t * t, 0.0); }, x).to_vector<float>(), {1, 2});
}

TEST("the cotangent of an unused result is zeros") {
  const OperatorExecutor ex("two");
  const auto both = ex.register_operator("two::sum_and_product(Tensor a, Tensor b) -> (Tensor, Tensor)",
                                         [](Tensor a, Tensor b) { return std::pair(a + b, a * b); },
                                         {.grad_transform = [](Tensor a, Tensor b) {
                                           const Tensor s = a + b;
                                           const Tensor p = a * b;
                                           const Tensor gs = get_grad(s);
                                           const Tensor gp = get_grad(p);
                                           put_grad(a, gs);
                                           put_grad(b, gs);
                                           put_grad(a, gp * b);
                                           put_grad(b, gp * a);
                                           return std::pair(s, p);
                                         }});
  const Tensor a = tensor({2.0, 3.0}), b = tensor({5.0, 7.0});
  const auto only = [&](int which, auto f) {
    const Tensor x = a.clone().requires_grad_(), y = b.clone().requires_grad_();
    const std::pair<Tensor, Tensor> r = f(x, y);
    (which == 0 ? r.first : r.second).sum().backward();
    return std::pair(x.grad().to_vector<float>(), y.grad().to_vector<float>());
  };
  const auto compiled = jit([both](Tensor x, Tensor y) { return both(x, y); });
  for (const bool is_compiled : {false, true}) {
    const auto call_it = [&](Tensor x, Tensor y) { return is_compiled ? compiled(x, y) : both(x, y); };
    expect_near(only(0, call_it).first, {1, 1});
    expect_near(only(0, call_it).second, {1, 1});
    expect_near(only(1, call_it).first, {5, 7});
    expect_near(only(1, call_it).second, {2, 3});
  }
  // Compiled with one result, nothing is left of the other, not even where it is infinite.
  const auto one = jit([both](Tensor x, Tensor y) { return both(x, y).first; });
  expect_near(only(0, [&](Tensor x, Tensor y) { return std::pair(one(x, y), x); }).first, {1, 1});
  expect_trace(last_backward_traces(one).front(), R"(
// Constructed by Backward
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  Tensor t8 = cotangents[0];
  return {t8, t8};
}
)");
  const auto nonlinear =
      ex.register_operator("two::nonlinear(Tensor a) -> (Tensor, Tensor)",
                           [](Tensor x) { return std::pair(x * 1, x * 2); }, {.grad_transform = [](Tensor x) {
                             const Tensor s = x * 1;
                             const Tensor t = x * 2;
                             const Tensor gt = get_grad(t);
                             put_grad(x, get_grad(s) + cos(gt * 2));  // of zeros where t is unused
                             return std::pair(s, t);
                           }});
  const auto first = [nonlinear](Tensor x) { return nonlinear(x).first; };
  expect_near(grad_of(first, a).to_vector<float>(), {2, 2});
  expect_near(grad_of(jit(first), a).to_vector<float>(), {2, 2});
}

TEST("var_mean: two results, two cotangents, against finite differences") {
  const OperatorExecutor ex("moments");
  const auto moments = ex.register_operator("moments::var_mean(Tensor x) -> (Tensor, Tensor)",
                                            [](Tensor x) { return var_mean(x, {1}); });
  ex.register_augmented_forward(moments, [](Tensor x) {
    const auto [variance, average] = var_mean(x, {1});
    return std::pair(std::pair(variance, average), std::tuple(x, average));
  });
  ex.register_backward(moments, [](Tensor x, Tensor average, Tensor g_variance, Tensor g_average) {
    const Int n = x.size(1);
    const Tensor centred = x - average.unsqueeze(1);
    const Tensor from_variance = g_variance.unsqueeze(1) * centred * (2.0 / (Float(n) - 1.0));
    return from_variance + g_average.unsqueeze(1) / n;
  });
  manual_seed(3);
  const std::vector<Tensor> inputs{randn({3, 4}, {.dtype = Dtype::f64, .requires_grad = true})};
  const auto through = [&](Tensor x) {
    const auto [variance, average] = moments(x);
    return std::vector<Tensor>{variance, average};
  };
  expect_equal(test::gradcheck([&](const std::vector<Tensor>& x) { return through(x[0]); }, inputs), std::string());
  const auto compiled = jit(through);
  expect_equal(test::gradcheck([&](const std::vector<Tensor>& x) { return compiled(x[0]); }, inputs), std::string());
}

TEST("an argument that a rule returns as it is gets its gradient over an edge") {
  const OperatorExecutor ex("edge");
  const auto pass = ex.register_operator("edge::pass(Tensor x, Tensor y) -> (Tensor, Tensor)",
                                         [](Tensor x, Tensor y) { return std::pair(x, x * y); },
                                         {.grad_transform = [](Tensor x, Tensor y) {
                                           const Tensor p = x * y;
                                           const Tensor g = get_grad(p);
                                           put_grad(x, g * y);
                                           put_grad(y, g * x);
                                           return std::pair(x, p);
                                         }});
  const auto paired = ex.register_operator("edge::paired(Tensor x, Tensor y) -> (Tensor, Tensor)",
                                           [](Tensor x, Tensor y) { return std::pair(x, x * y); });
  ex.register_augmented_forward(paired,
                                [](Tensor x, Tensor y) { return std::pair(std::pair(x, x * y), std::tuple(x, y)); });
  ex.register_backward(paired, [](Tensor x, Tensor y, Tensor gx, Tensor gp) {
    const Tensor dx = gx + gp * y;
    return std::pair(dx, gp * x);
  });
  const auto doubled = ex.register_operator("edge::doubled(Tensor x) -> Tensor", [](Tensor x) { return x; },
                                            {.grad_transform = [](Tensor x) {
                                              put_grad(x, get_grad(x) * 2);  // of the result, to the argument
                                              return x;
                                            }});
  const Tensor a = tensor({2.0, 3.0}), b = tensor({5.0, 7.0});
  const auto check = [&](auto f) {
    const Tensor x = a.clone().requires_grad_(), y = b.clone().requires_grad_();
    const std::pair<Tensor, Tensor> r = f(x, y);
    (r.first * 10 + r.second).sum().backward();
    expect_near(x.grad().to_vector<float>(), {15, 17});
    expect_near(y.grad().to_vector<float>(), {2, 3});
  };
  check(pass);
  check(jit([pass](Tensor x, Tensor y) { return pass(x, y); }));
  check(paired);
  check(jit([paired](Tensor x, Tensor y) { return paired(x, y); }));
  expect_near(grad_of([&](Tensor t) { return doubled(t); }, a).to_vector<float>(), {2, 2});
  expect_near(grad_of(jit([&](Tensor t) { return doubled(t) * 3; }), a).to_vector<float>(), {6, 6});
}

TEST("the ops of a rule belong to the symbol's op of the forward and have its tags") {
  const OperatorExecutor ex("tags");
  const auto f = ex.register_operator("tags::f(Tensor x) -> Tensor", [](Tensor x) { return exp(sin(x)); },
                                      {.grad_transform = [](Tensor x) {
                                        const Tensor s = sin(x);
                                        Tensor y = exp(s);
                                        const Tensor g = get_grad(y);
                                        const Tensor slope = y * cos(x);
                                        put_grad(x, g * slope);
                                        return y;
                                      }});
  const Tensor x = ones({2}).requires_grad_();
  const auto plain = jit([f](Tensor t) { return f(t); }, {.debug = {.associate_forward = true, .check_traces = true}});
  const auto checkpointed = jit([f](Tensor t) { return checkpoint([f](Tensor s) { return f(s) * 1; })(t); });
  plain(x).sum().backward();
  expect_trace(last_backward_traces(plain).front(), R"(
// Constructed by Backward
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  Tensor t7 = cotangents[0];
  Tensor t_0 = C0[0];
  Tensor t0 = C0[1];
  auto t4 = cos(t_0);  // t4: "cpu f32[2]", forward: t0: "torch.exp"
  auto t5 = mul(t0, t4);  // t5: "cpu f32[2]", forward: t0: "torch.exp"
  auto t6 = mul(t7, t5);  // t6: "cpu f32[2]", forward: t0: "torch.exp"
  return {t6};
}
)");
  const Tensor once = x.grad();
  x.set_grad({});
  checkpointed(x).sum().backward();
  expect_near(x.grad().to_vector<float>(), once.to_vector<float>());
  int recomputed = 0;
  const std::vector<Trace> stages = last_backward_traces(checkpointed);
  for (const BoundSymbol& bound : stages.front().bound_symbols)
    recomputed += bound.name() == "sin" || bound.name() == "exp";
  expect_equal(recomputed, 2);
}

TEST("always_differentiate runs a rule where nothing needs its gradients") {
  const OperatorExecutor ex("always");
  int rules = 0;
  const auto f = ex.register_operator("always::f(Tensor x) -> Tensor", [](Tensor x) { return x * 1; },
                                      {.grad_transform =
                                           [&rules](Tensor x) {
                                             ++rules;
                                             Tensor y = x * 1;
                                             put_grad(x, get_grad(y));
                                             return y;
                                           },
                                       .traits = {.always_differentiate = true}});
  jit([f](Tensor x, Tensor y) { return f(x) * 0 + y; })(ones({2}), ones({2}).requires_grad_());
  expect_equal(rules, 1);
}

}  // namespace fulgurite
