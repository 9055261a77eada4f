// Further functions of torch, as compositions of operators.
#include <fulgurite/torch_functions.h>

#include <numbers>

#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>
#include <fulgurite/libtorch_names.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

const Tensor& defined(const Tensor& x, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
  return x;
}
std::vector<Tensor> copies(std::vector<Tensor> parts, SourceLocation at) {
  for (Tensor& part : parts) part = part.clone(at);
  return parts;
}
int64_t wrapped(int64_t dim, const Tensor& x, const char* name, SourceLocation at) {
  const int64_t count = x.ndim(), out = dim < 0 ? dim + count : dim;
  if (out < 0 || out >= count)
    throw UserError(text::cat(name, ": the dimension ", dim, " is out of range for ", type_text(x)), at);
  return out;
}

}  // namespace

Tensor alias_copy(const Tensor& input, SourceLocation at) { return defined(input, "alias_copy", at).clone(at); }
Tensor diagonal_copy(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2, SourceLocation at) {
  return diagonal(input, offset, dim1, dim2, at).clone(at);
}
Tensor expand_copy(const Tensor& input, const Dims& size, SourceLocation at) {
  return expand(input, size, at).contiguous(at).clone(at);
}
Tensor narrow_copy(const Tensor& input, int64_t dim, int64_t start, int64_t length, SourceLocation at) {
  return narrow(input, dim, start, length, at).clone(at);
}
Tensor permute_copy(const Tensor& input, const Dims& dims, SourceLocation at) {
  return permute(input, dims, at).clone(at);
}
Tensor select_copy(const Tensor& input, int64_t dim, int64_t index, SourceLocation at) {
  return select(input, dim, index, at).clone(at);
}
Tensor squeeze_copy(const Tensor& input, SourceLocation at) { return squeeze(input, {}, at).clone(at); }
Tensor squeeze_copy(const Tensor& input, int64_t dim, SourceLocation at) { return squeeze(input, {dim}, at).clone(at); }
Tensor t_copy(const Tensor& input, SourceLocation at) { return t(input, at).clone(at); }
Tensor transpose_copy(const Tensor& input, int64_t dim0, int64_t dim1, SourceLocation at) {
  return transpose(input, dim0, dim1, at).clone(at);
}
Tensor unfold_copy(const Tensor& input, int64_t dimension, int64_t size, int64_t step, SourceLocation at) {
  return defined(input, "unfold_copy", at).unfold(dimension, size, step, at).contiguous(at).clone(at);
}
Tensor unsqueeze_copy(const Tensor& input, int64_t dim, SourceLocation at) {
  return unsqueeze(input, dim, at).clone(at);
}
Tensor view_copy(const Tensor& input, const Dims& size, SourceLocation at) {
  return reshape(input, size, at).clone(at);
}
std::vector<Tensor> split_copy(const Tensor& input, int64_t size, int64_t dim, SourceLocation at) {
  return copies(split(input, size, dim, at), at);
}
std::vector<Tensor> split_with_sizes_copy(const Tensor& input, const std::vector<int64_t>& sizes, int64_t dim,
                                          SourceLocation at) {
  return copies(split(input, Dims(sizes), dim, at), at);
}
std::vector<Tensor> unbind_copy(const Tensor& input, int64_t dim, SourceLocation at) {
  return copies(unbind(input, dim, at), at);
}

Tensor diagonal_scatter(const Tensor& input, const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2,
                        SourceLocation at) {
  defined(source, "diagonal_scatter", at);
  const Tensor places =
      reshape(arange(defined(input, "diagonal_scatter", at).numel(), {}, at), Dims(input.shape()), at);
  const Tensor chosen = diagonal(places, offset, dim1, dim2, at);
  if (!(chosen.shape() == source.shape()))
    throw UserError(text::cat("diagonal_scatter: the source has the shape of the diagonal, ", chosen.shape().text(),
                              ", not ", source.shape().text()),
                    at);
  const Tensor flat = reshape(input, {-1}, at), index = reshape(chosen, {-1}, at);
  const Tensor written = scatter(flat, 0, index, reshape(source, {-1}, at), at);
  return reshape(written, Dims(input.shape()), at);
}
Tensor diagflat(const Tensor& input, int64_t offset, SourceLocation at) {
  return diag_embed(reshape(input, {-1}, at), offset, -2, -1, at);
}

namespace {

void check_depth(const Tensor& input, SourceLocation at) {
  if (defined(input, "dsplit", at).ndim() < 3)
    throw UserError(text::cat("dsplit: the input has at least 3 dimensions, not ", type_text(input)), at);
}

}  // namespace

std::vector<Tensor> dsplit(const Tensor& input, int64_t sections, SourceLocation at) {
  check_depth(input, at);
  return tensor_split(input, sections, 2, at);
}
std::vector<Tensor> dsplit(const Tensor& input, const std::vector<int64_t>& indices, SourceLocation at) {
  check_depth(input, at);
  return tensor_split(input, indices, 2, at);
}
std::vector<Tensor> unsafe_chunk(const Tensor& input, int64_t chunks, int64_t dim, SourceLocation at) {
  return chunk(input, chunks, dim, at);
}
std::vector<Tensor> unsafe_split(const Tensor& input, int64_t size, int64_t dim, SourceLocation at) {
  return split(input, size, dim, at);
}

Tensor empty_permuted(const Dims& size, const Dims& physical_layout, const TensorOptions& options, SourceLocation at) {
  if (size.size() != physical_layout.size())
    throw UserError(
        text::cat("empty_permuted: ", physical_layout.text(), " is no order of the dimensions of ", size.text()), at);
  Shape sizes, back;
  back.resize(size.size(), -1);
  for (size_t i = 0; i < physical_layout.size(); ++i) {
    const int64_t dim = physical_layout[i];
    if (dim < 0 || dim >= static_cast<int64_t>(size.size()) || back[static_cast<size_t>(dim)] != -1)
      throw UserError(
          text::cat("empty_permuted: ", physical_layout.text(), " is no order of the dimensions of ", size.text()), at);
    sizes.push_back(size[static_cast<size_t>(dim)]);
    back[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
  }
  return permute(empty(Dims(sizes), options, at), Dims(back), at);
}
Tensor fill(const Tensor& input, const Operand& value, SourceLocation at) { return full_like(input, value, {}, at); }

Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim, SourceLocation at) {
  return x.defined() ? trapezoid(y, x, dim, at) : trapezoid(y, 1.0, dim, at);
}
Tensor vdot(const Tensor& input, const Tensor& other, SourceLocation at) { return dot(input, other, at); }
Tensor rsub(const Tensor& input, const Operand& other, double alpha, SourceLocation at) {
  return sub(other, input, alpha, at);
}
Tensor positive(const Tensor& input, SourceLocation at) {
  if (is_boolean(defined(input, "positive", at).dtype())) throw UserError("positive: a boolean tensor has no sign", at);
  return input;
}
Tensor isneginf(const Tensor& input, SourceLocation at) { return logical_and(isinf(input, at), lt(input, 0, at), at); }
Tensor isposinf(const Tensor& input, SourceLocation at) { return logical_and(isinf(input, at), gt(input, 0, at), at); }
Tensor isreal(const Tensor& input, SourceLocation at) { return ones_like(input, {.dtype = Dtype::boolean}, at); }
Tensor conj(const Tensor& input, SourceLocation at) { return defined(input, "conj", at); }
Tensor conj_physical(const Tensor& input, SourceLocation at) { return defined(input, "conj_physical", at); }
Tensor resolve_conj(const Tensor& input, SourceLocation at) { return defined(input, "resolve_conj", at); }
Tensor resolve_neg(const Tensor& input, SourceLocation at) { return defined(input, "resolve_neg", at); }
Tensor real(const Tensor& input, SourceLocation at) { return defined(input, "real", at); }
Tensor angle(const Tensor& input, SourceLocation at) {
  const Tensor x = is_floating(defined(input, "angle", at).dtype()) ? input : input.to(default_dtype(), at);
  const Tensor turned = mul(lt(x, 0, at).to(x.dtype(), at), std::numbers::pi, at);
  return where(isnan(x, at), x, turned, at);
}

// NaN is sorted behind all numbers: the quantile is among the first ones.
Tensor nanquantile(const Tensor& input, double q, std::optional<int64_t> dim, bool keepdim, SourceLocation at) {
  if (!is_floating(defined(input, "nanquantile", at).dtype()))
    throw UserError(text::cat("nanquantile: the input is floating, not ", type_text(input)), at);
  if (!(q >= 0 && q <= 1)) throw UserError(text::cat("nanquantile: q must be from 0 to 1, not ", q), at);
  const Tensor rows = dim ? input : reshape(input, {-1}, at);
  const int64_t along = dim ? wrapped(*dim, input, "nanquantile", at) : 0;
  const Tensor sorted = std::get<0>(sort(rows, along, false, false, at));
  const Tensor count = sum(logical_not(isnan(rows, at), at), {along}, true, Dtype::i64, at);
  const Tensor last = clamp_min(sub(count, 1, 1, at), 0, at);
  const Tensor place = mul(last.to(input.dtype(), at), q, at);
  const Tensor low = floor(place, at), share = sub(place, low, 1, at);
  const Tensor low_index = low.to(Dtype::i64, at);
  const Tensor first = gather(sorted, along, low_index, at);
  const Tensor high_index = minimum(add(low_index, 1, 1, at), last, at);
  const Tensor value = lerp(first, gather(sorted, along, high_index, at), share, at);
  if (!dim)
    return keepdim ? reshape(value, Dims(Shape(std::vector<int64_t>(static_cast<size_t>(input.ndim()), 1))), at)
                   : reshape(value, {}, at);
  return keepdim ? value : squeeze(value, {along}, at);
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape, SourceLocation at) {
  if (!is_integer(defined(indices, "unravel_index", at).dtype()))
    throw UserError(text::cat("unravel_index: the indices are integers, not ", type_text(indices)), at);
  std::vector<Tensor> out(shape.size());
  Tensor rest = indices.to(Dtype::i64, at);
  for (size_t i = shape.size(); i-- > 0;) {
    out[i] = remainder(rest, shape[i], at);
    rest = div(rest, shape[i], "floor", at);
  }
  return out;
}

Tensor nonzero_static(const Tensor& input, int64_t size, int64_t fill_value, SourceLocation at) {
  if (size < 0) throw UserError(text::cat("nonzero_static: size must not be negative: ", size), at);
  const Tensor found = nonzero(input, at);
  const int64_t count = found.size(0), kept = count < size ? count : size;
  const Tensor rest = full({size - kept, found.size(1)}, fill_value, {.dtype = Dtype::i64}, at);
  return cat({narrow(found, 0, 0, kept, at), rest}, 0, at);
}

Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self, SourceLocation at) {
  const int64_t along = wrapped(dim, defined(input, "index_reduce", at), "index_reduce", at);
  if (defined(index, "index_reduce", at).ndim() != 1)
    throw UserError(text::cat("index_reduce: the index has one dimension, not ", type_text(index)), at);
  if (reduce != "prod" && reduce != "mean" && reduce != "amax" && reduce != "amin")
    throw UserError(text::cat("index_reduce: reduce is \"prod\", \"mean\", \"amax\" or \"amin\", not \"", reduce, "\""),
                    at);
  Shape sizes;
  for (int64_t d = 0; d < input.ndim(); ++d) sizes.push_back(d == along ? index.size(0) : Int(1));
  const Tensor column = reshape(index, Dims(sizes), at);
  const Tensor places = expand(column, Dims(defined(source, "index_reduce", at).shape()), at);
  return scatter_reduce(input, along, places, source, reduce, include_self, at);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& A, bool upper, bool transposed,
                                            bool unitriangular, SourceLocation at) {
  const Tensor turned = transposed ? transpose(A, -2, -1, at) : A;
  const bool is_upper = transposed ? !upper : upper;
  return {linalg::solve_triangular(turned, b, is_upper, true, unitriangular, at), A};
}

std::tuple<Tensor, Tensor, Tensor> svd_lowrank(const Tensor& A, int64_t q, SourceLocation at) {
  const auto [u, s, vh] = linalg::svd(A, false, at);
  const int64_t rank = s.size(-1);
  if (q < 0 || q > rank) throw UserError(text::cat("svd_lowrank: q must be from 0 to ", rank, ", not ", q), at);
  const Tensor left = narrow(u, -1, 0, q, at);
  const Tensor values = narrow(s, -1, 0, q, at);
  const Tensor right = transpose(narrow(vh, -2, 0, q, at), -2, -1, at);
  return {left, values, right};
}
std::tuple<Tensor, Tensor, Tensor> pca_lowrank(const Tensor& A, std::optional<int64_t> q, bool center,
                                               SourceLocation at) {
  const int64_t rows = defined(A, "pca_lowrank", at).size(-2), columns = A.size(-1);
  const int64_t most = rows < columns ? rows : columns, wanted = q.value_or(most < 6 ? most : 6);
  const Tensor centred = center ? sub(A, mean(A, {-2}, true, {}, at), 1, at) : A;
  return svd_lowrank(centred, wanted, at);
}

namespace linalg {

namespace {

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t out = 1;
  for (size_t i = begin; i < end; ++i) out *= shape[i].hint();
  return out;
}

}  // namespace

Tensor tensorsolve(const Tensor& A, const Tensor& B, SourceLocation at) {
  const Shape shape = defined(A, "linalg.tensorsolve", at).shape();
  const size_t own = static_cast<size_t>(defined(B, "linalg.tensorsolve", at).ndim());
  const int64_t rows = B.numel();
  if (own > shape.size() || product(shape, 0, own) != rows || product(shape, own, shape.size()) != rows)
    throw UserError(
        text::cat("linalg.tensorsolve: A of shape ", shape.text(), " is no square map to ", B.shape().text()), at);
  const Tensor matrix = reshape(A, {rows, rows}, at), vector = reshape(B, {rows}, at);
  Shape rest;
  for (size_t i = own; i < shape.size(); ++i) rest.push_back(shape[i]);
  return reshape(solve(matrix, vector, true, at), Dims(rest), at);
}

Tensor tensorinv(const Tensor& A, int64_t ind, SourceLocation at) {
  const Shape shape = defined(A, "linalg.tensorinv", at).shape();
  if (ind < 1 || ind > A.ndim())
    throw UserError(text::cat("linalg.tensorinv: ind must be from 1 to ", A.ndim(), ", not ", ind), at);
  const size_t own = static_cast<size_t>(ind);
  const int64_t rows = product(shape, 0, own);
  if (product(shape, own, shape.size()) != rows)
    throw UserError(text::cat("linalg.tensorinv: A of shape ", shape.text(), " is no square map"), at);
  Shape turned;
  for (size_t i = own; i < shape.size(); ++i) turned.push_back(shape[i]);
  for (size_t i = 0; i < own; ++i) turned.push_back(shape[i]);
  return reshape(inv(reshape(A, {rows, rows}, at), at), Dims(turned), at);
}

}  // namespace linalg

namespace nn {

Tensor upsample_nearest(const Tensor& input, const Dims& size, const Numbers& scale_factor, SourceLocation at) {
  return interpolate(input, size, scale_factor, "nearest", {}, {}, false, at);
}
Tensor upsample_bilinear(const Tensor& input, const Dims& size, const Numbers& scale_factor, SourceLocation at) {
  return interpolate(input, size, scale_factor, "bilinear", true, {}, false, at);
}

}  // namespace nn

}  // namespace fulgurite
