// Sums of products beyond matmul: inner and Kronecker products, chains of matrices, summed batches.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

// A symbol is only compared with 0, to add no other guards.
bool is_number(const Argument& a, int64_t value) {
  if (a.is_integer()) return (value == 0 || !a.integer().is_symbolic()) && a.integer() == value;
  return a.is_floating() && (value == 0 || !a.floating().is_symbolic()) && a.floating() == static_cast<double>(value);
}

/// A factor in the operands' category, so that it does not promote integers.
Operand factor_for(const Argument& factor, Dtype dtype) {
  if (is_floating(dtype) || !factor.is_floating()) return factor.operand();
  return Int(static_cast<int64_t>(static_cast<double>(factor.floating())));
}

/// beta * input + alpha * product; input does not count if beta is 0.
Tensor scaled_sum(const Tensor& input, Tensor product, const Argument& beta, const Argument& alpha, SourceLocation at) {
  const Shape shape = product.shape();
  require(broadcast_shapes(input.shape(), shape) == shape, "input of shape ", input.shape(), " cannot be broadcast to ",
          shape);
  if (!is_number(alpha, 1)) product = mul(product, factor_for(alpha, product.dtype()), at);
  if (is_number(beta, 0)) return product;
  const Tensor scaled = is_number(beta, 1) ? input : mul(input, factor_for(beta, input.dtype()), at);
  return add(scaled, product, 1, at);
}

/// The order of a matrix chain with the fewest multiplications (Cormen et al., 15.2).
class ChainOrder {
 public:
  explicit ChainOrder(const std::vector<int64_t>& sizes)
      : count_(sizes.size() - 1), cost_(count_ * count_), cut_(count_ * count_) {
    for (size_t length = 2; length <= count_; ++length)
      for (size_t first = 0; first + length <= count_; ++first) {
        const size_t last = first + length - 1;
        cost_[first * count_ + last] = -1;
        for (size_t cut = first; cut < last; ++cut) {
          const double cost = cost_[first * count_ + cut] + cost_[(cut + 1) * count_ + last] +
                              static_cast<double>(sizes[first]) * static_cast<double>(sizes[cut + 1]) *
                                  static_cast<double>(sizes[last + 1]);
          double& best = cost_[first * count_ + last];
          if (best >= 0 && best <= cost) continue;
          best = cost;
          cut_[first * count_ + last] = cut;
        }
      }
  }
  Tensor multiply(const std::vector<Tensor>& matrices, size_t first, size_t last, SourceLocation at) const {
    if (first == last) return matrices[first];
    const size_t cut = cut_[first * count_ + last];
    const Tensor left = multiply(matrices, first, cut, at);
    const Tensor right = multiply(matrices, cut + 1, last, at);
    return mm(left, right, at);
  }

 private:
  size_t count_;
  std::vector<double> cost_;
  std::vector<size_t> cut_;
};

}  // namespace

constinit const Symbol inner_symbol{
    .signature = "torch.inner(Tensor input, Tensor other) -> Tensor",
    .documentation = "The sum of products along the last dimensions; the product where one has no dimensions.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &y = a[1].tensor();
          if (x.ndim() == 0 || y.ndim() == 0) return out.push_back(mul(x, y, at));
          const Int size = x.size(-1);
          require(size == y.size(-1), "the last sizes differ: ", x.shape(), " and ", y.shape());
          Shape shape = x.shape();
          shape.erase(shape.size() - 1);
          for (int64_t d = 0; d + 1 < y.ndim(); ++d) shape.push_back(y.size(static_cast<int>(d)));
          const Int rows = y.ndim() > 1 ? Shape(y.shape().begin(), y.shape().size() - 1).numel() : Int(1);
          const Int columns = x.ndim() > 1 ? Shape(x.shape().begin(), x.shape().size() - 1).numel() : Int(1);
          const Tensor left = reshape(x, {columns, size}, at);
          const Tensor right = reshape(y, {rows, size}, at);
          const Tensor turned = transpose(right, 0, 1, at);
          const Tensor product = mm(left, turned, at);
          out.push_back(reshape(product, shape, at));
        },
    .traits = {.matmul = true},
};

constinit const Symbol kron_symbol{
    .signature = "torch.kron(Tensor input, Tensor other) -> Tensor",
    .documentation = "The Kronecker product: each element of input times the whole of other, laid out as input is.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &y = a[1].tensor();
          const int64_t ndim = std::max(x.ndim(), y.ndim());
          Shape apart_x, apart_y, joined;
          for (int64_t d = 0; d < ndim; ++d) {
            const int64_t in_x = d - (ndim - x.ndim()), in_y = d - (ndim - y.ndim());
            const Int size_x = in_x < 0 ? Int(1) : x.size(static_cast<int>(in_x)),
                      size_y = in_y < 0 ? Int(1) : y.size(static_cast<int>(in_y));
            apart_x.push_back(size_x);
            apart_x.push_back(1);
            apart_y.push_back(1);
            apart_y.push_back(size_y);
            joined.push_back(size_x * size_y);
          }
          const Tensor left = reshape(x, apart_x, at);
          const Tensor right = reshape(y, apart_y, at);
          const Tensor product = mul(left, right, at);
          out.push_back(reshape(product, joined, at));
        },
};

constinit const Symbol addmv_symbol{
    .signature = "torch.addmv(Tensor input, Tensor mat, Tensor vec, *, Operand beta=1, Operand alpha=1) -> Tensor",
    .documentation = "beta * input + alpha * mv(mat, vec).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor product = mv(a[1].tensor(), a[2].tensor(), at);
          out.push_back(scaled_sum(a[0].tensor(), product, a[3], a[4], at));
        },
    .traits = {.has_in_place_form = true, .matmul = true},
};

constinit const Symbol addbmm_symbol{
    .signature =
        "torch.addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Operand beta=1, Operand alpha=1) -> Tensor",
    .documentation = "beta * input + alpha times the sum of the batch's matrix products.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &first = a[1].tensor(), &second = a[2].tensor();
          require(first.ndim() == 3 && second.ndim() == 3, "batch1 and batch2 must have 3 dimensions, got ",
                  first.ndim(), " and ", second.ndim());
          require(first.size(0) == second.size(0) && first.size(2) == second.size(1),
                  "sizes do not fit: ", first.shape(), " and ", second.shape());
          // One matmul with a large K: the batch joins the summed dimension.
          const Tensor by_rows = transpose(first, 0, 1, at);
          const Tensor left = reshape(by_rows, {first.size(1), first.size(0) * first.size(2)}, at);
          const Tensor right = reshape(second, {second.size(0) * second.size(1), second.size(2)}, at);
          const Tensor product = mm(left, right, at);
          out.push_back(scaled_sum(a[0].tensor(), product, a[3], a[4], at));
        },
    .traits = {.has_in_place_form = true, .matmul = true},
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol multi_dot_symbol{
    .signature = "torch.linalg.multi_dot(Tensor[] tensors) -> Tensor",
    .documentation =
        "The product of a chain of matrices, in the order that takes the fewest multiplications; the ends may be "
        "vectors.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          std::vector<Tensor> matrices(a[0].tensors().begin(), a[0].tensors().end());
          require(matrices.size() >= 2, "expected at least two tensors, got ", matrices.size());
          const bool starts_with_vector = matrices.front().ndim() == 1, ends_with_vector = matrices.back().ndim() == 1;
          if (starts_with_vector) matrices.front() = unsqueeze(matrices.front(), 0, at);
          if (ends_with_vector) matrices.back() = unsqueeze(matrices.back(), 1, at);
          std::vector<int64_t> sizes;
          for (size_t i = 0; i < matrices.size(); ++i) {
            require(matrices[i].ndim() == 2, "tensor ", i, " must be a matrix, got shape ", matrices[i].shape());
            require(i == 0 || matrices[i].size(0) == matrices[i - 1].size(1),
                    "sizes do not fit: ", matrices[i == 0 ? 0 : i - 1].shape(), " and ", matrices[i].shape());
            sizes.push_back(matrices[i].size(0).hint());
          }
          sizes.push_back(matrices.back().size(1).hint());
          Tensor product = ChainOrder(sizes).multiply(matrices, 0, matrices.size() - 1, at);
          if (ends_with_vector) product = squeeze(product, 1, at);
          if (starts_with_vector) product = squeeze(product, 0, at);
          out.push_back(product);
        },
    .traits = {.matmul = true},
};

constinit const Symbol bilinear_symbol{
    .signature =
        "torch.nn.functional.bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    .documentation = "input1 times each matrix of weight times input2, along the last dimensions, plus bias.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &y = a[1].tensor(), &weight = a[2].tensor();
          require(weight.ndim() == 3, "weight must have 3 dimensions, got shape ", weight.shape());
          require(x.ndim() > 0 && x.ndim() == y.ndim(),
                  "input1 and input2 must have the same number of dimensions, got ", x.ndim(), " and ", y.ndim());
          require(x.size(-1) == weight.size(1) && y.size(-1) == weight.size(2), "the last sizes ", x.size(-1).hint(),
                  " and ", y.size(-1).hint(), " do not fit weight ", weight.shape());
          Shape leading = x.shape(), other_leading = y.shape();
          leading.erase(leading.size() - 1);
          other_leading.erase(other_leading.size() - 1);
          require(leading == other_leading, "the leading sizes of input1 ", x.shape(), " and input2 ", y.shape(),
                  " differ");
          const Int rows = leading.numel(), results = weight.size(0), width = weight.size(2);
          const Tensor flat = reshape(x, {rows, weight.size(1)}, at);
          const Tensor by_input = transpose(weight, 0, 1, at);
          const Tensor table = reshape(by_input, {weight.size(1), results * width}, at);
          const Tensor product = mm(flat, table, at);
          const Tensor parts = reshape(product, {rows, results, width}, at);
          const Tensor other = reshape(y, {rows, width, 1}, at);
          const Tensor column = bmm(parts, other, at);
          Shape shape = leading;
          shape.push_back(results);
          const Tensor result = reshape(column, shape, at);
          out.push_back(a[3].tensor_or_none().defined() ? add(result, a[3].tensor(), 1, at) : result);
        },
    .traits = {.matmul = true},
    .semantics = {.autocast = AutocastPolicy::inside},
};

SymbolList contraction_symbols() {
  static constexpr const Symbol* list[] = {&inner_symbol,  &kron_symbol,      &addmv_symbol,
                                           &addbmm_symbol, &multi_dot_symbol, &bilinear_symbol};
  return list;
}

}  // namespace fulgurite
