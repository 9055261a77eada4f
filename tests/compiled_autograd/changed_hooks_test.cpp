// Hooks that add and remove hooks while the backward that calls them runs: a captured backward agrees with the engine.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// The gradients by the engine, then captured, twice.
void expect_both(const std::function<std::vector<float>()>& run, const std::vector<float>& wanted) {
  expect_near(run(), wanted);
  const auto scope = compiled_autograd::enable();
  for (int i = 0; i < 2; ++i) expect_near(run(), wanted);
}

struct CountedDouble {
  static Tensor forward(autograd::Context& context, Tensor x, std::shared_ptr<float> calls) {
    context.saved_data()["calls"] = std::move(calls);
    return x * 2.0;
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    *std::any_cast<std::shared_ptr<float>>(context.saved_data()["calls"]) += 1;
    return {gradient * 2.0, {}};
  }
};

}  // namespace

TEST("a hook that removes another one that has not run yet") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0, 2.0}).requires_grad_();
        const Tensor y = x * 2.0, z = y * 3.0;
        const auto handle = std::make_shared<HookHandle>(y.register_hook([](Tensor g) { return g * 100.0; }));
        z.register_hook([handle](Tensor) { handle->remove(); });
        sum(z).backward();
        return x.grad().to_vector<float>();
      },
      {6, 6});
}

TEST("a hook that removes one of several, and one that adds another to them") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0, 2.0}).requires_grad_();
        const Tensor y = x * 2.0, z = y * 3.0;
        const auto handle = std::make_shared<HookHandle>(y.register_hook([](Tensor g) { return g * 100.0; }));
        y.register_hook([](Tensor g) { return g + 1.0; });
        z.register_hook([handle, y](Tensor) {
          handle->remove();
          y.register_hook([](Tensor g) { return g * 10.0; });
        });
        sum(z).backward();
        return x.grad().to_vector<float>();
      },
      {80, 80});
}

TEST("hooks of a leaf after its gradient was added: removed and added on the way") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0}).requires_grad_();
        auto calls = std::make_shared<float>(0.0F);
        const auto handle =
            std::make_shared<HookHandle>(x.register_post_accumulate_grad_hook([calls](Tensor) { *calls += 1; }));
        const Tensor y = x * 2.0;
        y.register_hook([=](Tensor) {
          handle->remove();
          x.register_post_accumulate_grad_hook([calls](Tensor) { *calls += 10; });
        });
        sum(y).backward();
        return std::vector<float>{*calls};
      },
      {10});
}

TEST("a hook that is added where the captured backward has none") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0, 2.0}).requires_grad_();
        const Tensor y = x * 2.0, z = y * 3.0;
        z.register_hook([y](Tensor) { y.register_hook([](Tensor g) { return g * 100.0; }); });
        sum(z).backward();
        return x.grad().to_vector<float>();
      },
      {600, 600});
}

TEST("with fullgraph that is an error that says what to do") {
  const auto scope = compiled_autograd::enable({.fullgraph = true});
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  const Tensor y = x * 2.0, z = y * 3.0;
  z.register_hook([y](Tensor) { y.register_hook([](Tensor g) { return g * 100.0; }); });
  expect_error(
      [&] { sum(z).backward(); },
      "compiled autograd: a hook added a hook to MulBackward0 (NodeCall 3), which has not run yet and was "
      "captured without that change; change hooks before backward(), or permit the engine (without fullgraph)");
}

TEST("traceable hooks that are added or taken away by a hook") {
  const auto run = [](bool adds) {
    const Tensor x = tensor({1.0, 2.0}).requires_grad_();
    const Tensor y = x * 2.0, z = y * 3.0;
    const auto hook = autograd::traceable([](Tensor g) { return g * 100.0; });
    const auto handle = adds ? nullptr : std::make_shared<HookHandle>(y.register_hook(hook));
    z.register_hook([y, hook, handle](Tensor) {
      if (handle) handle->remove();
      else y.register_hook(hook);
    });
    sum(z).backward();
    return x.grad().to_vector<float>();
  };
  expect_both([&] { return run(true); }, {600, 600});
  expect_both([&] { return run(false); }, {6, 6});
}

TEST("hooks, retained gradients, leaves and callbacks before an added hook run once") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0}).requires_grad_(), w = tensor({5.0}).requires_grad_();
        const auto calls = std::make_shared<float>(0.0F), ends = std::make_shared<float>(0.0F);
        w.register_post_accumulate_grad_hook([calls](Tensor) { *calls += 1; });
        w.register_hook(autograd::traceable([](Tensor g) { return g + 1.0; }));
        w.register_hook([calls](Tensor g) { return *calls += 10, g * 2.0; });
        w.register_hook(autograd::traceable([](Tensor g) { return g + 100.0; }));
        const Tensor y = x * 2.0, z = y * 3.0, u = w * z, v = u * 1.0;
        u.retain_grad();
        v.register_hook([ends](Tensor g) {
          autograd::queue_callback([ends] { *ends += 1; });
          return g * 2.0;
        });
        z.register_hook([y, calls](Tensor) {
          *calls += 1000;
          y.register_hook([](Tensor g) { return g * 100.0; });
        });
        sum(v).backward();
        return std::vector<float>{x.grad().item<float>(), w.grad().item<float>(), u.grad().item<float>(), *calls,
                                  *ends};
      },
      {6000, 126, 2, 1011, 1});
}

TEST("hooks of nodes and custom functions before a hook was added") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0}).requires_grad_();
        const auto calls = std::make_shared<float>(0.0F);
        const Tensor y = x * 2.0, z = autograd::apply<CountedDouble>(y * 3.0, calls), u = z * 5.0, v = u * 7.0;
        v.grad_fn()->register_prehook(
            [](const std::vector<Tensor>& of_outputs) { return std::vector<Tensor>{of_outputs[0] + 1.0}; });
        v.grad_fn()->register_hook([](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>&) {
          return std::vector<Tensor>{of_inputs[0] + 1.0};
        });
        u.register_hook([](Tensor g) { g.mul_(2.0); });
        z.grad_fn()->next_edges()[0].node->register_prehook([y](const std::vector<Tensor>& of_outputs) {
          y.register_hook([](Tensor g) { return g * 100.0; });
          return std::vector<Tensor>{of_outputs[0] + 1.0};
        });
        sum(v).backward();
        return std::vector<float>{x.grad().item<float>(), *calls};
      },
      {(((2 * 7 + 1) * 2 * 5) * 2 + 1) * 3 * 100 * 2, 1});
}

TEST("gradients of given inputs, when a hook was added on the way") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0, 2.0}).requires_grad_();
        const Tensor y = x * 2.0, z = y * 3.0;
        z.register_hook([y](Tensor g) {
          y.register_hook([](Tensor h) { return h * 100.0; });
          return g * 2.0;
        });
        const std::vector<Tensor> found = autograd::grad(sum(z * z), {z, y, x});
        std::vector<float> out;
        for (const Tensor& one : found)
          for (const float value : one.to_vector<float>()) out.push_back(value);
        return out;
      },
      {24, 48, 7200, 14400, 14400, 28800});
}

TEST("a traceable hook behind one that is called runs once") {
  expect_both(
      [] {
        const Tensor x = tensor({1.0, 2.0}).requires_grad_();
        x.register_hook([](Tensor g) { return g + 1.0; });
        x.register_hook(autograd::traceable([](Tensor g) { return g * 10.0; }));
        sum(x * 2.0).backward();
        return x.grad().to_vector<float>();
      },
      {30, 30});
}
