// Compiled and differentiated functions.
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check.h"

namespace {

struct Block {
  Tensor w, b;
};
struct Net {
  std::vector<Block> blocks;
  std::optional<Tensor> extra;
  std::map<std::string, Tensor> named;
  Tensor operator()(Tensor x) const {
    for (const auto& block : blocks) x = fg::relu(fg::matmul(x, block.w) + block.b);
    if (extra) x = x * *extra;
    for (const auto& [name, t] : named) x = x + t;
    return x;
  }
};
class Hidden {
 public:
  Hidden() : w_(fg::ones({2, 2}).requires_grad_()) {}
  Tensor w_;
};
struct Pair {
  Tensor sum, product;
};

}  // namespace

template <>
struct fulgurite::Fields<Hidden> {
  static void visit(auto& object, auto&& member) { member("w", object.w_); }
};

void functions() {
  auto f = fg::jit([](Tensor x, double s) { return x * s; });
  check(f(fg::ones({2}), 3.0).sum().item<double>() == 6);
  check(f(fg::ones({2}), 4.0).sum().item<double>() == 8);
  check(fg::cache_misses(f) == 2);
  check(fg::cache_hits(f) == 0);
  f(fg::ones({2}), 4.0);
  check(fg::cache_hits(f) == 1);
  fg::CompileStats stats = fg::compile_stats(f);
  (void)stats;
  check(!fg::explain(f).empty());
  auto g = fg::jit(
      [](std::vector<Tensor> xs, std::string mode, std::tuple<Tensor, int> p) {
        Tensor total = std::get<0>(p) * std::get<1>(p);
        for (auto& x : xs) total = total + x;
        if (mode == "neg") total = -total;
        return std::make_tuple(total, xs);
      },
      {.cache = fg::Cache::symbolic_values});
  auto [total, back] = g({fg::ones({2}), fg::ones({2})}, "neg", {fg::ones({2}), 3});
  check(total.sum().item<double>() == -10);
  check(back.size() == 2);
  Net net{{{fg::randn({4, 4}).requires_grad_(), fg::zeros({4}).requires_grad_()},
           {fg::randn({4, 4}).requires_grad_(), fg::zeros({4}).requires_grad_()}},
          fg::ones({4}),
          {{"bias", fg::ones({4})}}};
  auto jn = fg::jit(std::ref(net));
  auto y = jn(fg::randn({3, 4}));
  y.sum().backward();
  check(net.blocks[1].w.grad().defined());
  std::ostringstream text;
  text << fg::last_traces(jn).front();
  check(text.str().find("t_blocks_0_w") != std::string::npos);
  net.blocks[0].w = fg::zeros({4, 4}).requires_grad_();
  jn(fg::randn({3, 4})).sum().backward();
  check(net.blocks[0].w.grad().defined());
  auto pairs = fg::jit([](Tensor a, Tensor b) { return Pair{a + b, a * b}; });
  Pair p = pairs(fg::ones({2}), fg::ones({2}));
  check(p.sum.sum().item<double>() == 4);
  auto hidden = fg::jit([](const Hidden& h, Tensor x) { return fg::matmul(x, h.w_); });
  Hidden h;
  hidden(h, fg::ones({2, 2})).sum().backward();
  check(h.w_.grad().defined());
  auto arr = fg::jit([](std::array<Tensor, 2> a) { return std::pair(a[0] + a[1], a[0]); });
  check(arr({fg::ones({2}), fg::ones({2})}).first.defined());
  auto loss = [](Tensor x, Tensor w) { return fg::sum(fg::square(fg::matmul(x, w))); };
  auto dg = fg::grad(loss);
  auto x = fg::randn({3, 4}), w = fg::randn({4, 2});
  check(dg(x, w).shape() == x.shape());
  auto dg2 = fg::grad<0, 1>(loss);
  auto [dx, dw] = dg2(x, w);
  check(dw.shape() == w.shape());
  auto dg1 = fg::grad<1>(loss);
  check(fg::allclose(dg1(x, w), dw));
  auto [value, gradient] = fg::value_and_grad<0>(loss)(x, w);
  check(value.ndim() == 0 && gradient.shape() == x.shape());
  auto jvg = fg::jit(fg::value_and_grad<0, 1>(loss));
  auto [v2, grads] = jvg(x, w);
  check(fg::allclose(std::get<1>(grads), dw, 1e-4));
  auto [yy, pullback] = fg::vjp([](Tensor x, Tensor w) { return fg::matmul(x, w); }, x, w);
  auto [cx, cw] = pullback(fg::ones({3, 2}));
  check(cx.shape() == x.shape() && cw.shape() == w.shape());
  auto hess = fg::grad([&](Tensor x) { return fg::sum(fg::grad([](Tensor x) { return fg::sum(x * x * x); })(x)); });
  check(fg::allclose(hess(fg::ones({3})), fg::full({3}, 6.0)));
  auto struct_grad = fg::grad([](Block b, Tensor x) { return fg::sum(fg::matmul(x, b.w) + b.b); });
  Block gb = struct_grad(Block{fg::ones({4, 2}), fg::ones({2})}, x);
  check(gb.w.shape() == (Shape{4, 2}));
  auto k = fg::checkpoint([](Tensor x) { return fg::sin(fg::cos(x)); });
  auto xr = fg::randn({4}).requires_grad_();
  k(xr).sum().backward();
  check(xr.grad().defined());
  auto kk = fg::jit([&](Tensor x) { return fg::sum(k(x)); });
  kk(xr).backward();
  auto broken = fg::jit([](Tensor x) {
    auto y = x * 2;
    fg::graph_break();
    if (fg::sum(y).item<double>() > 0) return y + 1;
    return y - 1;
  });
  check(broken(fg::ones({2})).sum().item<double>() == 6);
  check(broken(-fg::ones({2})).sum().item<double>() == -6);
  check(fg::last_traces(broken).size() > 1);
  auto full = fg::jit(
      [](Tensor x) {
        if (fg::sum(x).item<double>() > 0) return x;
        return -x;
      },
      {.fullgraph = true});
  check(!error_of([&] { full(fg::ones({2})); }).empty());
  auto md = fg::ones({4, 3});
  fg::mark_dynamic(md, 0);
  auto fd = fg::jit([](Tensor x) { return fg::sum(x, {1}); });
  fd(md);
  {
    auto scope = fg::autocast(Dtype::bf16);
    check(fg::matmul(x, w).dtype() == Dtype::bf16);
  }
  auto ac = fg::jit([](Tensor x, Tensor w) { return fg::matmul(x, w); }, {.autocast = Dtype::bf16});
  check(ac(x, w).dtype() == Dtype::bf16);
  auto opts = fg::jit(
      loss,
      {.cache = fg::Cache::constant_values,
       .executors = {"eager"},
       .skip_transforms = std::set<std::string>{},
       .fullgraph = true,
       .compiled_autograd = false,
       .argument_names = {"x", "w"},
       .memory_budget = 1 << 20,
       .debug = {.associate_forward = true, .check_traces = true, .check_nan = true, .verify_against_eager = true},
       .autocast = {}});
  check(opts(x, w).defined());
  std::ostringstream printed;
  printed << fg::last_traces(opts).back() << fg::last_prologue_traces(opts).back();
  check(printed.str().find("x") != std::string::npos);
  auto same = fg::jit(loss, {.cache = fg::Cache::same_input});
  same(x, w);
  auto none = fg::jit(loss, {.cache = fg::Cache::no_caching});
  none(x, w);
  auto captured = fg::ones({2}).requires_grad_();
  auto cap = fg::jit([&](Tensor x) { return fg::sum(x * captured); });
  cap(fg::full({2}, 3.0)).backward();
  check(captured.grad()(0).item<double>() == 3);
  auto sized = fg::jit(
      [](Tensor x, Int n) {
        return x.reshape({n, -1}) * Float(n);
      },
      {.cache = fg::Cache::symbolic_values});
  check(sized(fg::arange(6.0), 2).shape() == (Shape{2, 3}));
  check(sized(fg::arange(6.0), 3).shape() == (Shape{3, 2}));
  check(fg::cache_misses(sized) == 1);
}
