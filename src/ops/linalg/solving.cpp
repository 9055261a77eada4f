// Systems of linear equations, inverses and determinants.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/linalg/matrix_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {

namespace {

void infer_solution(Arguments a, InferredTypes& types) {
  const Tensor &A = a[0].tensor(), &B = a[1].tensor();
  require_square(A);
  require_matrices(B, "B");
  require(A.dtype() == B.dtype(), "A and B have one dtype, not ", A.dtype(), " and ", B.dtype());
  require(batch_shape(A) == batch_shape(B), "A and B have one batch, not ", batch_shape(A), " and ", batch_shape(B));
  require(A.size(-1) == B.size(-2), "A has ", A.size(-1), " columns, B ", B.size(-2), " rows");
  types.push_back(like(B, B.shape()));
}

/// Both with the sizes of their common batch.
std::pair<Tensor, Tensor> in_one_batch(const Tensor& A, const Tensor& B, SourceLocation at) {
  const Shape batch = broadcast_shapes(batch_shape(A), batch_shape(B));
  const Tensor left = expand(A, with_matrix(batch, A.size(-2), A.size(-1)), at);
  const Tensor right = expand(B, with_matrix(batch, B.size(-2), B.size(-1)), at);
  return {left, right};
}

/// Returns true if B is a vector, or a batch of vectors with A's batch.
bool is_vector(const Tensor& A, const Tensor& B) {
  if (B.ndim() == 1) return true;
  if (B.ndim() + 1 != A.ndim()) return false;
  Shape sizes = A.shape();
  sizes.pop_back();
  return B.shape() == sizes;
}

/// A + c I where A is singular, with a small c: the products of determinant and inverse, which have a limit there, are
/// then those of a matrix nearby.
Tensor invertible(const Tensor& A, const Tensor& determinant) {
  const Tensor is_singular = eq(determinant, 0);
  const Tensor size = linalg::vector_norm(A, 2.0, {-2, -1});
  const Tensor scale = clamp_min(size, 1e-30);
  const Tensor step = mul(scale, A.dtype() == Dtype::f64 ? 1.5e-8 : 3.5e-4);
  const Tensor shift = where(is_singular, step, 0);
  const Tensor column = unsqueeze(shift, -1);
  const Tensor square = unsqueeze(column, -1);
  const Tensor identity = eye(A.size(-1), A.size(-1), {.dtype = A.dtype(), .device = A.device()});
  const Tensor diagonal = mul(identity, square);
  return add(A, diagonal);
}

Tensor inverse(const Tensor& A, SourceLocation at) {
  const Tensor identity = eye(A.size(-1), A.size(-1), {.dtype = A.dtype(), .device = A.device()}, at);
  const Tensor all = expand(identity, A.shape(), at);
  return prims::solve(A, all, at);
}

/// A cotangent of one number for each matrix times matrices.
Tensor scaled(const Tensor& numbers, const Tensor& matrices) {
  const Tensor column = unsqueeze(numbers, -1);
  const Tensor square = unsqueeze(column, -1);
  return mul(matrices, square);
}

}  // namespace

constinit const Symbol prims_solve_symbol{
    .signature = "prims.solve(Tensor A, Tensor B) -> Tensor",
    .documentation =
        "X with A X = B, for batches of square matrices A, by LU factors with exchanged rows. UserError for a singular "
        "A.",
    .infer = infer_solution,
    .gradient =
        [](Gradient& g) {
          const Tensor A = transposed(g.tensor(0));
          const Tensor to_B = prims::solve(A, g.cotangent());
          if (g.needs(1)) g.set(1, to_B);
          if (!g.needs(0)) return;
          const Tensor X = transposed(g.result());
          const Tensor product = matmul(to_B, X);
          g.set(0, neg(product));
        },
    .python = "torch.linalg.solve({0}, {1})",
};

constinit const Symbol prims_solve_triangular_symbol{
    .signature = "prims.solve_triangular(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor",
    .documentation =
        "X with A X = B, for batches of triangular matrices A, whose other triangle is not read; of a unitriangular "
        "one neither is the diagonal, which counts as ones.",
    .infer = infer_solution,
    .gradient =
        [](Gradient& g) {
          const bool upper = g.argument(2).boolean(), unit = g.argument(3).boolean();
          const Tensor A = transposed(g.tensor(0));
          const Tensor to_B = prims::solve_triangular(A, g.cotangent(), !upper, unit);
          if (g.needs(1)) g.set(1, to_B);
          if (!g.needs(0)) return;
          const Tensor X = transposed(g.result());
          const Tensor product = matmul(to_B, X);
          const Tensor to_A = neg(product);
          g.set(0, upper ? triu(to_A, unit ? 1 : 0) : tril(to_A, unit ? -1 : 0));
        },
    .python = "torch.linalg.solve_triangular({0}, {1}, upper={2}, unitriangular={3})",
};

constinit const Symbol solve_symbol{
    .signature = "torch.linalg.solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    .documentation =
        "X with A X = B, or without `left` X A = B, for square A; B may be a vector, or a batch of vectors with A's "
        "batch. UserError for a singular A.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &A = a[0].tensor(), &B = a[1].tensor();
          require_square(A);
          const bool left = a[2].boolean(), vector = is_vector(A, B);
          require(left || !vector, "a vector B is solved for with left=True only");
          const Tensor columns = vector ? unsqueeze(B, -1, at) : B;
          require_matrices(columns, "B");
          const auto [matrix, right] =
              in_one_batch(left ? A : transposed(A, at), left ? columns : transposed(columns, at), at);
          const Tensor X = prims::solve(matrix, right, at);
          const Tensor found = left ? X : transposed(X, at);
          out.push_back(vector ? squeeze(found, {-1}, at) : found);
        },
};

constinit const Symbol solve_triangular_symbol{
    .signature =
        "torch.linalg.solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)"
        " -> Tensor",
    .documentation =
        "X with A X = B, or without `left` X A = B, for a triangular A, whose other triangle is not read; "
        "unitriangular: nor is its diagonal, which counts as ones.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &A = a[0].tensor(), &B = a[1].tensor();
          require_square(A);
          require_matrices(B, "B");
          const bool upper = a[2].boolean(), left = a[3].boolean(), unit = a[4].boolean();
          const auto [matrix, right] = in_one_batch(left ? A : transposed(A, at), left ? B : transposed(B, at), at);
          const Tensor X = prims::solve_triangular(matrix, right, left ? upper : !upper, unit, at);
          out.push_back(left ? X : transposed(X, at));
        },
};

constinit const Symbol inv_symbol{
    .signature = "torch.linalg.inv(Tensor A) -> Tensor",
    .documentation = "The inverses of square matrices. UserError for a singular one.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_square(a[0].tensor());
          out.push_back(inverse(a[0].tensor(), at));
        },
};

constinit const Symbol det_symbol{
    .signature = "torch.linalg.det(Tensor A) -> Tensor",
    .documentation = "The determinants of square matrices.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require_square(a[0].tensor());
          types.push_back(like(a[0].tensor(), batch_shape(a[0].tensor())));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor A = invertible(g.tensor(0), g.result());
          const Tensor determinant = linalg::det(A);
          const Tensor weight = mul(g.cotangent(), determinant);
          const Tensor inverted = inverse(A, {});
          const Tensor cofactors = transposed(inverted);
          g.set(0, scaled(weight, cofactors));
        },
};

constinit const Symbol slogdet_symbol{
    .signature = "torch.linalg.slogdet(Tensor A) -> (Tensor, Tensor)",
    .documentation =
        "The signs of determinants, and the logarithms of their absolute values; 0 and minus infinity for a singular "
        "matrix.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require_square(a[0].tensor());
          types.push_back(like(a[0].tensor(), batch_shape(a[0].tensor())));
          types.push_back(like(a[0].tensor(), batch_shape(a[0].tensor())));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor inverted = inverse(g.tensor(0), {});
          const Tensor cofactors = transposed(inverted);
          g.set(0, scaled(g.cotangent_or_zeros(1), cofactors));
        },
};

SymbolList solving_symbols() {
  static constexpr const Symbol* list[] = {
      &prims_solve_symbol, &prims_solve_triangular_symbol,
      &solve_symbol,       &solve_triangular_symbol,
      &inv_symbol,         &det_symbol,
      &slogdet_symbol,
  };
  return list;
}

}  // namespace fulgurite
