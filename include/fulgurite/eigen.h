#pragma once
// Tensors as matrices of Eigen without a copy, and Eigen's as tensors. The header is not part of fulgurite.h: it needs
// Eigen 3.3 or later (Debian: libeigen3-dev).
#include <fulgurite/detail/requirements.h>

#if !__has_include(<Eigen/Core>)
#error \
    "fulgurite/eigen.h needs <Eigen/Core>: install Eigen (Debian: libeigen3-dev) and add its folder to the include path"
#endif
#include <Eigen/Core>

#include <cstdint>
#include <string>
#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/memory.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// A matrix of Eigen in a tensor's memory: rows and columns have the strides of the tensor.
template <class T>
using EigenMatrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                               Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
/// A vector of Eigen in a tensor's memory.
template <class T>
using EigenVector =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>, Eigen::Unaligned, Eigen::InnerStride<Eigen::Dynamic>>;

namespace detail {
inline void check_eigen(const Tensor& tensor, int64_t dims, const char* function, SourceLocation at) {
  if (!tensor.defined()) throw UserError(std::string(function) + ": the tensor is undefined", at);
  if (tensor.ndim() != dims)
    throw UserError(std::string(function) + ": the tensor has " + std::to_string(tensor.ndim()) + " dimensions, not " +
                        std::to_string(dims),
                    at);
}
}  // namespace detail

/// `as_eigen<float>(x)`: a tensor of two dimensions as a matrix; valid while the tensor is, and writes through it are
/// not recorded. UserError on another dtype or number of dimensions.
template <class T>
EigenMatrix<T> as_eigen(const Tensor& tensor, SourceLocation at = SourceLocation::here()) {
  detail::check_eigen(tensor, 2, "as_eigen", at);
  T* const first = tensor.data<T>(at);
  const std::vector<Int> strides = tensor.strides();
  const int64_t row = strides[0], column = strides[1];
  return EigenMatrix<T>(first, tensor.size(0), tensor.size(1), {row, column});
}
/// The same of one dimension.
template <class T>
EigenVector<T> as_eigen_vector(const Tensor& tensor, SourceLocation at = SourceLocation::here()) {
  detail::check_eigen(tensor, 1, "as_eigen_vector", at);
  T* const first = tensor.data<T>(at);
  const int64_t step = tensor.strides()[0];
  return EigenVector<T>(first, tensor.size(0), Eigen::InnerStride<Eigen::Dynamic>(step));
}

/// A copy of a matrix or expression of Eigen as a tensor [rows, columns], of a vector as [elements].
template <class Derived>
Tensor from_eigen(const Eigen::DenseBase<Derived>& given, const TensorOptions& options = {},
                  SourceLocation at = SourceLocation::here()) {
  using T = typename Derived::Scalar;
  const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = given.derived().array();
  const auto count = static_cast<size_t>(rows.size());
  const Shape shape = Derived::IsVectorAtCompileTime ? Shape{rows.size()} : Shape{rows.rows(), rows.cols()};
  return tensor(std::span<const T>(rows.data(), count), shape, options, at);
}

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
