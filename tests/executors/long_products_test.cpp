// GEMMs with large K are as accurate as sums.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

constexpr int64_t count = int64_t{1} << 22;

/// The relative error of an element from the sum of `count` equal squares.
double error_of(const Tensor& result) {
  const double number = static_cast<double>(0.1f), exact = static_cast<double>(count) * number * number;
  return std::fabs(amax(abs(result.to(Dtype::f64) - exact)).item<double>() / exact);
}

}  // namespace

TEST("inner products of long vectors are as accurate as sums") {
  const Tensor x = full({count}, 0.1), row = x.reshape({1, -1}), column = x.reshape({-1, 1});
  const double sum_error = error_of(sum(x * x));
  for (const Tensor& result :
       {dot(x, x), matmul(row, column), matmul(row, x), mv(row, x), nn::linear(x, x), inner(x, x)})
    expect(error_of(result) <= sum_error + 1e-6, "the error is " + std::to_string(error_of(result)));
  const Tensor every_second = full({2 * count}, 0.1)(Slice({}, {}, 2));
  expect_less(error_of(dot(every_second, every_second)), 2e-6);
}

TEST("thin matmuls of a long depth are as accurate as sums") {
  const Tensor rows = full({3, count}, 0.1), columns = full({count, 2}, 0.1), x = full({count}, 0.1);
  expect(error_of(matmul(rows, columns)) < 2e-5, "rows by columns: " + std::to_string(error_of(matmul(rows, columns))));
  expect(error_of(matmul(x, columns)) < 2e-6, "vector by columns");
  expect(error_of(matmul(rows, x)) < 2e-6, "rows by vector");
  expect(error_of(addmm(zeros({2}), rows, columns)) < 2e-5, "with a bias");
}

TEST("long matmuls apply factors and addends once") {
  const Tensor rows = ones({2, 100000}, {.dtype = Dtype::f64}), columns = ones({100000, 3}, {.dtype = Dtype::f64});
  const Tensor added = full({2, 3}, 5.0, {.dtype = Dtype::f64});
  expect_equal(addmm(added, rows, columns, 2, 0.5).to_vector<double>(), std::vector<double>(6, 50010));
  expect_equal(addmm(full({3}, 7.0, {.dtype = Dtype::f64}), rows, columns).to_vector<double>(),
               std::vector<double>(6, 100007));
  expect_equal(matmul(ones({100000}), ones({100000, 1500}))(1400).item<float>(), 100000.0f);
}
