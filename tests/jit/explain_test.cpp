// explain() names the guard that failed, for each kind of change.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The lines of explain() with the reasons of compiles, without the first one.
std::string reasons(const Jitted& f) {
  const std::string text = explain(f);
  std::string out;
  size_t count = 0;
  for (size_t at = text.find("  why: "); at != std::string::npos; at = text.find("  why: ", at + 1))
    if (count++ > 0) out += text.substr(at + 7, text.find('\n', at) - at - 6);
  return out;
}

struct Options {
  double scale = 1;
  std::string mode = "plain";
  std::vector<Tensor> extras = {};
};

}  // namespace

TEST("explain names the guard that failed, whatever changed") {
  const auto f = jit([](Tensor x, Tensor y, int64_t n, Options options) {
    Tensor out = x + y * n * options.scale;
    for (const Tensor& extra : options.extras) out = out + extra;
    return options.mode == "plain" ? out : -out;
  });
  const Tensor x = ones({2, 3}), y = ones({2, 3});
  f(x, y, 1, {});
  f(ones({4, 3}), ones({4, 3}), 1, {});
  f(x, y, 1, {});  // a hit; what follows is compared with the newest compile
  f(x, y, 2, {});
  f(x, y, 2, {.scale = 0.5});
  f(x, y, 2, {.scale = 0.5, .mode = "turned"});
  f(x, y, 2, {.scale = 0.5, .mode = "turned", .extras = {ones({3})}});
  f(x, y.to(Dtype::f64), 2, {.scale = 0.5, .mode = "turned", .extras = {ones({3})}});
  f(x, ones({2, 3}, {.requires_grad = true}), 2, {.scale = 0.5, .mode = "turned", .extras = {ones({3})}});
  f(x, x, 2, {.scale = 0.5, .mode = "turned", .extras = {ones({3})}});
  {
    const NoGrad no_grad;
    f(x, x, 2, {.scale = 0.5, .mode = "turned", .extras = {ones({3})}});
  }
  expect_text(reasons(f), R"(
t_0: cpu f32[4, 3] instead of cpu f32[2, 3]; t_1: cpu f32[4, 3] instead of cpu f32[2, 3]
t_0: cpu f32[2, 3] instead of cpu f32[4, 3]; t_1: cpu f32[2, 3] instead of cpu f32[4, 3]; n_0: 2 instead of 1
n_scale: 0.5 instead of 1.0
s_mode: "turned" instead of "plain"
a list: 1 item instead of 0 items
t_1: cpu f64[2, 3] instead of cpu f32[2, 3]
t_1: cpu f32[2, 3] instead of cpu f64[2, 3], requires a gradient now
t_1: no longer requires a gradient, is the same tensor as t_0
gradients off, default dtype f32 instead of gradients on, default dtype f32
)");
}

TEST("explain names the captured tensor that changed") {
  Tensor weight = ones({3});
  const auto f = jit([=](Tensor x) { return x * weight; });
  f(ones({3}));
  weight.requires_grad_();
  f(ones({3}));
  expect_text(reasons(f), R"(
captured t_1: requires a gradient now
)");
}

TEST("explain names the default dtype and an undefined argument") {
  const auto f = jit([](Tensor x, Tensor bias) { return bias.defined() ? x * 2.0 + bias : x * 2.0; });
  f(ones({3}), ones({3}));
  f(ones({3}), Tensor());
  set_default_dtype(Dtype::f64);
  f(ones({3}, {.dtype = Dtype::f32}), Tensor());
  set_default_dtype(Dtype::f32);
  expect_text(reasons(f), R"(
t_1: None instead of cpu f32[3]
gradients on, default dtype f64 instead of gradients on, default dtype f32
)");
}
