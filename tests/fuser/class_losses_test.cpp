// Cross entropy: the cotangent that has one element in each row is made where it is read.
#include <fulgurite/fulgurite.h>

#include "fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string kernels_of(const Trace& trace) {
  std::string out;
  for (int i = 0; i < fusions_in(trace); ++i) out += kernel_of(trace, i);
  return out;
}

// The loss and its gradient, fused, against eager mode's; gives the kernels' text.
std::string check_loss(Dtype dtype, Tensor scores, Tensor targets, double tolerance, const std::string& reduction = "mean", int64_t ignored = -100) {
  const auto loss = [&](Tensor x, Tensor t) { return sum(nn::cross_entropy(x, t, {}, {}, ignored, {}, reduction) * 0.5); };
  const auto both = [&](Tensor x, Tensor t) { return value_and_grad<0>(loss)(x, t); };
  auto f = jit(both, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  const Tensor x = scores.to(dtype);
  const auto [value, gradient] = f(x, targets);
  const auto [expected, expected_gradient] = both(x, targets);
  expect_close(value, expected, tolerance);
  expect_close(gradient, expected_gradient, tolerance);
  return kernels_of(last_traces(f).back());
}

}  // namespace

TEST("the gradient of a cross entropy is one kernel that keeps no row of zeros") {
  manual_seed(1);
  for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{5, 70}, {3, 16}, {40, 7}, {2, 1100}}) {
    const Tensor scores = randn({rows, classes}), targets = randint(0, classes, {rows});
    const std::string text = check_loss(Dtype::f32, scores, targets, 1e-6);
    expect(text.find("c.places() == ") != std::string::npos, text);
    check_loss(Dtype::f64, scores, targets, 1e-12);
    check_loss(Dtype::bf16, scores, targets, 1e-2);
    check_loss(Dtype::f32, scores, targets.to(Dtype::i32).to(Dtype::i64), 1e-5, "sum");
    check_loss(Dtype::f32, scores, targets, 1e-6, "none");
  }
  const Tensor scores = randn({4, 9}), targets = tensor({3, 8, 3, 0});
  check_loss(Dtype::f32, scores, targets, 1e-6, "mean", 3);
  check_loss(Dtype::f32, scores, targets.to(Dtype::i32), 1e-6, "mean", 3);
}

TEST("a cross entropy keeps no row of logarithms") {
  const auto loss = [](Tensor x, Tensor t) { return nn::cross_entropy(x, t); };
  auto f = jit(loss, {.executors = {"fuser"}});
  const Tensor scores = randn({6, 50}), targets = randint(0, 50, {6});
  expect_close(f(scores, targets), loss(scores, targets));
  const std::string text = kernels_of(last_traces(f).back());
  const size_t rows = text.find("Largest<Floats> t");
  expect(rows != std::string::npos && text.find("log(") != std::string::npos, text);
  expect(text.substr(rows, text.find("\n}", rows) - rows).find("store(") == std::string::npos, text);
}

TEST("a class that is none is an error, forward and backward") {
  const auto loss = [](Tensor x, Tensor t) { return nn::cross_entropy(x, t); };
  auto f = jit(grad(loss), {.executors = {"fuser"}});
  auto g = jit(loss, {.executors = {"fuser"}});
  const Tensor scores = randn({4, 9});
  f(scores, tensor({3, 8, 3, 0}));
  for (const auto& [wrong, text] : {std::pair{9, "an index tensor holds 9, which is out of range for a dimension of size 9"},
                                    std::pair{-1, "an index tensor holds -1, which is out of range for a dimension of size 9"}}) {
    const Tensor targets = tensor({3, wrong, 3, 0});
    expect_error([&] { f(scores, targets); }, text);
    expect_error([&] { g(scores, targets); }, text);
  }
}

TEST("with class weights, or more dimensions, the cotangent is the eager kernel's") {
  const Tensor scores = randn({4, 9, 3}), targets = randint(0, 9, {4, 3});
  const std::string text = check_loss(Dtype::f32, scores, targets, 1e-6);
  expect(text.find("places()") == std::string::npos, text);
}

TEST("results do not depend on threads, rows are not divided") {
  const Tensor scores = randn({2, 40000}), targets = tensor({39999, 20000});
  const auto loss = [](Tensor x, Tensor t) { return nn::cross_entropy(x, t); };
  auto f = jit(grad(loss), {.executors = {"fuser"}});
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<float> one = f(scores, targets).to_vector<float>();
  set_num_threads(3);
  expect(f(scores, targets).to_vector<float>() == one);
  set_num_threads(before);
  expect_near(one, grad(loss)(scores, targets).to_vector<float>(), 1e-6);
}
