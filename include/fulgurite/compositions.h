#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Functions composed of operators, with the names and arguments of PyTorch's. Traces show their parts; gradients are
// those of the parts.

// Parts and wholes.

/// The columns of a matrix in reverse order; of more dimensions the second one is reversed (torch.fliplr).
Tensor fliplr(const Tensor& input, SourceLocation at = SourceLocation::here());
/// The rows in reverse order (torch.flipud).
Tensor flipud(const Tensor& input, SourceLocation at = SourceLocation::here());
/// Turns k times by 90 degrees, from the first of two dimensions to the second (torch.rot90). Throws UserError unless
/// `dims` are two different dimensions.
Tensor rot90(const Tensor& input, int64_t k = 1, const std::vector<int64_t>& dims = {0, 1},
             SourceLocation at = SourceLocation::here());
/// Views of nearly equal sizes: the first size % sections ones are longer by 1 (torch.tensor_split).
std::vector<Tensor> tensor_split(const Tensor& input, int64_t sections, int64_t dim = 0,
                                 SourceLocation at = SourceLocation::here());
/// Views that end before each index, and the rest; as slices, indices may be negative or beyond the end.
std::vector<Tensor> tensor_split(const Tensor& input, const std::vector<int64_t>& indices, int64_t dim = 0,
                                 SourceLocation at = SourceLocation::here());
/// tensor_split along columns; of a vector along its one dimension (torch.hsplit).
std::vector<Tensor> hsplit(const Tensor& input, int64_t sections, SourceLocation at = SourceLocation::here());
std::vector<Tensor> hsplit(const Tensor& input, const std::vector<int64_t>& indices,
                           SourceLocation at = SourceLocation::here());
/// tensor_split along rows (torch.vsplit).
std::vector<Tensor> vsplit(const Tensor& input, int64_t sections, SourceLocation at = SourceLocation::here());
std::vector<Tensor> vsplit(const Tensor& input, const std::vector<int64_t>& indices,
                           SourceLocation at = SourceLocation::here());
/// The tensor with at least 1, 2 or 3 dimensions; new ones have size 1 and stand where PyTorch's do.
Tensor atleast_1d(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor atleast_2d(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor atleast_3d(const Tensor& input, SourceLocation at = SourceLocation::here());
/// Concatenates along the third dimension (torch.dstack).
Tensor dstack(const std::vector<Tensor>& tensors, SourceLocation at = SourceLocation::here());
/// Concatenates columns; vectors are columns (torch.column_stack).
Tensor column_stack(const std::vector<Tensor>& tensors, SourceLocation at = SourceLocation::here());
/// Views of the tensors in their common shape (torch.broadcast_tensors).
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors, SourceLocation at = SourceLocation::here());
/// A matrix with the tensors, of at most two dimensions, on its diagonal and zeros elsewhere (torch.block_diag).
Tensor block_diag(const std::vector<Tensor>& tensors, SourceLocation at = SourceLocation::here());
/// All combinations of one element of each vector, one in a row (torch.cartesian_prod).
Tensor cartesian_prod(const std::vector<Tensor>& tensors, SourceLocation at = SourceLocation::here());
/// All combinations of r elements of a vector, one in a row (torch.combinations).
Tensor combinations(const Tensor& input, int64_t r = 2, bool with_replacement = false,
                    SourceLocation at = SourceLocation::here());
/// The rows and columns, [2, count], of a lower or an upper triangle (torch.tril_indices, torch.triu_indices).
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, SourceLocation at = SourceLocation::here());
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, SourceLocation at = SourceLocation::here());
/// The input with the elements of `source`, in order, where the mask is true (torch.masked_scatter).
Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source,
                      SourceLocation at = SourceLocation::here());
/// True where an element of `elements` is one of `test_elements` (torch.isin).
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool invert = false,
            SourceLocation at = SourceLocation::here());

// Numbers.

/// Differences of neighbours along a dimension, n times (torch.diff).
Tensor diff(const Tensor& input, int64_t n = 1, int64_t dim = -1, SourceLocation at = SourceLocation::here());
/// The integral by trapezoids, of points at distance dx or at x (torch.trapezoid, torch.cumulative_trapezoid).
Tensor trapezoid(const Tensor& y, double dx = 1, int64_t dim = -1, SourceLocation at = SourceLocation::here());
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1, SourceLocation at = SourceLocation::here());
Tensor cumulative_trapezoid(const Tensor& y, double dx = 1, int64_t dim = -1,
                            SourceLocation at = SourceLocation::here());
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1,
                            SourceLocation at = SourceLocation::here());
/// Covariances of the rows of a matrix, whose columns are observations (torch.cov).
Tensor cov(const Tensor& input, int64_t correction = 1, SourceLocation at = SourceLocation::here());
/// Correlation coefficients of the rows, from -1 to 1 (torch.corrcoef).
Tensor corrcoef(const Tensor& input, SourceLocation at = SourceLocation::here());
/// Powers of a vector's elements, N columns, the highest first unless `increasing` (torch.vander).
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, bool increasing = false,
              SourceLocation at = SourceLocation::here());
/// A square matrix multiplied n times (torch.linalg.matrix_power). Throws UserError for a negative n.
Tensor matrix_power(const Tensor& input, int64_t n, SourceLocation at = SourceLocation::here());
/// Products of vectors of three elements along a dimension (torch.linalg.cross).
Tensor cross(const Tensor& input, const Tensor& other, int64_t dim = -1, SourceLocation at = SourceLocation::here());
/// The norm of order p of input - other (torch.dist).
Tensor dist(const Tensor& input, const Tensor& other, double p = 2, SourceLocation at = SourceLocation::here());
/// Distances of order p between the rows of two batches of matrices, [..., P, R] (torch.cdist).
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2, SourceLocation at = SourceLocation::here());
/// Sums and means of the elements that are not NaN, of all or along dimensions (torch.nansum, torch.nanmean).
Tensor nansum(const Tensor& input, const Dims& dim = {}, bool keepdim = false,
              SourceLocation at = SourceLocation::here());
Tensor nanmean(const Tensor& input, const Dims& dim = {}, bool keepdim = false,
               SourceLocation at = SourceLocation::here());
/// The q-th quantile of all elements or along a dimension; interpolation "linear", "lower", "higher", "nearest" or
/// "midpoint" (torch.quantile). NaN where an element is NaN.
Tensor quantile(const Tensor& input, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear", SourceLocation at = SourceLocation::here());
/// The smallest and the largest element, of all or along a dimension (torch.aminmax).
std::tuple<Tensor, Tensor> aminmax(const Tensor& input, std::optional<int64_t> dim = {}, bool keepdim = false,
                                   SourceLocation at = SourceLocation::here());
/// The sign of each element (torch.sgn), and a power in f64 (torch.float_power).
Tensor sgn(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor float_power(const Operand& input, const Operand& exponent, SourceLocation at = SourceLocation::here());
/// beta input + alpha vec1 vec2^T (torch.addr).
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, double beta = 1, double alpha = 1,
            SourceLocation at = SourceLocation::here());
/// Slices along `dim` whose norm of order p is above maxnorm, scaled down to it (torch.renorm).
Tensor renorm(const Tensor& input, double p, int64_t dim, double maxnorm, SourceLocation at = SourceLocation::here());
/// Rounds to a number of decimal places, before the point if it is negative (torch.round).
Tensor round(const Tensor& input, int64_t decimals, SourceLocation at = SourceLocation::here());
/// The elements in one dimension: a view where the memory allows it (torch.ravel).
Tensor ravel(const Tensor& input, SourceLocation at = SourceLocation::here());
/// input times 2 to the power of other (torch.ldexp).
Tensor ldexp(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());
/// Powers of `base` at evenly spaced exponents (torch.logspace).
Tensor logspace(double start, double end, int64_t steps, double base = 10, const TensorOptions& options = {},
                SourceLocation at = SourceLocation::here());
/// Random integers from low to below high in the shape and dtype of the input (torch.randint_like).
Tensor randint_like(const Tensor& input, int64_t low, int64_t high, SourceLocation at = SourceLocation::here());
Tensor randint_like(const Tensor& input, int64_t high, SourceLocation at = SourceLocation::here());
/// Windows of signals; a periodic one is the first `window_length` elements of one that is longer by 1.
Tensor hann_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {},
                   SourceLocation at = SourceLocation::here());
Tensor hamming_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {},
                      SourceLocation at = SourceLocation::here());
Tensor blackman_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {},
                       SourceLocation at = SourceLocation::here());
Tensor kaiser_window(int64_t window_length, bool periodic = true, double beta = 12, const TensorOptions& options = {},
                     SourceLocation at = SourceLocation::here());
Tensor bartlett_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {},
                       SourceLocation at = SourceLocation::here());

namespace nn {

/// A sample of a relaxed category for each row of logits; `hard` makes it one-hot, with the relaxed one's gradient
/// (torch.nn.functional.gumbel_softmax).
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t dim = -1,
                      SourceLocation at = SourceLocation::here());
/// The norms of order norm_type of windows (torch.nn.functional.lp_pool1d, lp_pool2d).
Tensor lp_pool1d(const Tensor& input, double norm_type, int64_t kernel_size, std::optional<int64_t> stride = {},
                 bool ceil_mode = false, SourceLocation at = SourceLocation::here());
Tensor lp_pool2d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride = {},
                 bool ceil_mode = false, SourceLocation at = SourceLocation::here());
/// Dropout of complete channels of [N, C, …] (torch.nn.functional.dropout1d to dropout3d).
/// alpha_dropout of complete channels (torch.nn.functional.feature_alpha_dropout).
Tensor feature_alpha_dropout(const Tensor& input, double p = 0.5, bool training = false,
                             SourceLocation at = SourceLocation::here());
Tensor feature_dropout(const Tensor& input, double p = 0.5, bool training = true,
                       SourceLocation at = SourceLocation::here());
Tensor dropout1d(const Tensor& input, double p = 0.5, bool training = true, SourceLocation at = SourceLocation::here());
Tensor dropout2d(const Tensor& input, double p = 0.5, bool training = true, SourceLocation at = SourceLocation::here());
Tensor dropout3d(const Tensor& input, double p = 0.5, bool training = true, SourceLocation at = SourceLocation::here());
/// Dropout that keeps the mean and variance of SELU's results (torch.nn.functional.alpha_dropout).
Tensor alpha_dropout(const Tensor& input, double p = 0.5, bool training = false,
                     SourceLocation at = SourceLocation::here());
/// The distances of order p between all pairs of rows, as in the upper triangle (torch.nn.functional.pdist).
Tensor pdist(const Tensor& input, double p = 2, SourceLocation at = SourceLocation::here());

}  // namespace nn
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
