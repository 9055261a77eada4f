// Executors, operators and functions of a user.

#include "check.h"

namespace {

struct Scale {
  static Tensor forward(fg::autograd::Context& ctx, Tensor x, double s) {
    ctx.save_for_backward({x});
    (void)s;
    return x * 3;
  }
  static Tensor backward(fg::autograd::Context& ctx, Tensor g) {
    auto saved = ctx.saved_tensors();
    return g * 3;
  }
};

}  // namespace

void extending() {
  fg::OperatorExecutor ex("mine");
  auto f = ex.register_operator(
      "mine::f(Tensor x, float s=1.0) -> Tensor", [](Tensor x, double s) { return x * s; },
      {.checker = [](Tensor x, double) { return x.ndim() > 0; }, .execution_transform = {}, .grad_transform = {}});
  (void)f;
  fg::register_executor(ex);
  check(fg::all_executors().size() >= 3);
  auto before = fg::default_executors();
  check(!before.empty());
  fg::set_default_executors({"onednn", "fuser"});
  auto y = fg::jit([](Tensor x) { return fg::sum(fg::sin(x)); })(fg::ones({4}));
  check(y.defined());
  fg::set_default_executors(before);
  auto x = fg::ones({3}).requires_grad_();
  auto s = fg::autograd::apply<Scale>(x, 2.0);
  s.sum().backward();
  check(x.grad()(0).item<double>() == 3);
  auto r = fg::call("mine::f", {x.detach()}, {{"s", 2.0}});
  check(r.is_tensor());
}
