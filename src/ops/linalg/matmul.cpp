// Products of matrices and vectors. All but linear decompose into matmul.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/linalg/operation_counts.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// Checks two operands' dtypes and devices.
void check_operands(const Tensor& a, const Tensor& b) {
  require(a.dtype() == b.dtype(), "the operands' dtypes differ: ", a.dtype(), " and ", b.dtype());
  require(a.device() == b.device(), "the operands are on different devices: ", a.device().name(), " and ",
          b.device().name());
}

void require_dimensions(const Tensor& x, const char* name, int64_t wanted) {
  require(x.ndim() == wanted, name, " must have ", wanted, wanted == 1 ? " dimension, got " : " dimensions, got ",
          x.ndim());
}

Shape matmul_shape(const Tensor& a, const Tensor& b) {
  const Shape left = a.shape(), right = b.shape();
  require(!left.empty() && !right.empty(), "both operands need at least 1 dimension");
  const Int inner_left = left.back(), inner_right = right[right.size() == 1 ? 0 : right.size() - 2];
  require(inner_left == inner_right, "inner sizes differ: ", inner_left.hint(), " and ", inner_right.hint());
  const Shape left_batch(left.data(), left.size() < 2 ? 0 : left.size() - 2);
  const Shape right_batch(right.data(), right.size() < 2 ? 0 : right.size() - 2);
  Shape result = right_batch.empty()  ? left_batch
                 : left_batch.empty() ? right_batch
                                      : broadcast_shapes(left_batch, right_batch);
  if (left.size() > 1) result.push_back(left[left.size() - 2]);
  if (right.size() > 1) result.push_back(right.back());
  return result;
}

/// The rows of x as one matrix: reshape(x, {-1, columns}).
Tensor as_rows(const Tensor& x, Int columns) {
  const bool no_columns = !columns.is_symbolic() && columns.hint() == 0;
  if (!no_columns) return reshape(x, {-1, columns});
  Int rows = 1;  // -1 would be ambiguous beside a size of 0
  for (int64_t d = 0; d + 1 < x.ndim(); ++d) rows = rows * x.size(static_cast<int>(d));
  return reshape(x, {rows, columns});
}

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

/// The cotangent of left in matmul(left, right).
Tensor left_cotangent(const Tensor& g, const Tensor& left, const Tensor& right) {
  if (right.ndim() == 1) {
    if (left.ndim() == 1) return mul(g, right);
    const Tensor column = unsqueeze(g, -1);
    return mul(column, right);
  }
  if (left.ndim() == 1) {
    const Tensor column = unsqueeze(g, -1);
    const Tensor product = matmul(right, column);
    return squeeze(product, -1);
  }
  const Tensor right_t = transposed(right);
  return matmul(g, right_t);
}

/// The cotangent of right in matmul(left, right).
Tensor right_cotangent(const Tensor& g, const Tensor& left, const Tensor& right) {
  if (left.ndim() == 1) {
    if (right.ndim() == 1) return mul(g, left);
    const Tensor column = unsqueeze(left, -1);
    const Tensor row = unsqueeze(g, -2);
    return mul(column, row);
  }
  if (right.ndim() == 1) {
    const Tensor rows = left.ndim() == 2 ? left : as_rows(left, left.size(-1));
    const Tensor columns = transposed(rows);
    const Tensor flat = g.ndim() == 1 ? g : reshape(g, {g.numel()});
    return matmul(columns, flat);
  }
  if (right.ndim() == 2 && left.ndim() > 2) {  // one matmul over all batches instead of a sum of many
    const Tensor rows = as_rows(left, left.size(-1));
    const Tensor columns = transposed(rows);
    const Tensor g_rows = as_rows(g, g.size(-1));
    return matmul(columns, g_rows);
  }
  const Tensor left_t = transposed(left);
  return matmul(left_t, g);
}

// A symbol is only compared with 0, to add no other guards.
bool is_number(const Argument& a, double value) {
  if (a.is_floating()) return (value == 0 || !a.floating().is_symbolic()) && a.floating() == value;
  return a.is_integer() && (value == 0 || !a.integer().is_symbolic()) && a.integer() == value;
}

/// For integers the factor is truncated, as in PyTorch: 0.6 is 0.
Argument factor(const Argument& number, Dtype dtype) {
  if (!number.is_floating() || is_floating(dtype)) return number;
  return Int(static_cast<int64_t>(static_cast<double>(number.floating())));
}

/// beta * input + alpha * product; an input with beta 0 is not read.
Tensor scaled_sum(const Argument& input, Tensor product, const Argument& given_beta, const Argument& given_alpha,
                  SourceLocation at) {
  const Argument beta = factor(given_beta, product.dtype()), alpha = factor(given_alpha, product.dtype());
  if (!is_number(alpha, 1)) product = mul(product, alpha.operand(at), at);
  if (is_number(beta, 0)) return expand(product, broadcast_shapes(product.shape(), input.tensor().shape()), at);
  const Tensor scaled = is_number(beta, 1) ? input.tensor() : mul(input.tensor(), beta.operand(at), at);
  return add(scaled, product, 1, at);
}

/// Checks addmm and baddbmm and returns their shape.
Shape added_matmul_shape(Arguments a) {
  const Tensor &input = a[0].tensor(), &left = a[1].tensor(), &right = a[2].tensor();
  check_operands(left, right);
  check_operands(input, left);
  Shape shape = matmul_shape(left, right);
  require(broadcast_shapes(input.shape(), shape) == shape, "input of shape ", input.shape(), " cannot be broadcast to ",
          shape);
  return shape;
}

void infer_addmm(Arguments a, InferredTypes& out) { out.push_back(like(a[1].tensor(), added_matmul_shape(a))); }

void infer_matmul(Arguments a, InferredTypes& out) {
  const Tensor &left = a[0].tensor(), &right = a[1].tensor();
  check_operands(left, right);
  out.push_back(like(left, matmul_shape(left, right)));
}

}  // namespace

constinit const Symbol matmul_symbol{
    .signature = "torch.matmul(Tensor input, Tensor other) -> Tensor",
    .documentation =
        "The matrix product over the last two dimensions, batch dimensions broadcast; vectors where there is one "
        "dimension.",
    .infer = infer_matmul,
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) g.set(0, left_cotangent(g.cotangent(), g.tensor(0), g.tensor(1)));
          if (g.needs(1)) g.set(1, right_cotangent(g.cotangent(), g.tensor(0), g.tensor(1)));
        },
    .cost = count_matmul,
    .traits = {.matmul = true},
    .semantics = {.matrix_product = MatrixProduct::plain, .autocast = AutocastPolicy::narrow},
};

constinit const Symbol linear_symbol{
    .signature = "torch.nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .documentation =
        "input times the transpose of weight, plus bias; weight is [out, in], or [in] for a single output.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &weight = a[1].tensor();
          check_operands(input, weight);
          Shape shape = input.shape();
          const Shape weights = weight.shape();
          require(!shape.empty(), "input needs at least 1 dimension");
          require(weights.size() == 1 || weights.size() == 2, "weight must have 1 or 2 dimensions, got ",
                  weights.size());
          require(shape.back() == weights.back(), "input has ", shape.back().hint(), " features, weight takes ",
                  weights.back().hint());
          shape.pop_back();
          if (weights.size() == 2) shape.push_back(weights[0]);
          if (a[2].is_tensor()) {
            const Tensor& bias = a[2].tensor();
            check_operands(input, bias);
            require(bias.ndim() <= 1, "bias must have 1 dimension, got ", bias.ndim());
            require(broadcast_shapes(shape, bias.shape()) == shape, "bias of shape ", bias.shape(), " does not fit ",
                    shape);
          }
          out.push_back(like(input, shape));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor cotangent = g.cotangent(), input = g.tensor(0), weight = g.tensor(1), bias = g.tensor(2);
          if (weight.ndim() == 1) {
            if (g.needs(0)) g.set(0, left_cotangent(cotangent, input, weight));
            if (g.needs(1)) g.set(1, right_cotangent(cotangent, input, weight));
            if (bias.defined() && g.needs(2)) g.set(2, cotangent);
            return;
          }
          if (g.needs(0)) g.set(0, matmul(cotangent, weight));
          const bool needs_bias = bias.defined() && g.needs(2);
          if (!g.needs(1) && !needs_bias) return;
          const Tensor rows = as_rows(cotangent, weight.size(0));
          if (g.needs(1)) {
            const Tensor columns = permute(rows, {1, 0});
            const Tensor input_rows = as_rows(input, weight.size(1));
            g.set(1, matmul(columns, input_rows));
          }
          if (needs_bias) g.set(2, sum(rows, {0}));
        },
    .cost = count_matmul,
    .traits = {.matmul = true},
    .semantics = {.matrix_product = MatrixProduct::transposed,
                  .autocast = AutocastPolicy::narrow,
                  .last_edge_first = true},
};

constinit const Symbol mm_symbol{
    .signature = "torch.mm(Tensor input, Tensor mat2) -> Tensor",
    .documentation = "The product of two matrices.",
    .infer = infer_matmul,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_dimensions(a[0].tensor(), "input", 2);
          require_dimensions(a[1].tensor(), "mat2", 2);
          out.push_back(matmul(a[0].tensor(), a[1].tensor(), at));
        },
    .traits = {.matmul = true},
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol bmm_symbol{
    .signature = "torch.bmm(Tensor input, Tensor mat2) -> Tensor",
    .documentation = "The products of two equally long batches of matrices.",
    .infer = infer_matmul,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &left = a[0].tensor(), &right = a[1].tensor();
          require_dimensions(left, "input", 3);
          require_dimensions(right, "mat2", 3);
          require(left.size(0) == right.size(0), "batch sizes differ: ", left.size(0).hint(), " and ",
                  right.size(0).hint());
          out.push_back(matmul(left, right, at));
        },
    .traits = {.matmul = true},
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol mv_symbol{
    .signature = "torch.mv(Tensor input, Tensor vec) -> Tensor",
    .documentation = "The product of a matrix and a vector.",
    .infer = infer_matmul,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_dimensions(a[0].tensor(), "input", 2);
          require_dimensions(a[1].tensor(), "vec", 1);
          out.push_back(matmul(a[0].tensor(), a[1].tensor(), at));
        },
    .traits = {.matmul = true},
};

constinit const Symbol dot_symbol{
    .signature = "torch.dot(Tensor input, Tensor tensor) -> Tensor",
    .documentation = "The inner product of two vectors.",
    .infer = infer_matmul,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_dimensions(a[0].tensor(), "input", 1);
          require_dimensions(a[1].tensor(), "tensor", 1);
          out.push_back(matmul(a[0].tensor(), a[1].tensor(), at));
        },
    .traits = {.matmul = true},
};

constinit const Symbol outer_symbol{
    .signature = "torch.outer(Tensor input, Tensor vec2) -> Tensor",
    .documentation = "The matrix of all products of the elements of two vectors.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_dimensions(a[0].tensor(), "input", 1);
          require_dimensions(a[1].tensor(), "vec2", 1);
          const Tensor column = unsqueeze(a[0].tensor(), 1, at);
          out.push_back(mul(column, a[1].tensor(), at));
        },
};

constinit const Symbol addmm_symbol{
    .signature = "torch.addmm(Tensor input, Tensor mat1, Tensor mat2, *, Operand beta=1, Operand alpha=1) -> Tensor",
    .documentation = "beta * input + alpha * (mat1 @ mat2).",
    .infer = infer_addmm,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_dimensions(a[1].tensor(), "mat1", 2);
          require_dimensions(a[2].tensor(), "mat2", 2);
          added_matmul_shape(a);
          const Tensor product = matmul(a[1].tensor(), a[2].tensor(), at);
          out.push_back(scaled_sum(a[0], product, a[3], a[4], at));
        },
    .traits = {.has_in_place_form = true, .matmul = true},
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol baddbmm_symbol{
    .signature =
        "torch.baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Operand beta=1, Operand alpha=1) -> Tensor",
    .documentation = "beta * input + alpha * bmm(batch1, batch2).",
    .infer = infer_addmm,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          added_matmul_shape(a);
          const Tensor product = bmm(a[1].tensor(), a[2].tensor(), at);
          out.push_back(scaled_sum(a[0], product, a[3], a[4], at));
        },
    .traits = {.has_in_place_form = true, .matmul = true},
    .semantics = {.autocast = AutocastPolicy::narrow},
};

std::span<const Symbol* const> matmul_symbols() {
  static constexpr const Symbol* all[] = {&matmul_symbol, &linear_symbol, &mm_symbol,    &bmm_symbol,    &mv_symbol,
                                          &dot_symbol,    &outer_symbol,  &addmm_symbol, &baddbmm_symbol};
  return all;
}

}  // namespace fulgurite
