// Errors of compiled calls name the operator that the user called, and its line.
#include <cmath>
#include <limits>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST("a class number out of range in a fused loss names the loss and its line") {
  const int line = SourceLocation::here().line + 4;
  const auto loss = [](Tensor x, Tensor t) {
    const Tensor scores = x * 1.5;
    const Tensor shifted = scores + 1.0;
    return nn::cross_entropy(shifted, t);
  };
  const Tensor x = ones({300, 97}), t = full({300}, -1, {.dtype = Dtype::i64});
  const std::string start = "cross_entropy(cpu f32[300, 97], cpu i64[300]): ";
  const std::string end = "\n  at messages_test.cpp:" + std::to_string(line);
  for (const std::string& message : {message_of([&] { loss(x, t); }), message_of([&] { jit(loss)(x, t); })}) {
    expect_equal(message.find(start), 0);
    expect(contains(message, "-1"));
    expect(contains(message, end));
  }
}

TEST("a call through std::function is reported with the line of jit()") {
  const int line = SourceLocation::here().line + 1;
  const std::function<Tensor(Tensor)> held = jit([](Tensor x) { return x; }, {.limits = {.refuse_after = 1}});
  held(ones({1}));
  const std::string message = message_of([&] { held(ones({2})); });
  expect(contains(message, "messages_test.cpp:" + std::to_string(line)));
  expect(!contains(message, "invoke.h"));
}

TEST("a reentrant checkpoint's error has the line of its call") {
  const Tensor x = ones({2}).requires_grad_();
  const auto f = checkpoint([](Tensor given) { return given * 2.0; }, {.use_reentrant = true});
  const Tensor y = f(x);
  expect(!contains(message_of([&] { autograd::grad(sum(y), x); }), "reentrant_checkpoint.cpp"));
}

TEST("arange of what is not finite, or of too many numbers") {
  expect_error([] { arange(0.0, INFINITY, 1.0); }, "start, end and step must be finite, got 0.0, inf and 1.0");
  expect_error([] { arange(0.0, NAN, 1.0); }, "start, end and step must be finite");
  expect_error([] { arange(0.0, 1e300, 1.0); }, "there are too many numbers");
}

TEST("a step beyond the dimension gives its first element, and its gradient costs no more") {
  const Tensor x = arange(4.0).requires_grad_();
  const int64_t largest = std::numeric_limits<int64_t>::max();
  const Tensor y = x(Slice(1, {}, largest));
  expect_near(y.detach().to_vector<float>(), {1});
  sum(y * 3.0).backward();
  expect_near(x.grad().to_vector<float>(), {0, 3, 0, 0});
  Tensor z = zeros({4});
  z(Slice({}, {}, largest)) = 7;
  expect_near(z.to_vector<float>(), {7, 0, 0, 0});
  expect_near(jit([largest](Tensor w) { return w(Slice({}, {}, largest)) * 2; })(ones({3})).to_vector<float>(), {2});
}

TEST("a device that is not there is an error at the line that names it, eagerly and traced") {
  const std::string message = "zeros([2], device='cuda:0'): this build has only the device cpu, not cuda:0";
  expect_error([&] { zeros({2}, {.device = "cuda:0"}); }, message);
  expect_error([&] { jit([](Tensor x) { return x + zeros({2}, {.device = "cuda:0"}); })(ones({2})); }, message);
}
