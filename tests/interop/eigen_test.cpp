#include <fulgurite/eigen.h>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

TEST("a matrix of Eigen shares the tensor's memory at any strides") {
  const Tensor x = arange(6, {.dtype = Dtype::f64}).reshape({2, 3});
  auto matrix = as_eigen<double>(x);
  expect_equal(matrix.rows(), Eigen::Index{2});
  matrix(1, 2) = 9;
  expect_equal(x(1, 2).item<double>(), 9.0);
  const auto turned = as_eigen<double>(x.t());
  expect_equal(turned(2, 1), 9.0);
  expect_equal(turned(0, 1), 3.0);
  const Eigen::MatrixXd product = matrix * turned;
  expect_equal(equal(from_eigen(product), matmul(x, x.t())), true);
  auto column = as_eigen_vector<double>(x(Slice(), 1));
  column *= 2;
  expect_equal(x.to_vector<double>(), std::vector<double>{0, 2, 2, 3, 8, 9});
}

TEST("matrices, vectors and expressions of Eigen become tensors") {
  Eigen::Matrix<float, 2, 3> fixed;
  fixed << 1, 2, 3, 4, 5, 6;
  const Tensor x = from_eigen(fixed);
  expect_equal(x.dtype(), Dtype::f32);
  expect_equal(x.shape(), Shape({2, 3}));
  expect_equal(x.to_vector<float>(), std::vector<float>{1, 2, 3, 4, 5, 6});
  expect_equal(from_eigen(fixed.transpose() * 2.0f).to_vector<float>(), std::vector<float>{2, 8, 4, 10, 6, 12});
  const Eigen::VectorXi vector = Eigen::VectorXi::LinSpaced(4, 0, 3);
  expect_equal(from_eigen(vector).shape(), Shape({4}));
  expect_equal(from_eigen(vector).dtype(), Dtype::i32);
  expect_equal(from_eigen(fixed, {.requires_grad = true}).requires_grad(), true);
  expect_equal(from_eigen(Eigen::MatrixXd(0, 3)).shape(), Shape({0, 3}));
}

TEST("tensors of another dtype or number of dimensions are refused") {
  expect_error([] { as_eigen<double>(ones({2, 3})); }, "f32");
  expect_error([] { as_eigen<float>(ones({3})); }, "as_eigen: the tensor has 1 dimensions, not 2");
  expect_error([] { as_eigen_vector<float>(ones({3, 1})); }, "as_eigen_vector: the tensor has 2 dimensions, not 1");
  expect_error([] { as_eigen<float>(Tensor()); }, "as_eigen: the tensor is undefined");
}
