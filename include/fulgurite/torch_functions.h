#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include <fulgurite/compositions.h>
#include <fulgurite/linalg.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Further functions of torch, as compositions of operators.

/// Copies of views (torch.diagonal_copy …): their memory is their own.
Tensor alias_copy(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor diagonal_copy(const Tensor& input, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1,
                     SourceLocation at = SourceLocation::here());
Tensor expand_copy(const Tensor& input, const Dims& size, SourceLocation at = SourceLocation::here());
Tensor narrow_copy(const Tensor& input, int64_t dim, int64_t start, int64_t length,
                   SourceLocation at = SourceLocation::here());
Tensor permute_copy(const Tensor& input, const Dims& dims, SourceLocation at = SourceLocation::here());
Tensor select_copy(const Tensor& input, int64_t dim, int64_t index, SourceLocation at = SourceLocation::here());
Tensor squeeze_copy(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor squeeze_copy(const Tensor& input, int64_t dim, SourceLocation at = SourceLocation::here());
Tensor t_copy(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor transpose_copy(const Tensor& input, int64_t dim0, int64_t dim1, SourceLocation at = SourceLocation::here());
Tensor unfold_copy(const Tensor& input, int64_t dimension, int64_t size, int64_t step,
                   SourceLocation at = SourceLocation::here());
Tensor unsqueeze_copy(const Tensor& input, int64_t dim, SourceLocation at = SourceLocation::here());
Tensor view_copy(const Tensor& input, const Dims& size, SourceLocation at = SourceLocation::here());
std::vector<Tensor> split_copy(const Tensor& input, int64_t size, int64_t dim = 0,
                               SourceLocation at = SourceLocation::here());
std::vector<Tensor> split_with_sizes_copy(const Tensor& input, const std::vector<int64_t>& sizes, int64_t dim = 0,
                                          SourceLocation at = SourceLocation::here());
std::vector<Tensor> unbind_copy(const Tensor& input, int64_t dim = 0, SourceLocation at = SourceLocation::here());

/// x.view(dtype).
Tensor view(const Tensor& input, Dtype dtype, SourceLocation at = SourceLocation::here());
/// The diagonal replaced by `source` (torch.diagonal_scatter).
Tensor diagonal_scatter(const Tensor& input, const Tensor& source, int64_t offset = 0, int64_t dim1 = 0,
                        int64_t dim2 = 1, SourceLocation at = SourceLocation::here());
/// A view with any sizes and strides of the memory that the tensor is in, from its element `storage_offset` on; without
/// one, from the tensor's first element. Elements may be seen several times: their gradients are summed. The tensor may
/// be transposed; one with gaps or repeated elements is read from the tensor that it is a view of, without a gradient.
/// UserError for a view that ends outside (torch.as_strided).
Tensor as_strided(const Tensor& input, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset = {},
                  SourceLocation at = SourceLocation::here());
/// The same as a copy (torch.as_strided_copy).
Tensor as_strided_copy(const Tensor& input, const Dims& size, const Dims& stride,
                       std::optional<int64_t> storage_offset = {}, SourceLocation at = SourceLocation::here());
/// A copy whose elements at such a view, which has the shape of `source`, are those of `source`. UserError for a view
/// that has an element twice (torch.as_strided_scatter).
Tensor as_strided_scatter(const Tensor& input, const Tensor& source, const Dims& size, const Dims& stride,
                          std::optional<int64_t> storage_offset = {}, SourceLocation at = SourceLocation::here());
/// A matrix with the elements on a diagonal (torch.diagflat).
Tensor diagflat(const Tensor& input, int64_t offset = 0, SourceLocation at = SourceLocation::here());
/// tensor_split along the third dimension (torch.dsplit).
std::vector<Tensor> dsplit(const Tensor& input, int64_t sections, SourceLocation at = SourceLocation::here());
std::vector<Tensor> dsplit(const Tensor& input, const std::vector<int64_t>& indices,
                           SourceLocation at = SourceLocation::here());
/// chunk and split by their names for programs that write into the parts (torch.unsafe_chunk, unsafe_split).
std::vector<Tensor> unsafe_chunk(const Tensor& input, int64_t chunks, int64_t dim = 0,
                                 SourceLocation at = SourceLocation::here());
std::vector<Tensor> unsafe_split(const Tensor& input, int64_t size, int64_t dim = 0,
                                 SourceLocation at = SourceLocation::here());
/// Uninitialised elements whose memory has the dimensions in this order (torch.empty_permuted).
Tensor empty_permuted(const Dims& size, const Dims& physical_layout, const TensorOptions& options = {},
                      SourceLocation at = SourceLocation::here());
/// A tensor with each element equal to the value (torch.fill).
Tensor fill(const Tensor& input, const Operand& value, SourceLocation at = SourceLocation::here());

/// trapezoid by its older name (torch.trapz).
Tensor trapz(const Tensor& y, const Tensor& x = {}, int64_t dim = -1, SourceLocation at = SourceLocation::here());
/// The inner product of two vectors (torch.vdot).
Tensor vdot(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());
/// other - alpha input (torch.rsub).
Tensor rsub(const Tensor& input, const Operand& other, double alpha = 1, SourceLocation at = SourceLocation::here());
/// The tensor itself; UserError for booleans (torch.positive).
Tensor positive(const Tensor& input, SourceLocation at = SourceLocation::here());
/// Tests of each element (torch.isneginf, isposinf, isreal).
Tensor isneginf(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor isposinf(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor isreal(const Tensor& input, SourceLocation at = SourceLocation::here());
/// All tensors are real: these return the tensor itself, and angle pi where an element is negative (torch.conj, real,
/// angle).
Tensor conj(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor conj_physical(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor resolve_conj(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor resolve_neg(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor real(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor angle(const Tensor& input, SourceLocation at = SourceLocation::here());
/// The number of the common dtype that follows `input` in the direction of `other`; `other` where both are equal, NaN
/// where one is. The gradient of `input` is that of the result where they differ and `input` is finite, else 0.
/// UserError for integers (torch.nextafter).
Tensor nextafter(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());
/// quantile of the elements that are not NaN (torch.nanquantile).
Tensor nanquantile(const Tensor& input, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   SourceLocation at = SourceLocation::here());
/// The places of flat indices in a tensor of this shape, one tensor for each dimension (torch.unravel_index).
std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape, SourceLocation at = SourceLocation::here());
/// The first `size` rows of nonzero(), filled up with fill_value (torch.nonzero_static).
Tensor nonzero_static(const Tensor& input, int64_t size, int64_t fill_value = -1,
                      SourceLocation at = SourceLocation::here());
/// Writes rows at the indices of a dimension, combined with what is there by "prod", "mean", "amax" or "amin"
/// (torch.index_reduce).
Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self = true, SourceLocation at = SourceLocation::here());

/// X with A X = B for triangular A, and A (torch.triangular_solve).
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& A, bool upper = true, bool transpose = false,
                                            bool unitriangular = false, SourceLocation at = SourceLocation::here());
/// The q largest singular values and vectors of A, exact; of A without its columns' means for pca_lowrank
/// (torch.svd_lowrank, pca_lowrank).
std::tuple<Tensor, Tensor, Tensor> svd_lowrank(const Tensor& A, int64_t q = 6,
                                               SourceLocation at = SourceLocation::here());
std::tuple<Tensor, Tensor, Tensor> pca_lowrank(const Tensor& A, std::optional<int64_t> q = {}, bool center = true,
                                               SourceLocation at = SourceLocation::here());

namespace linalg {
/// The X for which tensordot(A, X, X.ndim()) is B, and the inverse of A as a map of tensors (torch.linalg.tensorsolve,
/// tensorinv).
Tensor tensorsolve(const Tensor& A, const Tensor& B, SourceLocation at = SourceLocation::here());
Tensor tensorinv(const Tensor& A, int64_t ind = 2, SourceLocation at = SourceLocation::here());
}  // namespace linalg

namespace nn {
/// interpolate by its older names (torch.nn.functional.upsample_nearest, upsample_bilinear).
Tensor upsample_nearest(const Tensor& input, const Dims& size = {}, const Numbers& scale_factor = {},
                        SourceLocation at = SourceLocation::here());
Tensor upsample_bilinear(const Tensor& input, const Dims& size = {}, const Numbers& scale_factor = {},
                         SourceLocation at = SourceLocation::here());
}  // namespace nn

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
