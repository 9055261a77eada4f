#include <limits>

#include <fulgurite/error.h>
#include <fulgurite/shape.h>
#include <fulgurite/value.h>

#include "support/test.h"
#include "support/text/text.h"

namespace fulgurite {

TEST("numbers compute as C++ numbers outside tracing") {
  const Int n = 7;
  expect_equal(static_cast<int64_t>(n / 2), 3);
  expect_equal(static_cast<int64_t>(n % 4 * 2 - 1), 5);
  expect_equal(static_cast<double>(n * 0.5), 3.5);
  expect(static_cast<bool>(n > 6));
  expect_equal(static_cast<double>(sqrt(Int(16))), 4.0);
  expect_equal(static_cast<int64_t>(min(Int(3), Int(5))), 3);
  expect_equal(static_cast<double>(max(Float(3), Float(5))), 5.0);
}

TEST("a symbol used without a tracer is an error that names it") {
  NumberProxy proxy;
  proxy.name = "i0";
  proxy.integer = 3;
  proxy.owners = 1;
  const Int n(3, &proxy);
  expect_error([&] { static_cast<void>(n + 1); },
               "the number i0 of a traced function is used after its trace has ended");
  expect_error([&] { static_cast<void>(static_cast<int64_t>(n)); }, "i0");
  expect_equal(Shape({2, n}).text(), "[2, i0=3]");
}

TEST("floor division rounds down") {
  expect_equal(detail::floor_divide(-7, 2), -4);
  expect_equal(detail::floor_remainder(-7, 2), 1);
  expect_equal(detail::floor_divide(7, -2), -4);
  expect_equal(detail::floor_remainder(7, -2), -1);
  expect_error([] { detail::floor_divide(1, 0); }, "by zero");
}

TEST("a shape of more than six sizes moves to the heap and back") {
  Shape shape;
  for (int i = 0; i < 9; ++i) shape.push_back(i);
  expect_equal(shape.text(), "[0, 1, 2, 3, 4, 5, 6, 7, 8]");
  const Shape copy = shape;
  Shape moved = std::move(shape);
  expect_equal(copy, moved);
  moved.erase(0);
  moved.insert(2, 42);
  expect_equal(moved.text(), "[1, 2, 42, 3, 4, 5, 6, 7, 8]");
  moved.resize(2);
  expect_equal(moved, Shape({1, 2}));
  moved = copy;
  expect_equal(moved.size(), 9u);
}

TEST("the product of sizes") {
  expect_equal(static_cast<int64_t>(Shape({2, 3, 4}).numel()), 24);
  expect_equal(static_cast<int64_t>(Shape().numel()), 1);
  expect_equal(static_cast<int64_t>(Shape({2, 0}).numel()), 0);
}

TEST("a floating number's text is the shortest that reads back") {
  expect_equal(text::cat(0.1), "0.1");
  expect_equal(text::cat(2.0), "2.0");
  expect_equal(text::cat(1e100), "1e+100");
  expect_equal(text::cat(-std::numeric_limits<double>::infinity()), "-inf");
  expect_equal(text::cat(0.7071067811865476), "0.7071067811865476");
}

}  // namespace fulgurite
