#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Linear algebra beside the operators linalg::solve, inv, det, slogdet, cholesky, qr, eigh, svd and pinv: compositions
// of them, on batches of matrices [..., rows, columns] of f32 or f64, with gradients of all orders.
namespace linalg {

/// The norm of matrices along two dimensions: order 1, -1, infinity, -infinity (sums of magnitudes in columns or rows),
/// 2 or -2 (singular values), "fro" (the root of the sum of squares) or "nuc" (the sum of singular values). UserError
/// for another order. (torch.linalg.matrix_norm)
Tensor matrix_norm(const Tensor& A, std::string_view ord = "fro", const Dims& dim = {-2, -1}, bool keepdim = false,
                   SourceLocation at = SourceLocation::here());
Tensor matrix_norm(const Tensor& A, double ord, const Dims& dim = {-2, -1}, bool keepdim = false,
                   SourceLocation at = SourceLocation::here());
/// The root of the sum of all squares; of an order, the norm of a vector or of matrices, along one or two dimensions.
/// (torch.linalg.norm)
Tensor norm(const Tensor& A, SourceLocation at = SourceLocation::here());
Tensor norm(const Tensor& A, double ord, const Dims& dim = {}, bool keepdim = false,
            SourceLocation at = SourceLocation::here());
Tensor norm(const Tensor& A, std::string_view ord, const Dims& dim = {}, bool keepdim = false,
            SourceLocation at = SourceLocation::here());

/// The eigenvalues of symmetric matrices in ascending order. (torch.linalg.eigvalsh)
Tensor eigvalsh(const Tensor& A, std::string_view UPLO = "L", SourceLocation at = SourceLocation::here());
/// The singular values in descending order. (torch.linalg.svdvals)
Tensor svdvals(const Tensor& A, SourceLocation at = SourceLocation::here());
/// The ratio of the largest and the smallest singular value, or the product of the norms of order p of square matrices
/// and their inverses. (torch.linalg.cond)
Tensor cond(const Tensor& A, SourceLocation at = SourceLocation::here());
Tensor cond(const Tensor& A, double p, SourceLocation at = SourceLocation::here());
/// The number of singular values above a tolerance, max(rows, columns) times the dtype's precision times the largest
/// one unless `tol` is given: i64. (torch.linalg.matrix_rank)
Tensor matrix_rank(const Tensor& A, std::optional<double> tol = {}, SourceLocation at = SourceLocation::here());

/// The X of smallest norm among those for which A X is nearest to B, for A of any rank. (torch.linalg.lstsq, its
/// solution)
Tensor lstsq(const Tensor& A, const Tensor& B, SourceLocation at = SourceLocation::here());
/// A square matrix multiplied n times, or its inverse -n times. (torch.linalg.matrix_power)
Tensor matrix_power(const Tensor& A, int64_t n, SourceLocation at = SourceLocation::here());
/// The exponential of square matrices, by scaling, squaring and Padé's approximant. The number of squarings depends on
/// the elements: causes a graph break while tracing. (torch.linalg.matrix_exp)
Tensor matrix_exp(const Tensor& A, SourceLocation at = SourceLocation::here());
/// Products of vectors of three elements along a dimension. (torch.linalg.cross)
Tensor cross(const Tensor& input, const Tensor& other, int64_t dim = -1, SourceLocation at = SourceLocation::here());
/// Inner products along a dimension. (torch.linalg.vecdot)
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1, SourceLocation at = SourceLocation::here());

}  // namespace linalg

// The functions of these names in torch.

/// The logarithms of determinants; NaN where one is negative. (torch.logdet)
Tensor logdet(const Tensor& A, SourceLocation at = SourceLocation::here());
/// X with A X = B, of A's Cholesky factor. (torch.cholesky_solve)
Tensor cholesky_solve(const Tensor& B, const Tensor& L, bool upper = false, SourceLocation at = SourceLocation::here());
/// The inverse of A, of A's Cholesky factor. (torch.cholesky_inverse)
Tensor cholesky_inverse(const Tensor& L, bool upper = false, SourceLocation at = SourceLocation::here());
Tensor inverse(const Tensor& A, SourceLocation at = SourceLocation::here());
Tensor det(const Tensor& A, SourceLocation at = SourceLocation::here());
Tensor matrix_exp(const Tensor& A, SourceLocation at = SourceLocation::here());
Tensor pinverse(const Tensor& A, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
