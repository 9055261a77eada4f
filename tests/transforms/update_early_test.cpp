// Updates of inputs run as soon as they can.
#include <fulgurite/fulgurite.h>

#include "runtime/plan/execution_plan.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::vector<std::string> eager{"eager"};

}  // namespace

TEST("an update stands behind its gradient and the last reader of the old value, with what is made for it alone") {
  manual_seed(1);
  const NoGrad no_grad;
  const auto step = jit(
      [](Tensor w, Tensor v, Tensor count, Tensor x) {
        const Tensor dw = matmul(x, x), dv = sin(x), y = exp(dw) + dv, z = matmul(y, v);
        count.add_(1.0);
        w.sub_(dw / count);
        v.sub_(dv * 0.1);
        return sum(z);
      },
      {.executors = eager, .debug = {.check_traces = true}});
  step(randn({4, 4}), randn({4, 4}), ones({}), randn({4, 4}));
  expect_text(last_traces(step).back().cpp({.time = false, .source = false}), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1, Tensor t_2, Tensor t_3) {
  // t_0: "cpu f32[4, 4]"
  // t_1: "cpu f32[4, 4]"
  // t_2: "cpu f32[]"
  // t_3: "cpu f32[4, 4]"
  auto t0 = matmul(t_3, t_3);  // t0: "cpu f32[4, 4]"
  auto t6 = add(t_2, 1.0);  // t6: "cpu f32[]"
  auto t7 = div(t0, t6);  // t7: "cpu f32[4, 4]"
  auto t8 = sub(t_0, t7);  // t8: "cpu f32[4, 4]"
  del(t7);
  auto t1 = exp(t0);  // t1: "cpu f32[4, 4]"
  del(t0);
  auto t2 = sin(t_3);  // t2: "cpu f32[4, 4]"
  del(t_3);
  auto t3 = add(t1, t2);  // t3: "cpu f32[4, 4]"
  del(t1);
  auto t4 = matmul(t3, t_1);  // t4: "cpu f32[4, 4]"
  del(t3);
  auto t9 = mul(t2, 0.1);  // t9: "cpu f32[4, 4]"
  del(t2);
  auto t10 = sub(t_1, t9);  // t10: "cpu f32[4, 4]"
  del(t9);
  auto t5 = sum(t4);  // t5: "cpu f32[]"
  del(t4);
  auto t11 = prims::copy_(t8, t_0);  // t11: "cpu f32[4, 4]"
  del(t11, t8, t_0);
  auto t12 = prims::copy_(t10, t_1);  // t12: "cpu f32[4, 4]"
  del(t12, t10, t_1);
  auto t13 = prims::copy_(t6, t_2);  // t13: "cpu f32[]"
  del(t13, t6, t_2);
  return t5;
}
)");
}

TEST("training is bit for bit what it is without a compiler, and holds no more than a few gradients at a time") {
  const NoGrad no_grad;
  constexpr int64_t layers = 8, width = 64, rows = 4;
  int64_t arena_bytes = 0;
  const auto train = [&](bool jits) {
    manual_seed(2);
    std::vector<Tensor> weights;
    for (int64_t i = 0; i < layers; ++i) weights.push_back(randn({width, width}) * 0.2);
    optim::AdamW optimizer(weights, {.lr = 0.01});
    const auto step = [&](Tensor x) {
      const auto loss_of = [](std::vector<Tensor> weights, Tensor x) {
        for (const Tensor& weight : weights) x = tanh(matmul(x, weight));
        return mean(square(x));
      };
      const auto [loss, slopes] = value_and_grad<0>(loss_of)(weights, x);
      optimizer.step(weights, slopes);
      return loss;
    };
    const auto jitted = jit(step, {.executors = eager, .debug = {.check_traces = true}});
    const Tensor x = randn({rows, width});
    for (int i = 0; i < 3; ++i) jits ? jitted(x) : step(x);
    if (jits) arena_bytes = make_execution_plan(last_traces(jitted).back()).arena_bytes;
    std::vector<float> values;
    for (const Tensor& weight : weights)
      for (const float value : weight.to_vector<float>()) values.push_back(value);
    return values;
  };
  expect(train(true) == train(false), "the weights differ");
  expect(arena_bytes < 3 * width * width * 4, "an arena of " + std::to_string(arena_bytes) + " bytes");
}

TEST("no update is moved across a write into memory, but it is across a draw") {
  const OperatorExecutor executor("update_early");
  const auto writes = executor.register_operator(
      "update_early::writes(Tensor x) -> Tensor", [](const Tensor& x) { return x.clone(); },
      {.infer = [](const Tensor& x) { return empty_like(x); }, .traits = {.effects = Effect::memory}});
  const NoGrad no_grad;
  const auto text_of = [](const std::function<Tensor(const Tensor&)>& between) {
    const auto step = jit(
        [between](Tensor w, Tensor x) {
          const Tensor dw = matmul(x, x);
          const Tensor noise = between(x);
          const Tensor noisy = dw * noise;
          w.sub_(dw * 0.1);
          return sum(noisy);
        },
        {.executors = eager, .debug = {.check_traces = true}});
    step(randn({4, 4}), randn({4, 4}));
    return last_traces(step).back().cpp({.time = false, .source = false});
  };
  const std::string written = text_of([&](const Tensor& x) { return writes(x); });
  const std::string drawn = text_of([](const Tensor&) { return rand({4, 4}); });
  expect(written.find("= update_early::writes(") < written.find("= sub("), written);
  expect(drawn.find("= sub(") < drawn.find("random_state("), drawn);
}
