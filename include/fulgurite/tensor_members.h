#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fulgurite/dtype.h>
#include <fulgurite/shape.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor_methods.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

class Generator;
class Index;
class TensorData;
struct TensorOptions;

template <class T, size_t dims>
class TensorAccessor;

namespace detail {
// A default argument of a type that is incomplete here.
const TensorOptions& no_options();
/// A parameter that accepts a bool and nothing that converts to one.
struct Unbiased {
  template <std::same_as<bool> T>
  Unbiased(T value) : value(value) {}
  bool value;
};
}  // namespace detail

/// Members of Tensor by the names that LibTorch has, beside the operators of tensor_methods.h. Those without a comment
/// are the functions of these names with the tensor as the first argument.
struct TensorMembers : TensorMethods {
  // Properties.

  /// The distance in memory of neighbours along `dim`, in elements.
  Int stride(int dim) const;
  /// The distance from the storage's beginning to the first element, in elements. UserError for a value of a trace.
  int64_t storage_offset(SourceLocation at = SourceLocation::here()) const;
  /// Bytes of one element, and of all of them.
  int64_t itemsize() const;
  int64_t element_size() const { return itemsize(); }
  Int nbytes() const;
  /// dtype() and dim() by other names.
  Dtype scalar_type() const;
  int64_t ndimension() const;
  bool is_floating_point() const;
  bool is_signed() const;
  bool is_complex() const { return false; }
  bool is_sparse() const { return false; }
  bool is_cpu() const { return true; }
  bool is_cuda() const { return false; }
  bool is_same_size(const Tensor& other) const;
  /// The dtype and device.
  TensorOptions options() const;
  /// "CPUFloatType"
  std::string toString() const;
  /// Writes the elements and a line end to stdout.
  void print(SourceLocation at = SourceLocation::here()) const;
  /// requires_grad_() by another name.
  Tensor set_requires_grad(bool requires_grad, SourceLocation at = SourceLocation::here()) const;
  /// The elements by their indexes: `x.accessor<float, 2>()[i][j]`. See accessor.h, which fulgurite.h includes.
  template <class T, size_t dims>
  TensorAccessor<T, dims> accessor(SourceLocation at = SourceLocation::here()) const;

  // Conversions and views.

  /// The elements in the dtype of `other`.
  Tensor type_as(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor toType(Dtype dtype, SourceLocation at = SourceLocation::here()) const;
  Tensor cpu() const;
  /// Matrices, also in batches, with rows and columns exchanged; UserError with fewer than two dimensions.
  Tensor mT(SourceLocation at = SourceLocation::here()) const;
  /// The dimensions in reverse order.
  Tensor T(SourceLocation at = SourceLocation::here()) const;
  /// The elements in one dimension: a view where the memory allows it.
  Tensor ravel(SourceLocation at = SourceLocation::here()) const;
  /// A copy of narrow().
  Tensor narrow_copy(Int dim, Int start, Int length, SourceLocation at = SourceLocation::here()) const;
  /// The sum over the dimensions that broadcasting from `size` added or widened.
  Tensor sum_to_size(const Dims& size, SourceLocation at = SourceLocation::here()) const;
  /// x(…, start:end:step, …) at `dim`.
  Tensor slice(int64_t dim = 0, std::optional<Int> start = {}, std::optional<Int> end = {}, Int step = 1,
               SourceLocation at = SourceLocation::here()) const;
  /// x(indices…): `x.index({0, Slice(1, None), mask})`.
  Tensor index(std::initializer_list<Index> indices, SourceLocation at = SourceLocation::here()) const;
  /// x(indices…) = value. With `accumulate`, elements that are indexed several times sum all their values.
  Tensor index_put_(std::initializer_list<Index> indices, const Tensor& value, bool accumulate = false,
                    SourceLocation at = SourceLocation::here()) const;
  Tensor index_put_(std::initializer_list<Index> indices, const Operand& value,
                    SourceLocation at = SourceLocation::here()) const;
  using TensorMethods::index_put_;

  // Tensors of this one's dtype and device, unless the options have others.

  Tensor new_empty(const Dims& size, const TensorOptions& options = detail::no_options(),
                   SourceLocation at = SourceLocation::here()) const;
  Tensor new_zeros(const Dims& size, const TensorOptions& options = detail::no_options(),
                   SourceLocation at = SourceLocation::here()) const;
  Tensor new_ones(const Dims& size, const TensorOptions& options = detail::no_options(),
                  SourceLocation at = SourceLocation::here()) const;
  Tensor new_full(const Dims& size, const Operand& value, const TensorOptions& options = detail::no_options(),
                  SourceLocation at = SourceLocation::here()) const;
  Tensor new_tensor(const TensorData& data, const TensorOptions& options = detail::no_options(),
                    SourceLocation at = SourceLocation::here()) const;

  // Changes of this tensor itself, which all its handles see. They act eagerly on tensors that do not require a
  // gradient; for others, and in a traced function, UserError says to assign: x = x.unsqueeze(0).

  Tensor squeeze_(const Dims& dim = {}, SourceLocation at = SourceLocation::here()) const;
  Tensor unsqueeze_(Int dim, SourceLocation at = SourceLocation::here()) const;
  Tensor transpose_(Int dim0, Int dim1, SourceLocation at = SourceLocation::here()) const;
  Tensor swapaxes_(Int dim0, Int dim1, SourceLocation at = SourceLocation::here()) const;
  Tensor t_(SourceLocation at = SourceLocation::here()) const;
  /// The first elements in memory with these sizes; more elements than there are get new, uninitialised memory, which
  /// earlier views do not share.
  Tensor resize_(const Dims& size, SourceLocation at = SourceLocation::here()) const;
  Tensor resize_as_(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  /// Forgets the history: the tensor becomes a leaf that does not require a gradient. UserError for a view, and in a
  /// traced function.
  Tensor detach_(SourceLocation at = SourceLocation::here()) const;

  using TensorMethods::view;
  /// The same bytes as elements of another dtype. Of an element of another size the last dimension, which must be
  /// contiguous, becomes longer or shorter. It carries no gradient. UserError for sizes and strides that do not fit,
  /// and for bool. In a traced function it demands the elements; from `jit` it is a graph break.
  Tensor view(Dtype dtype, SourceLocation at = SourceLocation::here()) const;

  // Comparisons and selections.

  bool equal(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  bool allclose(const Tensor& other, Float rtol = 1e-05, Float atol = 1e-08, bool equal_nan = false,
                SourceLocation at = SourceLocation::here()) const;
  /// The elements of this tensor where the condition holds, else those of `other`.
  Tensor where(const Tensor& condition, const Operand& other, SourceLocation at = SourceLocation::here()) const;
  Tensor nonzero(SourceLocation at = SourceLocation::here()) const;
  Tensor argwhere(SourceLocation at = SourceLocation::here()) const;
  Tensor masked_select(const Tensor& mask, SourceLocation at = SourceLocation::here()) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source, SourceLocation at = SourceLocation::here()) const;
  /// masked_scatter written into this tensor.
  Tensor masked_scatter_(const Tensor& mask, const Tensor& source, SourceLocation at = SourceLocation::here()) const;
  /// Transposes of the last two dimensions.
  Tensor adjoint(SourceLocation at = SourceLocation::here()) const;
  /// Returns true for one element that is not 0. UserError for several or none.
  bool is_nonzero(SourceLocation at = SourceLocation::here()) const;
  Tensor as_strided(const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset = {},
                    SourceLocation at = SourceLocation::here()) const;
  Tensor diagflat(int64_t offset = 0, SourceLocation at = SourceLocation::here()) const;
  Tensor diagonal_scatter(const Tensor& source, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1,
                          SourceLocation at = SourceLocation::here()) const;
  Tensor gcd(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  /// Names ending in _ write the result into this tensor.
  Tensor gcd_(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor lcm(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor lcm_(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor ldexp_(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor nextafter(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor nextafter_(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor logaddexp2(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor vdot(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor mvlgamma(int64_t p, SourceLocation at = SourceLocation::here()) const;
  Tensor polygamma(Int n, SourceLocation at = SourceLocation::here()) const;
  Tensor isneginf(SourceLocation at = SourceLocation::here()) const;
  Tensor isposinf(SourceLocation at = SourceLocation::here()) const;
  Tensor isreal(SourceLocation at = SourceLocation::here()) const;
  Tensor positive(SourceLocation at = SourceLocation::here()) const;
  Tensor sgn_(SourceLocation at = SourceLocation::here()) const;
  Tensor renorm_(double p, int64_t dim, double maxnorm, SourceLocation at = SourceLocation::here()) const;
  Tensor index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true, SourceLocation at = SourceLocation::here()) const;
  Tensor index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                       bool include_self = true, SourceLocation at = SourceLocation::here()) const;
  Tensor addr_(const Tensor& vec1, const Tensor& vec2, double beta = 1, double alpha = 1,
               SourceLocation at = SourceLocation::here()) const;
  Tensor nanquantile(double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                     SourceLocation at = SourceLocation::here()) const;
  std::tuple<Tensor, Tensor> frexp(SourceLocation at = SourceLocation::here()) const;
  std::tuple<Tensor, Tensor, Tensor> unique(bool sorted = true, bool return_inverse = true, bool return_counts = true,
                                            std::optional<int64_t> dim = {},
                                            SourceLocation at = SourceLocation::here()) const;
  std::tuple<Tensor, Tensor, Tensor> unique_consecutive(bool return_inverse = true, bool return_counts = true,
                                                        std::optional<int64_t> dim = {},
                                                        SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> hsplit(int64_t sections, SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> hsplit(const std::vector<int64_t>& indices, SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> vsplit(int64_t sections, SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> vsplit(const std::vector<int64_t>& indices, SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> dsplit(int64_t sections, SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> dsplit(const std::vector<int64_t>& indices, SourceLocation at = SourceLocation::here()) const;
  Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false,
             SourceLocation at = SourceLocation::here()) const;
  /// put written into this tensor.
  Tensor put_(const Tensor& index, const Tensor& source, bool accumulate = false,
              SourceLocation at = SourceLocation::here()) const;
  Tensor bincount(const Tensor& weights = detail::no_tensor(), int64_t minlength = 0,
                  SourceLocation at = SourceLocation::here()) const;
  Tensor histc(int64_t bins = 100, double min = 0, double max = 0, SourceLocation at = SourceLocation::here()) const;

  // Compositions of operators.

  /// With a bool before `keepdim`: true divides by the number of elements less one, false by their number.
  Tensor var(const Dims& dim, detail::Unbiased unbiased, bool keepdim = false,
             SourceLocation at = SourceLocation::here()) const;
  Tensor var(detail::Unbiased unbiased, SourceLocation at = SourceLocation::here()) const;
  using TensorMethods::var;
  Tensor std(const Dims& dim, detail::Unbiased unbiased, bool keepdim = false,
             SourceLocation at = SourceLocation::here()) const;
  Tensor std(detail::Unbiased unbiased, SourceLocation at = SourceLocation::here()) const;
  using TensorMethods::std;
  /// Rounds to a number of decimal places, before the point if it is negative.
  Tensor round(int64_t decimals, SourceLocation at = SourceLocation::here()) const;
  using TensorMethods::round;
  std::tuple<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false,
                                  SourceLocation at = SourceLocation::here()) const;
  std::tuple<Tensor, Tensor> aminmax(std::optional<int64_t> dim = {}, bool keepdim = false,
                                     SourceLocation at = SourceLocation::here()) const;
  Tensor sgn(SourceLocation at = SourceLocation::here()) const;
  Tensor float_power(const Operand& exponent, SourceLocation at = SourceLocation::here()) const;
  Tensor ldexp(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor renorm(double p, int64_t dim, double maxnorm, SourceLocation at = SourceLocation::here()) const;
  Tensor addr(const Tensor& vec1, const Tensor& vec2, double beta = 1, double alpha = 1,
              SourceLocation at = SourceLocation::here()) const;
  /// Writes the value into the diagonal of a matrix, or of a tensor of equal sizes; with `wrap` again below it in a
  /// tall matrix.
  Tensor fill_diagonal_(const Operand& value, bool wrap = false, SourceLocation at = SourceLocation::here()) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1, SourceLocation at = SourceLocation::here()) const;
  Tensor dist(const Tensor& other, double p = 2, SourceLocation at = SourceLocation::here()) const;
  Tensor cross(const Tensor& other, int64_t dim = -1, SourceLocation at = SourceLocation::here()) const;
  Tensor cov(int64_t correction = 1, SourceLocation at = SourceLocation::here()) const;
  Tensor corrcoef(SourceLocation at = SourceLocation::here()) const;
  Tensor nansum(const Dims& dim = {}, bool keepdim = false, SourceLocation at = SourceLocation::here()) const;
  Tensor nanmean(const Dims& dim = {}, bool keepdim = false, SourceLocation at = SourceLocation::here()) const;
  Tensor quantile(double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                  std::string_view interpolation = "linear", SourceLocation at = SourceLocation::here()) const;
  Tensor matrix_power(int64_t n, SourceLocation at = SourceLocation::here()) const;
  Tensor inverse(SourceLocation at = SourceLocation::here()) const;
  Tensor pinverse(SourceLocation at = SourceLocation::here()) const;
  Tensor logdet(SourceLocation at = SourceLocation::here()) const;
  Tensor matrix_exp(SourceLocation at = SourceLocation::here()) const;
  Tensor fliplr(SourceLocation at = SourceLocation::here()) const;
  Tensor flipud(SourceLocation at = SourceLocation::here()) const;
  Tensor rot90(int64_t k = 1, const std::vector<int64_t>& dims = {0, 1},
               SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0, SourceLocation at = SourceLocation::here()) const;
  std::vector<Tensor> tensor_split(const std::vector<int64_t>& indices, int64_t dim = 0,
                                   SourceLocation at = SourceLocation::here()) const;

  // Draws, from the generator that manual_seed() seeds or from another one.

  Tensor normal_(double mean = 0, double std = 1, SourceLocation at = SourceLocation::here()) const;
  Tensor normal_(double mean, double std, const Generator& generator, SourceLocation at = SourceLocation::here()) const;
  Tensor uniform_(double from = 0, double to = 1, SourceLocation at = SourceLocation::here()) const;
  Tensor uniform_(double from, double to, const Generator& generator, SourceLocation at = SourceLocation::here()) const;
  Tensor exponential_(double lambd = 1, SourceLocation at = SourceLocation::here()) const;
  Tensor log_normal_(double mean = 1, double std = 2, SourceLocation at = SourceLocation::here()) const;
  Tensor cauchy_(double median = 0, double sigma = 1, SourceLocation at = SourceLocation::here()) const;
  Tensor geometric_(double p, SourceLocation at = SourceLocation::here()) const;
  Tensor bernoulli_(double p = 0.5, SourceLocation at = SourceLocation::here()) const;
  Tensor bernoulli_(const Tensor& p, SourceLocation at = SourceLocation::here()) const;
  Tensor bernoulli(SourceLocation at = SourceLocation::here()) const;
  Tensor random_(int64_t from, int64_t to, SourceLocation at = SourceLocation::here()) const;
  Tensor random_(int64_t to, SourceLocation at = SourceLocation::here()) const;
  Tensor random_(SourceLocation at = SourceLocation::here()) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false, SourceLocation at = SourceLocation::here()) const;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
