// Cross entropy: the cotangent that has one element in each row is made where it is read.
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string kernels_of(const Trace& trace) {
  std::string out;
  for (int i = 0; i < fusions_in(trace); ++i) out += kernel_of(trace, i);
  return out;
}

// Compares the fused loss and gradient with eager mode's; returns the kernels' text.
std::string check_loss(Dtype dtype, Tensor scores, Tensor targets, double tolerance,
                       const std::string& reduction = "mean", int64_t ignored = -100) {
  const auto loss = [&](Tensor x, Tensor t) {
    return sum(nn::cross_entropy(x, t, {}, {}, ignored, {}, reduction) * 0.5);
  };
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
    const size_t compared = text.find("c.places() == ");
    expect(compared != std::string::npos && text.find("_column", compared) < text.find(',', compared),
           text);  // made once a row
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
  const size_t rows = text.find("Max<Floats> t");
  expect(rows != std::string::npos && text.find("log(") != std::string::npos, text);
  expect(text.substr(rows, text.find("\n}", rows) - rows).find("store(") == std::string::npos, text);
}

TEST("a class that is none is an error, forward and backward") {
  const auto loss = [](Tensor x, Tensor t) { return nn::cross_entropy(x, t); };
  auto f = jit(grad(loss), {.executors = {"fuser"}});
  auto g = jit(loss, {.executors = {"fuser"}});
  const Tensor scores = randn({4, 9});
  f(scores, tensor({3, 8, 3, 0}));
  for (const auto& [wrong, text] :
       {std::pair{9, "an index tensor holds 9, which is out of range for a dimension of size 9"},
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
  expect_equal(f(scores, targets).to_vector<float>(), one);
  set_num_threads(before);
  expect_near(one, grad(loss)(scores, targets).to_vector<float>(), 1e-6);
}

TEST("a cross entropy and its gradient take each exponential once, and add up nothing that is one element") {
  const auto loss = [](Tensor x, Tensor t) { return nn::cross_entropy(x, t); };
  auto f = jit(value_and_grad<0>(loss), {.executors = {"fuser"}});
  f(randn({6, 50}), randint(0, 50, {6}));
  const std::string text = kernels_of(last_traces(f).back());
  const auto count = [&](std::string_view part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  expect_equal(count(" exp("), 1);
  expect(text.find("_chosen") == std::string::npos, text);
  expect(text.find("_taken = load_one(row.of<const float>(0) + *row.of<const long long>(1));") != std::string::npos,
         text);
}

TEST("the exponential of a log_softmax is a softmax, whatever is in a row") {
  const double infinity = std::numeric_limits<double>::infinity(), none = std::nan("");
  const Tensor x = tensor({{1.0, 2.0, -3.0, 0.5},
                           {-infinity, 1.0, 2.0, -infinity},
                           {-infinity, -infinity, -infinity, -infinity},
                           {infinity, 1.0, 2.0, 3.0},
                           {none, 1.0, 2.0, 3.0},
                           {3e38, -3e38, 1.0, 3e38},
                           {0.0, -95.0, -103.0, -120.0}},
                          {.dtype = Dtype::f64});
  const auto both = [](Tensor t) {
    const Tensor logarithm = log_softmax(t, -1), share = exp(logarithm);
    return std::pair{logarithm, share};
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16}) {
    auto f = jit(both, {.executors = {"fuser"}});
    const Tensor given = x.to(dtype);
    const auto [logarithm, share] = f(given);
    const auto [expected_logarithm, expected] = both(given);
    expect_close(logarithm, expected_logarithm);
    expect_close(share, expected, dtype == Dtype::bf16 ? 2e-2 : dtype == Dtype::f16 ? 2e-3 : 1e-6);
  }
}

TEST("exponentials that may overflow are not divided") {
  const auto naive = [](Tensor t) {
    const Tensor total = sum(exp(t), {-1}, true);
    const Tensor logarithm = t - log(total);
    return exp(logarithm);
  };
  auto f = jit(naive, {.executors = {"fuser"}});
  const Tensor x = tensor({{1.0f, 2.0f, -3.0f, 0.5f}, {100.0f, 1.0f, 2.0f, 100.0f}});
  expect_close(f(x), naive(x));
  expect_equal(kernels_of(last_traces(f).back()).find("inverse"), std::string::npos);
}

TEST("a gathered value is computed at its index, unless it depends on the index itself") {
  const Tensor x = randn({5, 33}), w = randn({33}), b = randn({5, 1}), classes = randint(0, 33, {5});
  const auto bent = [](Tensor t, Tensor scale, Tensor shift, Tensor place) {
    return nn::nll_loss(tanh(t * scale + shift), place, {}, {}, -100, {}, "none");
  };
  auto f = jit(bent, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  expect_close(f(x, w, b, classes), bent(x, w, b, classes));
  const std::string text = kernels_of(last_traces(f).back());
  expect(text.find("_taken = tanh(") != std::string::npos && text.find("_chosen") == std::string::npos, text);

  const auto put = [](Tensor t, Tensor place) {
    const Tensor gradient =
        grad([](Tensor of, Tensor at) { return nn::cross_entropy(of, at, {}, {}, -100, {}, "sum"); })(t, place);
    return nn::nll_loss(gradient, place, {}, {}, -100, {}, "none");
  };
  auto g = jit(put, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  expect_close(g(x, classes), put(x, classes));
  const std::string chosen = kernels_of(last_traces(g).back());
  expect(chosen.find("_chosen") != std::string::npos, chosen);
}

TEST("a loss of rows that were joined for it is one kernel with its gradient") {
  const auto loss = [](Tensor x, Tensor t) {
    const Tensor rows = x.reshape({-1, x.size(-1)}), classes = t.reshape({-1});
    return nn::cross_entropy(rows, classes);
  };
  const auto both = value_and_grad<0>(loss);
  auto f = jit(both, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  const Tensor x = randn({4, 6, 50}), t = randint(0, 50, {4, 6});
  const auto [value, gradient] = f(x, t);
  const auto [expected, expected_gradient] = both(x, t);
  expect_close(value, expected);
  expect_close(gradient, expected_gradient);
  const Trace trace = last_traces(f).back();
  int with_both = 0;
  for (int i = 0; i < fusions_in(trace); ++i) {
    const std::string text = kernel_of(trace, i);
    with_both += text.find("log(") != std::string::npos && text.find("c.places()") != std::string::npos;
  }
  expect_equal(with_both, 1);
}
