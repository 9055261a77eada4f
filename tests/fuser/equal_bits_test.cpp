// A region of pointwise operators gives the eager executor's bits: no product is added to anything before it is rounded.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "fuser/fused.h"
#include "support/test.h"
#include "support/text.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string differing(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape().text() != expected.shape().text()) return "another type";
  const auto a = actual.to(Dtype::f64).contiguous().to_vector<double>(), b = expected.to(Dtype::f64).contiguous().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint64_t>(a[i]) != std::bit_cast<uint64_t>(b[i]) && !(std::isnan(a[i]) && std::isnan(b[i])))
      return text::cat("element ", i, " is ", a[i], ", not ", b[i]);
  return {};
}

/// What the fuser gives for all of a function, the eager executor gives, and so does eager mode.
template <class F, class... Inputs>
void expect_same_bits(F f, const Inputs&... inputs) {
  auto fused = jit(f, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  const Tensor by_fuser = fused(inputs...), by_eager = f(inputs...);
  expect_equal(fusions_in(last_traces(fused).back()), 1);
  expect_equal(differing(by_fuser, by_eager), std::string());
}

int64_t not_finite(const Tensor& x) { return sum(logical_not(isfinite(x))).item<int64_t>(); }

}  // namespace

TEST("a product is rounded before another operator adds it to something") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    manual_seed(2);
    const Tensor r = (rand({65536}) * 10.0 + 0.1).to(dtype);
    const auto discriminant = [](Tensor r) { return (r + r) * (r + r) - r * r * 4.0; };
    expect_same_bits(discriminant, r);
    expect_equal(not_finite(sqrt(jit(discriminant, {.executors = {"fuser"}})(r))), int64_t{0});
    expect_same_bits([](Tensor r, Tensor s) { return where(r * 0.1 - s * 0.1 < 0, r, s * 3.0) + floor(r * 0.1 - s * 0.1); }, r, r.clone());
    expect_same_bits([](Tensor r, Tensor s) { return add(r * s, s, 0.3) - sub(s, r, 0.7) * r; }, r, r + 1.0);
  }
}

TEST("large scores have a softmax") {
  manual_seed(2);
  const Tensor scores = rand({400, 97});
  const Tensor classes = zeros({400}, {.dtype = Dtype::i64});
  const auto check = [&](auto f) {
    const Tensor found = jit(f, {.executors = {"fuser"}})(scores);
    expect_equal(not_finite(found), int64_t{0});
    expect_close(found, f(scores), 1e-5);
  };
  check([](Tensor x) { return softmax(x * 1e10, -1); });
  check([](Tensor x) { return log_softmax(x * 1e10, -1) * 1e-10; });
  check([](Tensor x) { return logsumexp(x * 1e10, {-1}) * 1e-10; });
  check([classes](Tensor x) { return nn::cross_entropy(x * 1e10, classes, {}, {}, -100, {}, "none") * 1e-10; });
}
