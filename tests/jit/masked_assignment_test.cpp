// x(mask) = value where no graph break can be made: it asks for no sizes that only a run knows.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor clipped(Tensor x) {
  Tensor y = x * 2.0;
  y(y > 3) = 0.5;
  return y;
}

}  // namespace

TEST("a number is assigned under a mask inside grad(), vjp(), checkpoint() and whole functions") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  const auto loss = [](Tensor t) { return sum(square(clipped(t))); };
  for (const bool compiled : {false, true}) {
    const Tensor slope = compiled ? jit(grad(loss))(x) : grad(loss)(x);
    expect_near(slope.to_vector<float>(), {8, 0, 0});
  }
  expect_near(vjp(clipped, x).first.to_vector<float>(), {2, 0.5, 0.5});
  const auto whole = jit(clipped, {.fullgraph = true});
  for (int i = 0; i < 2; ++i) expect_near(whole(x).to_vector<float>(), {2, 0.5, 0.5});
  const Tensor leaf = x.clone().requires_grad_();
  sum(square(checkpoint(clipped)(leaf))).backward();
  expect_near(leaf.grad().to_vector<float>(), {8, 0, 0});
}

TEST("so is a tensor that is broadcast over the indices, which has a gradient") {
  const auto rows = [](Tensor x, Tensor value, Tensor mask) {
    Tensor y = x * 1.0;
    y(mask) = value;
    return sum(y * tensor({1.0, 2.0, 3.0}));
  };
  const Tensor x = ones({2, 3}), value = tensor({4.0, 5.0, 6.0}), mask = tensor({true, false});
  const auto [dx, dv] = grad<0, 1>(rows)(x, value, mask);
  expect_near(dx.to_vector<float>(), {0, 0, 0, 1, 2, 3});
  expect_near(dv.to_vector<float>(), {1, 2, 3});
  expect_near(jit(rows, {.fullgraph = true})(x, value, mask).item<double>(), 32 + 6);
}

TEST("the indices of a mask are an error where they are read") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  const std::string inside =
      "a mask as an index needs the value of cpu bool[3] inside a traced function: a graph break, "
      "which cannot be made inside grad()";
  expect_error([&] { grad([](Tensor t) { return sum(t(t > 1)); })(x); }, inside);
  expect_error(
      [&] { grad([](Tensor t) { return sum(t * static_cast<double>(static_cast<int64_t>(t(t > 1).numel()))); })(x); },
      inside);
  expect_error(
      [&] {
        grad([](Tensor t) {
          Tensor y = t * 1.0;
          y(y > 1) += 1.0;
          return sum(y);
        })(x);
      },
      inside);
  // As many values as places: their number is asked for.
  expect_error(
      [&] {
        grad([](Tensor t) {
          Tensor y = t * 1.0;
          y(y > 1) = tensor({8.0, 9.0});
          return sum(y);
        })(x);
      },
      inside);
  // Nothing was asked of what is dropped.
  expect_near(grad([](Tensor t) {
                static_cast<void>(t(t > 1));
                return sum(t);
              })(x)
                  .to_vector<float>(),
              {1, 1, 1});
  const Tensor nothing;
  expect_error([&] { sum(nothing); }, "input is an undefined tensor");
}
