// Hooks that add and remove hooks while the backward that calls them runs: a captured backward agrees with the engine,
// or reports that it cannot.
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

TEST("a hook that is added where the captured backward has none is an error that says what to do") {
  const auto run = [] {
    const Tensor x = tensor({1.0, 2.0}).requires_grad_();
    const Tensor y = x * 2.0, z = y * 3.0;
    z.register_hook([y](Tensor) { y.register_hook([](Tensor g) { return g * 100.0; }); });
    sum(z).backward();
    return x.grad().to_vector<float>();
  };
  expect_near(run(), {600, 600});
  const auto scope = compiled_autograd::enable();
  expect_error(
      [&] { run(); },
      "compiled autograd: a hook added a hook to MulBackward0 (NodeCall 3), which has not run yet and was captured without one; add "
      "it before backward(), or run this backward outside of compiled autograd's scope");
}

TEST("so are traceable hooks that are added or taken away there: they would be left out, or run all the same") {
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
  expect_near(run(true), {600, 600});
  expect_near(run(false), {6, 6});
  const auto scope = compiled_autograd::enable();
  expect_error([&] { run(true); },
               "compiled autograd: a hook added a hook to MulBackward0 (NodeCall 3), which has not run yet");
  expect_error(
      [&] { run(false); },
      "compiled autograd: a hook took a traceable hook away from MulBackward0 (NodeCall 3), which has not run yet");
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
