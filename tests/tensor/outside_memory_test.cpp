// Memory of other libraries: tensors that share it, and what is known of their storage.
#include <vector>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void expect_close(const Tensor& actual, const Tensor& expected, SourceLocation at = SourceLocation::here()) {
  expect_near(actual.detach().to(Dtype::f64).to_vector<double>(), expected.detach().to(Dtype::f64).to_vector<double>(),
              1e-6, at);
}

}  // namespace

TEST("tensors in one memory share its storage and its count of writes") {
  std::vector<float> elements{0, 1, 2, 3, 4, 5};
  int released = 0;
  {
    const auto memory = OutsideMemory::adopt(elements.data(), 24, [&] { ++released; });
    const Tensor whole = memory.tensor({2, 3}, {3, 1}, 0, Dtype::f32);
    const Tensor column = memory.tensor({2}, {3}, 1, Dtype::f32);
    expect(shares_memory(whole, column) && !is_same_view(whole, column), "two views of one storage");
    expect(is_same_view(whole, alias(whole)), "an alias is the same view");
    const uint64_t before = write_count(whole);
    column.fill_(9);
    expect(write_count(whole) > before, "a write through one is counted for both");
    expect_close(whole, tensor({{0.0f, 9.0f, 2.0f}, {3.0f, 9.0f, 5.0f}}));
    expect_equal(released, 0);
  }
  expect_equal(released, 1);
  expect_equal(elements[4], 9.0f);
}

TEST("an alias has no history") {
  const Tensor x = ones({2}).requires_grad_();
  const Tensor y = x * 2;
  expect(y.requires_grad() && !alias(y).requires_grad() && shares_memory(y, alias(y)),
         "the same memory without history");
}

TEST("a tensor that does not fit into its memory is an error") {
  std::vector<float> elements(4);
  const auto memory = OutsideMemory::adopt(elements.data(), 16, {});
  expect_error([&] { memory.tensor({5}, {1}, 0, Dtype::f32); }, "the elements reach to byte 20 of 16");
  expect_error([&] { memory.tensor({1}, {1, 1}, 0, Dtype::f32); }, "2 strides for 1 dimensions");
  expect_error([&] { memory.tensor({2}, {-1}, 1, Dtype::f32); }, "must not be negative");
  expect_error([&] { OutsideMemory::adopt(nullptr, 4, {}); }, "data is a null pointer");
  expect_error([&] { OutsideMemory::adopt(nullptr, -1, {}); }, "-1 bytes");
  expect_error([&] { OutsideMemory().tensor({}, {}, 0, Dtype::f32); }, "no memory was adopted");
  expect_error([&] { write_count(Tensor()); }, "write_count: the tensor is undefined");
  expect_equal(memory.tensor({0, 3}, {3, 1}, 0, Dtype::f64).numel().hint(), int64_t{0});
}
