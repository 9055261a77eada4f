// Eager autograd, and backward passes that are captured.
#include <memory>
#include <optional>
#include <vector>

#include "check.h"

namespace {

struct Model {
  fg::nn::Linear linear{10, 10};
  Tensor operator()(Tensor x) const { return linear(x); }
};

}  // namespace

void engine() {
  auto x = fg::ones({3}).requires_grad_();
  auto y = (x * x).sum();
  auto g = fg::autograd::grad(
      {y}, {x}, {}, {.retain_graph = true, .create_graph = true, .allow_unused = true, .materialize_grads = true});
  auto g1 = fg::autograd::grad(y, x);
  auto gg = fg::autograd::grad(g[0].sum(), std::vector<Tensor>{x});
  check(gg[0](0).item<double>() == 2 && g1.size() == 1);
  {
    fg::NoGrad guard;
    check(!(x * 2).requires_grad());
    fg::EnableGrad on;
    check((x * 2).requires_grad());
  }
  {
    fg::InferenceMode mode;
    check(!(x * 2).requires_grad());
  }
  {
    fg::DetectAnomaly anomaly;
    (x * 2).sum().backward();
  }
  {
    fg::SavedTensorsHooks hooks([](Tensor t) { return t; }, [](Tensor t) { return t; });
    (x * x).sum().backward();
  }
  bool ran = false;
  auto z = x * 2;
  auto handle = z.register_hook([&](Tensor g) {
    fg::autograd::queue_callback([&] { ran = true; });
    return g * 2;
  });
  auto h2 = z.register_hook([](Tensor) {});
  auto h3 = z.register_hook([](Tensor) -> std::optional<Tensor> { return std::nullopt; });
  auto h4 = x.register_post_accumulate_grad_hook([](Tensor) {});
  z.retain_grad();
  std::shared_ptr<fg::Node> node = z.grad_fn();
  check(!node->name().empty());
  (void)node->sequence_nr();
  node->register_prehook([](auto) {});
  (void)node->next_edges();
  z.sum().backward();
  check(ran && z.grad().defined());
  z = x * 3;
  z.sum().backward({}, {.retain_graph = true, .create_graph = false, .inputs = {x}});
  h4.remove();
  fg::compiled_autograd::reset();
  fg::counters().clear();
  {
    auto scope = fg::compiled_autograd::enable({.fullgraph = true, .dynamic = true, .executors = {"eager"}});
    (x * x).sum().backward();
  }
  check(fg::compiled_autograd::captures() == 1);
  check(!fg::compiled_autograd::last_traces().empty());
  Model model;
  auto train = fg::jit(
      [&](Tensor x) {
        auto loss = fg::sum(model(x));
        loss.backward();
      },
      {.compiled_autograd = true});
  train(fg::randn({10}));
  check(model.linear.weight.grad().defined());
  auto loss = fg::sum(model(fg::randn({10})));
  fg::jit([&] { loss.backward(); }, {.fullgraph = true, .compiled_autograd = true})();
  check(fg::counters()["unique_graphs"] >= 0);
  fg::compiled_autograd::set_enabled(true);
  fg::sum(model(fg::randn({10}))).backward();
  fg::compiled_autograd::set_enabled(false);
}
