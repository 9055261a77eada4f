#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short programs of every day: tensors from memory that a program has, and memory that tensors have.

namespace {
std::vector<float> floats(const Tensor& x) { return x.to(Dtype::f32).contiguous().to_vector<float>(); }
std::vector<int64_t> integers(const Tensor& x) { return x.to(Dtype::i64).contiguous().to_vector<int64_t>(); }
}  // namespace

TEST("everyday: a vector, an array, a span and nested vectors become tensors") {
  const std::vector<double> vector{1.5, 2.5};
  expect_equal(tensor(vector).dtype(), Dtype::f64);
  const std::array<float, 3> array{1, 2, 3};
  expect_equal(tensor(array).shape(), Shape{3});
  expect_equal(tensor(array).dtype(), Dtype::f32);
  const float plain[] = {1, 2, 3, 4, 5, 6};
  const Tensor x = tensor(std::span<const float>(plain), {2, 3});
  expect_equal(floats(x(1)), std::vector<float>{4, 5, 6});
  const std::vector<std::vector<int>> rows{{1, 2}, {3, 4}, {5, 6}};
  expect_equal(tensor(rows).shape(), Shape{3, 2});
  expect_equal(tensor(rows).dtype(), Dtype::i32);
  const std::vector<std::array<uint8_t, 3>> colours{{255, 0, 1}, {2, 3, 4}};
  expect_equal(tensor(colours).dtype(), Dtype::u8);
  expect_equal(tensor(std::vector<bool>{true, false}).dtype(), Dtype::boolean);
  expect_equal(tensor({{1, 2}, {3, 4}}).dtype(), Dtype::i64);
  expect_equal(tensor({1.0, 2.0}).dtype(), Dtype::f32);
  expect_equal(tensor(7).shape(), Shape{});
}

TEST("everyday: ragged rows are refused") {
  const std::vector<std::vector<int>> rows{{1, 2}, {3}};
  expect_error([&] { tensor(rows); }, "");
}

TEST("everyday: from_blob borrows, with strides and a deleter") {
  float memory[] = {0, 1, 2, 3, 4, 5};
  const Tensor x = from_blob(memory, {2, 3});
  memory[4] = 40;
  expect_equal(x(1, 1).item<float>(), 40.f);
  x(0, 0) = -1;
  expect_equal(memory[0], -1.f);
  const Tensor t = from_blob(memory, {3, 2}, {1, 3}, {.dtype = Dtype::f32});
  expect_equal(floats(t), std::vector<float>{-1, 3, 1, 40, 2, 5});
  int deleted = 0;
  auto* const integers_of_mine = new int64_t[2]{7, 8};
  {
    const Tensor owner = from_blob(integers_of_mine, {2}, {.dtype = Dtype::i64}, [&](void* p) {
      ++deleted;
      delete[] static_cast<int64_t*>(p);
    });
    const Tensor view = owner(1);
    expect_equal(view.item<int64_t>(), 8);
    expect_equal(deleted, 0);
  }
  expect_equal(deleted, 1);
}

TEST("everyday: sizes, dimensions and pointers of a tensor") {
  const Tensor x = zeros({2, 3, 4});
  expect_equal(x.dim(), 3);
  expect_equal(x.ndim(), 3);
  expect_equal(x.sizes(), Shape{2, 3, 4});
  expect_equal(int64_t(x.size(-1)), 4);
  expect_equal(int64_t(x.numel()), 24);
  const int64_t rows = x.size(0), columns = x.size(1);
  expect_equal(rows * columns, 6);
  expect_equal(x.sizes()[1], 3);
  expect_equal(x.data_ptr<float>(), x.data<float>());
  std::fill_n(x.data_ptr<float>(), 24, 2.f);
  expect_equal(sum(x).item<float>(), 48.f);
  float total = 0;
  const float* const p = x.data<const float>();
  for (int64_t i = 0; i < x.numel(); ++i) total += p[i];
  expect_equal(total, 48.f);
  std::vector<int64_t> sizes;
  for (const auto& size : x.shape()) sizes.push_back(size);
  expect_equal(sizes, std::vector<int64_t>{2, 3, 4});
}

TEST("everyday: elements by accessor") {
  const Tensor x = arange(6).reshape({2, 3}).t();
  auto a = accessor<int64_t, 2>(x);
  expect_equal(a.size(0), 3);
  expect_equal(a[2][1], 5);
  a[2][1] = 50;
  expect_equal(x(2, 1).item<int>(), 50);
  expect_error([&] { accessor<int64_t, 1>(x); }, "2 dimensions");
  expect_error([&] { accessor<float, 2>(x); }, "");
}

TEST("everyday: loops over rows") {
  const Tensor x = arange(6).reshape({3, 2});
  std::vector<int64_t> sums;
  for (const Tensor& row : x) sums.push_back(sum(row).item<int64_t>());
  expect_equal(sums, std::vector<int64_t>{1, 5, 9});
  for (Tensor row : x) row += 1;
  expect_equal(integers(x), std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  for (const Tensor& row : x.unbind(0)) expect_equal(row.shape(), Shape{2});
}

TEST("everyday: tensors to vectors, numbers and bools") {
  const Tensor x = tensor({1.5, -2.5});
  expect_equal(x.to_vector<float>(), std::vector<float>{1.5, -2.5});
  expect_equal(x(1).item<int>(), -2);
  expect(bool(x(0) > 1));
  expect_error([&] { x.to_vector<double>(); }, "");
  expect_error([&] { x.item<float>(); }, "");
  expect(all(x > -3).item<bool>());
}

TEST("everyday: dtypes, devices and copies") {
  Tensor x = ones({2}, {.dtype = Dtype::f64});
  expect_equal(x.to(Dtype::bf16).dtype(), Dtype::bf16);
  expect(x.to(Dtype::f64).is_same(x) || x.to(Dtype::f64).data<double>() == x.data<double>());
  const Tensor shared = x;
  const Tensor copy = x.clone();
  x += 1;
  expect_equal(shared(0).item<double>(), 2.0);
  expect_equal(copy(0).item<double>(), 1.0);
  expect_equal(x.device(), Device("cpu"));
  expect_equal(zeros_like(x).dtype(), Dtype::f64);
  expect_equal(full({2}, 3).dtype(), Dtype::i64);
  expect_equal(full({2}, 3.0).dtype(), Dtype::f32);
  expect_equal(ones_like(x, {.dtype = Dtype::i32}).dtype(), Dtype::i32);
}

TEST("everyday: shapes are compared, printed and computed with") {
  const Shape shape{2, 3};
  expect_equal(zeros({2, 3}).shape(), shape);
  std::ostringstream out;
  out << shape << " " << Dtype::bf16 << " " << Device("cpu") << " " << zeros({2}).dtype();
  expect_equal(out.str(), "[2, 3] bf16 cpu f32");
  const Tensor x = zeros({4, 6});
  const auto half = x.size(1) / 2;
  expect_equal(x.reshape({-1, half}).shape(), Shape{8, 3});
  const std::vector<int64_t> dims{2, 5};
  expect_equal(zeros(dims).shape(), Shape{2, 5});
}

TEST("everyday: concatenation, stacking and splitting") {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4});
  expect_equal(integers(cat({a, b})), std::vector<int64_t>{1, 2, 3, 4});
  expect_equal(integers(stack({a, b}, 1)), std::vector<int64_t>{1, 3, 2, 4});
  std::vector<Tensor> list{a, b};
  expect_equal(integers(cat(list, 0)), std::vector<int64_t>{1, 2, 3, 4});
  const auto parts = chunk(arange(5), 2);
  expect_equal(parts.size(), 2u);
  expect_equal(integers(parts[1]), std::vector<int64_t>{3, 4});
  const auto [first, second] = std::pair(split(arange(4), 2)[0], split(arange(4), 2)[1]);
  expect_equal(integers(second), std::vector<int64_t>{2, 3});
  expect_equal(integers(first), std::vector<int64_t>{0, 1});
  expect_equal(vstack({a, b}).shape(), Shape{2, 2});
  expect_equal(hstack({a, b}).shape(), Shape{4});
}

TEST("everyday: results that are several tensors") {
  const Tensor x = tensor({3.0, 1.0, 2.0});
  auto [values, indices] = sort(x);
  expect_equal(floats(values), std::vector<float>{1, 2, 3});
  expect_equal(integers(indices), std::vector<int64_t>{1, 2, 0});
  auto [top, where_top] = topk(x, 2);
  expect_equal(integers(where_top), std::vector<int64_t>{0, 2});
  expect_equal(floats(top), std::vector<float>{3, 2});
  auto [largest, at] = max(x, 0);
  expect_equal(largest.item<float>(), 3.f);
  expect_equal(at.item<int>(), 0);
  auto [variance, mean_of] = var_mean(x);
  expect_equal(variance.item<float>(), 1.f);
  expect_equal(mean_of.item<float>(), 2.f);
  Tensor a, b;
  std::tie(a, b) = min(x, 0);
  expect_equal(b.item<int>(), 1);
}
