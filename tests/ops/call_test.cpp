// Operators by name.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {
std::vector<float> values(const Tensor& t) { return t.to_vector<float>(); }
}  // namespace

TEST("call runs an operator by name with defaults filled in") {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  expect_near(values(call("sum", {x, 1})), {3, 7});
  expect_near(values(call("torch.sum", {x}, {{"dim", {0}}, {"keepdim", true}})), {4, 6});
  expect_near(values(call("cat", {{x, x}}, {{"dim", 1}})), {1, 2, 1, 2, 3, 4, 3, 4});
  expect_near(values(call("add", {x, 1}, {{"alpha", 2}})), {3, 4, 5, 6});
  expect_near(values(call("div", {x, 2}, {{"rounding_mode", "floor"}})), {0, 1, 1, 2});
}

TEST("several results come back as a list") {
  const Value result = call("var_mean", {tensor({{1.0, 3.0}, {2.0, 6.0}}), 1});
  expect(result.is_list());
  expect_equal(result.list().size(), 2);
  expect_near(values(result.list()[0]), {2, 8});
  expect_near(values(result.list()[1]), {2, 4});
}

TEST("max and min mean by their arguments what they mean in PyTorch") {
  const Tensor x = tensor({{1.0, 5.0}, {7.0, 2.0}}), y = tensor({{3.0, 3.0}, {3.0, 3.0}});
  expect_near(Tensor(call("max", {x})).item<double>(), 7);
  const Value along = call("max", {x, 1});
  expect_near(values(along.list()[0]), {5, 7});
  expect_equal(Tensor(along.list()[1]).to_vector<int64_t>(), std::vector<int64_t>{1, 0});
  expect_near(values(call("max", {x, y})), {3, 5, 7, 3});
  const auto [smallest, where_smallest] = min(x, 0, true);
  expect_near(values(smallest), {1, 2});
  expect_equal(where_smallest.to_vector<int64_t>(), std::vector<int64_t>{0, 1});
}

TEST("max and min of two integer tensors compare them; the second names no dimension") {
  const Tensor x = tensor({{1, 5}, {7, 2}}), one = tensor(1);
  expect_equal(Tensor(call("max", {x, one})).to_vector<int64_t>(), std::vector<int64_t>{1, 5, 7, 2});
  expect_equal(Tensor(call("min", {x, one})).to_vector<int64_t>(), std::vector<int64_t>{1, 1, 1, 1});
}

TEST("in-place forms are callable by name") {
  const Tensor x = tensor({1.0, 2.0});
  call("add_", {x, 1});
  expect_near(values(x), {2, 3});
}

TEST("copy_, fill_ and zero_ write into their first argument") {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({3, 4});
  call("copy_", {x, y});
  expect_near(values(x), {3, 4});
  expect_equal(y.to_vector<int64_t>(), std::vector<int64_t>{3, 4});
  call("torch.Tensor.fill_", {x}, {{"value", 5}});
  expect_near(values(x), {5, 5});
  call("zero_", {x});
  expect_near(values(x), {0, 0});
  expect_error([&] { call("fill_", {x}); }, "fill_: takes a tensor and 'value'");
}

TEST("wrong calls say what is wrong") {
  const Tensor x = zeros({2});
  expect_error([&] { call("summ", {x}); }, "there is no operator 'summ'; did you mean torch.sum");
  expect_error([&] { call("sum", {x}, {{"axis", 0}}); }, "sum: has no argument 'axis'; its signature is torch.sum(");
  expect_error([&] { call("sum", {}); }, "argument 'input' is missing");
  expect_error(
      [&] {
        call("sum", {x, "all"});
      },
      "argument 'dim' must be an integer or a list of integers or None, not the string 'all'");
  expect_error([&] { call("sum", {x, 0}, {{"dim", 0}}); }, "argument 'dim' is given twice");
  expect_error([&] { call("exp", {x, x}); }, "takes at most 1 positional argument, not 2");
  expect_error([&] { call("exp", {1.0}); }, "argument 'input' must be a tensor, not the float 1.0");
  expect_error([&] { call("sum", {x, 4}); }, "call_test.cpp:");
}
