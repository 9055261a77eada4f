// Autocasting in functions that are recorded.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor network(Tensor x, Tensor w) {
  const Tensor hidden = nn::gelu(nn::linear(x, w));
  return nn::mse_loss(hidden, x);
}

struct CastProduct {
  static Tensor forward(autograd::Context& context, Tensor x, Tensor w) {
    context.save_for_backward({x, w});
    return matmul(x, w);
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    const std::vector<Tensor> saved = context.saved_tensors();
    const Tensor wide = gradient.to(Dtype::f32);
    return {matmul(wide, transpose(saved[1], 0, 1)), matmul(transpose(saved[0], 0, 1), wide)};
  }
};

}  // namespace

TEST("a recorded function has the conversions in its trace") {
  const Tensor x = randn({2, 3}), w = randn({3, 3}).requires_grad_();
  const auto f = jit(network, {.executors = {"eager"}, .autocast = Dtype::bf16});
  f(x, w);
  expect_text(last_traces(f).front().python({.time = false, .source = false}), R"(
import torch

@torch.no_grad()
def computation(t_0, t_1):
  # t_0: "cpu f32[2, 3]"
  # t_1: "cpu f32[3, 3]"
  t0 = t_0.to(torch.bfloat16)  # t0: "cpu bf16[2, 3]"
  t1 = t_1.to(torch.bfloat16)  # t1: "cpu bf16[3, 3]"
  t2 = torch.nn.functional.linear(t0, t1, None)  # t2: "cpu bf16[2, 3]"
  t7 = torch.nn.functional.gelu(t2)  # t7: "cpu bf16[2, 3]"
    # t3 = prims.mul(t2, 0.7071067811865476)  # t3: "cpu bf16[2, 3]"
    # t4 = prims.erf(t3)  # t4: "cpu bf16[2, 3]"
    # t5 = prims.mul(t2, 0.5)  # t5: "cpu bf16[2, 3]"
    # t6 = prims.add(t4, 1)  # t6: "cpu bf16[2, 3]"
    # t7 = prims.mul(t5, t6)  # t7: "cpu bf16[2, 3]"
  t8 = t7.to(torch.float32)  # t8: "cpu f32[2, 3]"
  t11 = torch.nn.functional.mse_loss(t8, t_0, None, None, 'mean', None)  # t11: "cpu f32[]"
    # t9 = prims.sub(t8, t_0)  # t9: "cpu f32[2, 3]"
    # t10 = prims.mul(t9, t9)  # t10: "cpu f32[2, 3]"
    # t11 = prims.mean(t10)  # t11: "cpu f32[]"
  return t11
)");
  expect_text(last_backward_traces(f).front().python({.time = false, .source = false}), R"(
# Constructed by Backward
import torch

@torch.no_grad()
def backward_fn(saved_for_backward, cotangents):
  # saved_for_backward: "Collection"
  # cotangents: "Collection"
  C0, \
  _, \
  = saved_for_backward
  t12, \
  = cotangents
  t9, \
  t2, \
  t0, \
  = C0
  t13 = torch.reshape(t12, (1, 1))  # t13: "cpu f32[1, 1]"
  t14 = torch.Tensor.expand(t13, (2, 3))  # t14: "cpu f32[2, 3]"
  t15 = torch.div(t14, 6)  # t15: "cpu f32[2, 3]"
  t16 = torch.mul(t15, t9)  # t16: "cpu f32[2, 3]"
  t17 = torch.mul(t15, t9)  # t17: "cpu f32[2, 3]"
  t18 = torch.add(t16, t17)  # t18: "cpu f32[2, 3]"
  t19 = t18.to(torch.bfloat16)  # t19: "cpu bf16[2, 3]"
  t30 = torch.ops.aten.gelu_backward(t19, t2, approximate='none')  # t30: "cpu bf16[2, 3]"
    # t20 = prims.mul(t2, 0.7071067811865476)  # t20: "cpu bf16[2, 3]"
    # t21 = prims.erf(t20)  # t21: "cpu bf16[2, 3]"
    # t22 = prims.add(t21, 1)  # t22: "cpu bf16[2, 3]"
    # t23 = prims.mul(t22, 0.5)  # t23: "cpu bf16[2, 3]"
    # t24 = prims.mul(t2, t2)  # t24: "cpu bf16[2, 3]"
    # t25 = prims.mul(t24, -0.5)  # t25: "cpu bf16[2, 3]"
    # t26 = prims.exp(t25)  # t26: "cpu bf16[2, 3]"
    # t27 = prims.mul(t26, 0.3989422804014327)  # t27: "cpu bf16[2, 3]"
    # t28 = prims.mul(t2, t27)  # t28: "cpu bf16[2, 3]"
    # t29 = prims.add(t23, t28)  # t29: "cpu bf16[2, 3]"
    # t30 = prims.mul(t19, t29)  # t30: "cpu bf16[2, 3]"
  t31 = torch.reshape(t30, (-1, 3))  # t31: "cpu bf16[2, 3]"
  t32 = torch.permute(t31, (1, 0))  # t32: "cpu bf16[3, 2]"
  t33 = torch.reshape(t0, (-1, 3))  # t33: "cpu bf16[2, 3]"
  t34 = torch.matmul(t32, t33)  # t34: "cpu bf16[3, 3]"
  t35 = t34.to(torch.float32)  # t35: "cpu f32[3, 3]"
  return (None, t35)
)");
}

TEST("a scope around the call is as good as the option, and is guarded") {
  const Tensor x = randn({2, 3}), w = randn({3, 3}).requires_grad_();
  const auto f = jit(network), g = jit(network, {.autocast = Dtype::bf16});
  const float plain = f(x, w).item<float>();
  {
    const auto scope = autocast(Dtype::bf16);
    const float inside = f(x, w).item<float>();
    expect_equal(inside, g(x, w).item<float>());
    expect_equal(inside, network(x, w).item<float>());
    expect_different(inside, plain);
  }
  expect_equal(f(x, w).item<float>(), plain);
  expect_equal(cache_misses(f), 2);
  expect_different(explain(f).find("gradients on, default dtype f32, autocasting to bf16"), std::string::npos);
  expect_error([] { jit(network, {.autocast = Dtype::i8}); }, "jit: the option autocast is bf16 or f16, not i8");
}

TEST("gradients are those of the eager engine, to the bit") {
  const Tensor x = randn({4, 8});
  const Tensor eager = randn({8, 8}).requires_grad_(), jitted = eager.detach().requires_grad_(), taken = eager.detach();
  {
    const auto scope = autocast(Dtype::bf16);
    network(x, eager).backward();
  }
  jit(network, {.executors = {"eager"}, .autocast = Dtype::bf16})(x, jitted).backward();
  const auto step = jit(value_and_grad<1>(network), {.executors = {"eager"}, .autocast = Dtype::bf16});
  const Tensor gradient = step(x, taken).second;
  expect_equal(gradient.dtype(), Dtype::f32);
  expect_equal(jitted.grad().to_vector<float>(), eager.grad().to_vector<float>());
  expect_equal(gradient.to_vector<float>(), eager.grad().to_vector<float>());
}

TEST("a custom function's backward runs without the mode") {
  const auto f = [](Tensor x, Tensor w) { return sum(autograd::apply<CastProduct>(x, w).to(Dtype::f32)); };
  const Tensor x = randn({4, 8}), w = randn({8, 8}).requires_grad_(), again = w.detach().requires_grad_();
  {
    const auto scope = autocast(Dtype::bf16);
    const Tensor y = f(x, w);
    expect_equal(autograd::apply<CastProduct>(x, w).dtype(), Dtype::bf16);
    y.backward();
  }
  jit(f, {.executors = {"onednn", "eager"}, .autocast = Dtype::bf16})(x, again).backward();
  expect_equal(again.grad().to_vector<float>(), w.grad().to_vector<float>());
}

TEST("a checkpoint is run again as it was run") {
  const Tensor x = randn({4, 8});
  const Tensor w = randn({8, 8}).requires_grad_(), again = w.detach().requires_grad_();
  Tensor loss, checkpointed;
  {
    const auto scope = autocast(Dtype::bf16);
    loss = network(x, w);
    checkpointed = checkpoint(network)(x, again);
  }
  loss.backward();
  checkpointed.backward();
  expect_equal(again.grad().to_vector<float>(), w.grad().to_vector<float>());
}

TEST("a second derivative converts nothing more") {
  const Tensor x = randn({4, 8});
  const auto f = jit(network, {.autocast = Dtype::bf16});
  const Tensor w = randn({8, 8}).requires_grad_();
  const Tensor first = autograd::grad({f(x, w)}, {w}, {}, {.create_graph = true})[0];
  const auto scope = autocast(Dtype::bf16);
  const Tensor second = autograd::grad({sum(first * first)}, {w})[0];
  expect_equal(first.dtype(), Dtype::f32);
  expect_equal(second.dtype(), Dtype::f32);
}

TEST("with autocasting inside, what only stands for others is recorded as these") {
  const Tensor m = rand({4, 4});
  const auto f = jit(
      [](Tensor x) {
        return einsum("ij,jk->ik", {x, x});
      },
      {.executors = {"eager"}, .autocast = Dtype::bf16});
  expect_equal(f(m).dtype(), Dtype::bf16);
  const Trace recorded = last_traces(f).front();
  for (const BoundSymbol& bound : recorded.bound_symbols) expect_different(bound.name(), "einsum");
  const auto plain = with_transforms(f, {[](const Trace& t) { return t; }});
  expect_equal(plain(m).dtype(), Dtype::bf16);
}

TEST("verify_against_eager allows a result the error of the dtypes that its ops round to") {
  // A fusion that is allowed to keeps f32 where eager mode rounds to bf16.
  const auto function = [](Tensor x) {
    const Tensor narrow = x.to(Dtype::bf16);
    const Tensor scaled = tanh(narrow) * 1.1;
    return (scaled + 0.3).to(Dtype::f32);
  };
  const Tensor x = randn({64, 32});
  const auto f =
      jit(function, {.executors = {"fuser"}, .debug = {.verify_against_eager = true}, .allow_excess_precision = true});
  const Tensor fused = f(x), eager = function(x);
  expect(max(abs(fused - eager)).item<float>() > 1e-3f, "both round alike");
}

TEST("numbers of a recorded function with symbols, and breaks, keep the mode") {
  const auto f = jit(network, {.cache = Cache::symbolic_values, .autocast = Dtype::bf16});
  const Tensor w = randn({3, 3});
  const auto scope = autocast(Dtype::bf16);
  for (const int rows : {2, 5, 7}) {
    const Tensor x = randn({rows, 3});
    expect_equal(f(x, w).item<float>(), network(x, w).item<float>());
  }
  expect_equal(cache_misses(f), 1);
  const auto broken = [](Tensor x, Tensor v) {
    const Tensor y = nn::linear(x, v);
    graph_break();
    return matmul(y, v.to(Dtype::f32));
  };
  const auto g = jit(broken, {.autocast = Dtype::bf16});
  const Tensor x = randn({2, 3});
  expect_equal(g(x, w).dtype(), Dtype::bf16);
  expect_equal(g(x, w).to(Dtype::f32).to_vector<float>(), broken(x, w).to(Dtype::f32).to_vector<float>());
}
