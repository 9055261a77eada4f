#include <array>
#include <span>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

TEST("from_blob reads and writes the caller's memory") {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  const Tensor x = from_blob(memory.data(), {2, 3});
  expect_equal(x.dtype(), Dtype::f32);
  expect_near(sum(x, 0).to_vector<float>(), {5, 7, 9});
  memory[0] = 10;
  expect_near(x(0).to_vector<float>(), {10, 2, 3});
  x(1) = 0;
  expect_near(memory, {10, 2, 3, 0, 0, 0});
  expect_equal(x.data<float>(), memory.data());
}

TEST("from_blob accepts strides, dtypes and requires_grad") {
  std::array<int64_t, 6> numbers{0, 1, 2, 3, 4, 5};
  const Tensor turned = from_blob(numbers.data(), {3, 2}, {1, 3}, {.dtype = Dtype::i64});
  expect_equal(turned.to_vector<int64_t>(), std::vector<int64_t>{0, 3, 1, 4, 2, 5});
  std::array<double, 2> weights{3, 4};
  const Tensor w = from_blob(weights.data(), {2}, {.dtype = Dtype::f64, .requires_grad = true});
  sum(w * w).backward();
  expect_near(w.grad().to_vector<double>(), {6, 8});
}

TEST("from_blob calls the deleter when the last tensor over the memory is gone") {
  int deleted = 0;
  auto* memory = new float[4]{1, 2, 3, 4};
  {
    Tensor part;
    {
      const Tensor whole = from_blob(memory, {2, 2}, {}, [&deleted](void* data) {
        ++deleted;
        delete[] static_cast<float*>(data);
      });
      part = whole(1);
    }
    expect_equal(deleted, 0);
    expect_near(part.to_vector<float>(), {3, 4});
  }
  expect_equal(deleted, 1);
}

TEST("from_blob refuses what cannot be a tensor") {
  std::array<float, 8> memory{};
  char* odd = reinterpret_cast<char*>(memory.data()) + 1;
  expect_error([&] { from_blob(odd, {2}); }, "from_blob: data is not aligned to the 4 bytes of an element of f32");
  expect_error([&] { from_blob(nullptr, {2}); }, "from_blob: data is a null pointer");
  expect_error([&] { from_blob(memory.data(), {2, -1}); }, "from_blob: the shape [2, -1] has a negative number");
  expect_error([&] { from_blob(memory.data(), {2, 2}, {1}); }, "from_blob: 1 strides for 2 dimensions");
  expect_error(
      [&] {
        from_blob(memory.data(), {2, 2}, {-2, 1});
      },
      "from_blob: the list of strides [-2, 1] has a negative number");
  expect_equal(from_blob(nullptr, {0, 3}).shape(), Shape({0, 3}));
}

TEST("spans are copied into a shape") {
  std::vector<float> elements{1, 2, 3, 4, 5, 6};
  const Tensor x = tensor(std::span<const float>(elements), {3, 2});
  elements[0] = 9;
  expect_equal(x.dtype(), Dtype::f32);
  expect_near(x(0).to_vector<float>(), {1, 2});
  expect_equal(tensor(std::span(elements), {2, 3}, {.dtype = Dtype::f64}).dtype(), Dtype::f64);
  const std::array<uint32_t, 2> wide{1, 2};
  expect_equal(tensor(std::span(wide)).to_vector<int64_t>(), std::vector<int64_t>{1, 2});
  expect_error([&] { tensor(std::span(elements), {2, 2}); }, "tensor: 6 elements do not fill shape [2, 2]");
}

TEST("vectors and arrays may be nested") {
  const Tensor x = tensor(std::vector<std::vector<float>>{{1, 2}, {3, 4}, {5, 6}});
  expect_equal(x.shape(), Shape({3, 2}));
  expect_equal(x.dtype(), Dtype::f32);
  expect_near(x.to_vector<float>(), {1, 2, 3, 4, 5, 6});
  expect_equal(tensor(std::array<int16_t, 3>{1, 2, 3}).dtype(), Dtype::i16);
  const Tensor cube =
      tensor(std::vector<std::array<std::vector<bool>, 2>>{{std::vector<bool>{true}, std::vector<bool>{false}}});
  expect_equal(cube.shape(), Shape({1, 2, 1}));
  expect_equal(cube.dtype(), Dtype::boolean);
  expect_equal(tensor(std::vector<std::vector<int32_t>>{}).dtype(), Dtype::i32);
  expect_equal(tensor({}).dtype(), Dtype::f32);
  expect_error(
      [] {
        tensor(std::vector<std::vector<float>>{{1, 2}, {3}});
      },
      "tensor: rows of different sizes: [1] beside [2]");
}

TEST("long long is i64, and elements can be read through const") {
  const Tensor x = tensor(std::vector<long long>{1, 2});
  expect_equal(x.dtype(), Dtype::i64);
  expect_equal(x.to_vector<long long>(), std::vector<long long>{1, 2});
  expect_equal(x.data<const long long>()[1], 2);
  expect_equal(tensor(std::vector<unsigned long long>{3}).to_vector<int64_t>(), std::vector<int64_t>{3});
  expect_equal(ones({2}).data<const float>()[0], 1.0F);
  expect_error([&] { x.data<const float>(); }, "data<float>() of cpu i64[2]: its elements are int64_t");
}
