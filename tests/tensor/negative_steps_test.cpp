// Slices with a negative step.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<int64_t> backwards(std::optional<Int> start, std::optional<Int> stop, int64_t step) {
  return arange(6)(Slice(start, stop, step)).to_vector<int64_t>();
}

using Values = std::vector<int64_t>;

}  // namespace

TEST("a negative step counts backwards, with the ends of Python") {
  expect_equal(backwards(None, None, -1), Values({5, 4, 3, 2, 1, 0}));
  expect_equal(backwards(None, None, -2), Values({5, 3, 1}));
  expect_equal(backwards(4, 1, -1), Values({4, 3, 2}));
  expect_equal(backwards(4, None, -3), Values({4, 1}));
  expect_equal(backwards(-2, -5, -1), Values({4, 3, 2}));
  expect_equal(backwards(100, -100, -4), Values({5, 1}));
  expect_equal(backwards(-100, None, -1), Values());
  expect_equal(backwards(1, 4, -1), Values());
  expect_equal(backwards(None, 4, -1), Values({5}));
  expect_equal(zeros({0, 2})(Slice(None, None, -1)).shape(), Shape({0, 2}));
}

TEST("a negative step stands beside integers, slices, None and an ellipsis") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  expect_equal(x(0, Slice(None, None, -1), 1).to_vector<int64_t>(), Values({9, 5, 1}));
  expect_equal(x(Ellipsis, Slice(None, None, -3))(0, 0).to_vector<int64_t>(), Values({3, 0}));
  expect_equal(x(None, Slice(None, None, -1), Slice(0, 1), Slice(None, 1, -2)).to_vector<int64_t>(), Values({15, 3}));
  expect_error(
      [&] {
        x(Slice(None, None, -1), {0, 1});
      },
      "x(…): a slice with a negative step stands beside a tensor, a mask or a list; flip() first");
  expect_error([&] { x(0, 0, 0, Slice(None, None, -1)); }, "too many indexes: 4 for a tensor of 3 dimensions");
}

TEST("an assignment through a negative step writes back") {
  const auto program = [](Tensor given) {
    Tensor x = given * 1;
    x(Slice(None, None, -2)) = tensor({10.0, 20.0, 30.0});
    x(Slice(1, None, -1)) += 100;
    x({0, 2})(Slice(None, None, -1)) = tensor({7.0, 8.0});
    return x;
  };
  const Tensor x = tensor({0.0, 1.0, 2.0, 3.0, 4.0, 5.0});
  const std::vector<float> expected = {8, 130, 7, 20, 4, 10};
  expect_near(program(x).to_vector<float>(), expected);
  const auto jitted = jit(program);
  for (int i = 0; i < 2; ++i) expect_near(jitted(x).to_vector<float>(), expected);
}

TEST("a negative step has a gradient") {
  const auto program = [](Tensor x) { return sum(x(Slice(4, 0, -2)) * tensor({1.0, 10.0})); };
  for (const bool is_compiled : {false, true}) {
    const Tensor x = tensor({0.0, 1.0, 2.0, 3.0, 4.0, 5.0}).requires_grad_();
    const Tensor loss = is_compiled ? jit(program)(x) : program(x);
    loss.backward();
    expect_near(x.grad().to_vector<float>(), {0, 0, 10, 0, 1, 0});
  }
}

TEST("symbolic sizes may be read backwards") {
  const auto f = jit([](Tensor x) { return x(Slice(None, None, -2)); }, {.cache = Cache::symbolic_values});
  expect_near(f(tensor({0.0, 1.0, 2.0})).to_vector<float>(), {2, 0});
  expect_near(f(tensor({0.0, 1.0, 2.0, 3.0, 4.0})).to_vector<float>(), {4, 2, 0});
  expect_near(f(tensor({0.0, 1.0, 2.0, 3.0})).to_vector<float>(), {3, 1});
}

TEST("a vector of integers is a list index") {
  Tensor x = tensor({1.0, 2.0, 3.0});
  const std::vector<int64_t> chosen = {2, 0};
  expect_near(x(chosen).to_vector<float>(), {3, 1});
  x(chosen) = tensor({5.0, 6.0});
  x(std::vector<int>{1}) *= 10;
  expect_near(x.to_vector<float>(), {6, 20, 5});
  expect_equal(x(std::vector<int64_t>()).shape(), Shape({0}));
}
