#include "executors/fused.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr Dtype all_dtypes[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i64,
                                Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,  Dtype::boolean};

Tensor numbers(const std::vector<int64_t>& sizes, std::vector<double> values, Dtype dtype = Dtype::i64) {
  return make(sizes, dtype, values);
}
/// Element (i, j, k) of the elements of a tensor of three dimensions.
double at(const std::vector<double>& values, const Tensor& shape_of, int64_t i, int64_t j, int64_t k) {
  return values[(i * shape_of.size(1) + j) * shape_of.size(2) + k];
}

}  // namespace

TEST("gather reads along a dimension") {
  for (const Dtype dtype : all_dtypes) {
    const Tensor x = transpose(make({4, 3, 5}, dtype, 0, 9, 1), 0, 1);
    const Tensor index = numbers({2, 6, 4}, scattered(48, 0, 3.99, 2), Dtype::i32);
    const std::vector<double> values = elements(x), places = elements(index);
    std::vector<double> expected;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 6; ++j)
        for (int64_t k = 0; k < 4; ++k)
          expected.push_back(at(values, x, i, static_cast<int64_t>(at(places, index, i, j, k)), k));
    expect_near(elements(gather(x, 1, index)), expected, 0);
  }
  const Tensor scalar = gather(make({}, Dtype::f32, {7}), 0, numbers({3}, {0, 0, 0}));
  expect_near(elements(scalar), {7, 7, 7});
  expect_error([] { gather(make({3}, Dtype::f32, 0, 1), 0, numbers({1}, {3})); }, "3");
}

TEST("scatter writes and scatter_add adds along a dimension") {
  for (const Dtype dtype : all_dtypes) {
    const Tensor x = transpose(make({5, 4}, dtype, 0, 9, 1), 0, 1), source = make({3, 6}, dtype, 0, 3, 2);
    const Tensor index = numbers({2, 6}, {0, 4, 1, 3, 2, 4, 4, 3, 2, 1, 0, 0});
    std::vector<double> written = elements(x), added = written, filled = written;
    const std::vector<double> values = elements(source), places = elements(index);
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 6; ++j) {
        const size_t place = static_cast<size_t>(i * 5 + static_cast<int64_t>(places[i * 6 + j]));
        written[place] = values[i * 6 + j];
        added[place] =
            dtype == Dtype::boolean ? std::max(added[place], values[i * 6 + j]) : added[place] + values[i * 6 + j];
        filled[place] = 1;
      }
    expect_near(elements(scatter(x, 1, index, source)), written, 0);
    expect_near(elements(scatter(x, -1, index, 1)), filled, 0);
    expect_near(elements(scatter_add(x, 1, index, source)), added, tolerance_of(dtype) * 2);
  }
}

TEST("index_select and embedding take whole rows") {
  for (const Dtype dtype : all_dtypes) {
    const Tensor x = make({4, 6, 5}, dtype, 0, 9, 1), index = numbers({3}, {5, 0, 5});
    for (const Tensor& input : {x, transpose(make({5, 6, 4}, dtype, 0, 9, 2), 0, 2)}) {
      const std::vector<double> values = elements(input);
      std::vector<double> expected;
      for (int64_t i = 0; i < 4; ++i)
        for (const int64_t j : {5, 0, 5})
          for (int64_t k = 0; k < 5; ++k) expected.push_back(at(values, input, i, j, k));
      expect_near(elements(index_select(input, 1, index)), expected, 0);
    }
  }
  const Tensor table = make({3, 2}, Dtype::f32, {1, 2, 3, 4, 5, 6});
  expect_near(elements(nn::embedding(numbers({2, 2}, {2, 0, 1, 2}), table)), {5, 6, 1, 2, 3, 4, 5, 6});
  expect_equal(nn::embedding(numbers({0}, {}), table).shape(), Shape({0, 2}));
  expect_error([&] { nn::embedding(numbers({1}, {3}), table); }, "out of range");
}

TEST("an embedding's gradient adds rows up in order") {
  const Tensor grad = make({5, 2}, Dtype::f32, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Tensor indices = numbers({5}, {1, 0, 1, 3, 1});
  expect_near(elements(prims::embedding_backward(grad, indices, 4, -1)), {3, 4, 15, 18, 0, 0, 7, 8});
  expect_near(elements(prims::embedding_backward(grad, indices, 4, 1)), {3, 4, 0, 0, 0, 0, 7, 8});
  const Tensor large = make({4000, 20}, Dtype::f32, -1, 1, 1), places = numbers({4000}, scattered(4000, 0, 99.9, 2));
  expect_same_bits([&] { return std::vector<Tensor>{prims::embedding_backward(large, places, 100, -1)}; });
  // 16-bit sums are kept in f32 until the end.
  const Tensor ones = make({1000, 1}, Dtype::bf16, std::vector<double>(1000, 1.0));
  expect_near(elements(prims::embedding_backward(ones, numbers({1000}, std::vector<double>(1000, 0)), 1, -1)), {1000});
}

TEST("index tensors, adjacent and apart") {
  for (const Dtype dtype : all_dtypes) {
    const Tensor x = make({4, 5, 6}, dtype, 0, 9, 1);
    const std::vector<double> values = elements(x);
    const Tensor rows = numbers({2, 1}, {3, -4}), columns = numbers({3}, {0, -1, 2});
    std::vector<double> adjacent, apart, middle;
    for (const int64_t i : {3, 0})
      for (const int64_t j : {0, 4, 2})
        for (int64_t k = 0; k < 6; ++k) adjacent.push_back(at(values, x, i, j, k));
    expect_near(elements(prims::index(x, {rows, columns})), adjacent, 0);
    for (const int64_t i : {3, 0})
      for (const int64_t k : {0, 5, 2})
        for (int64_t j = 0; j < 5; ++j) apart.push_back(at(values, x, i, j, k));
    expect_near(elements(prims::index(x, {rows, Tensor(), columns})), apart, 0);
    for (int64_t i = 0; i < 4; ++i)
      for (const int64_t j : {0, 4, 2})
        for (int64_t k = 0; k < 6; ++k) middle.push_back(at(values, x, i, j, k));
    expect_near(elements(prims::index(x, {Tensor(), columns})), middle, 0);
    expect_near(elements(prims::index(transpose(x, 0, 2), {Tensor(), columns})),
                elements(transpose(prims::index(x, {Tensor(), columns}), 0, 2)), 0);
  }
  expect_error([] { prims::index(make({3}, Dtype::f32, 0, 1), {numbers({1}, {-4})}); }, "-4");
}

TEST("index_put writes in order, or adds") {
  const Tensor x = make({3, 2}, Dtype::f32, {1, 2, 3, 4, 5, 6}), index = numbers({3}, {2, 0, 2});
  const Tensor values = make({3, 2}, Dtype::f32, {10, 20, 30, 40, 50, 60});
  expect_near(elements(prims::index_put(x, {index}, values, false)), {30, 40, 3, 4, 50, 60});
  expect_near(elements(prims::index_put(x, {index}, values, true)), {31, 42, 3, 4, 65, 86});
  expect_near(elements(prims::index_put(x, {Tensor(), numbers({2}, {1, 1})}, make({}, Dtype::f32, {1}), true)),
              {1, 4, 3, 6, 5, 8});
  expect_near(elements(prims::index_put(x, {index}, make({2}, Dtype::f32, {7, 8}), false)), {7, 8, 3, 4, 7, 8});
}

TEST("cat, flip, pad and triangles") {
  for (const Dtype dtype : all_dtypes) {
    const Tensor a = make({2, 3}, dtype, {1, 0, 1, 0, 1, 1}), b = transpose(make({3, 1}, dtype, {0, 1, 0}), 0, 1);
    expect_near(elements(cat({a, b, make({0}, dtype, {})}, 0)), {1, 0, 1, 0, 1, 1, 0, 1, 0}, 0);
    expect_near(elements(cat({a, a}, -1)), {1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1}, 0);
    expect_near(elements(flip(a, {0, 1})), {1, 1, 0, 1, 0, 1}, 0);
    expect_near(elements(flip(transpose(a, 0, 1), {0})), {1, 1, 0, 1, 1, 0}, 0);
    expect_near(elements(prims::pad(a, {0, 1}, {1, 0}, 1.0)), {1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1}, 0);
    const Tensor ones = make({2, 3, 4}, dtype, std::vector<double>(24, 1));
    expect_near(elements(tril(narrow(ones, 0, 0, 1), 0)), {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0}, 0);
    expect_near(elements(triu(narrow(ones, 0, 1, 1), 1)), {0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1}, 0);
    expect_near(elements(tril(transpose(narrow(ones, 0, 0, 1), 1, 2), -2)), {0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0}, 0);
  }
  expect_near(elements(cat({make({1}, Dtype::i64, {1}), make({1}, Dtype::f32, {0.5})}, 0)), {1, 0.5}, 0);
  expect_equal(flip(make({0, 3}, Dtype::f32, 0, 1), {0}).shape(), Shape({0, 3}));
  expect_equal(tril(make({3, 0}, Dtype::f32, 0, 1)).shape(), Shape({3, 0}));
}
