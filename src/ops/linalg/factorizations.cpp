// Factors of matrices: Cholesky, QR, eigenvalues of symmetric matrices, singular values.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/linalg/matrix_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {

namespace {

Int smaller(Int a, Int b) { return a < b ? a : b; }

/// The numbers of each row of a batch beside or above matrices.
Tensor as_column(const Tensor& x) { return unsqueeze(x, -1); }
Tensor as_row(const Tensor& x) { return unsqueeze(x, -2); }

/// The lower triangle with half of the diagonal.
Tensor lower_half(const Tensor& x) {
  const Tensor below = tril(x, -1);
  const Tensor on = diagonal(x, 0, -2, -1);
  const Tensor half = mul(on, 0.5);
  const Tensor matrix = diag_embed(half);
  return add(below, matrix);
}

Tensor symmetric(const Tensor& x) {
  const Tensor other = transposed(x);
  const Tensor both = add(x, other);
  return mul(both, 0.5);
}

/// values[k] - values[j] at [j, k], and 1 on the diagonal, where nothing is divided.
Tensor gaps(const Tensor& values) {
  const Tensor across = as_row(values);
  const Tensor down = as_column(values);
  const Tensor differences = sub(across, down);
  const Tensor on_diagonal = diagonal_mask(values.size(-1), values.device());
  return where(on_diagonal, 1, differences);
}

/// matrix - matrixᵀ over the gaps.
Tensor turned(const Tensor& matrix, const Tensor& gap) {
  const Tensor other = transposed(matrix);
  const Tensor skew = sub(matrix, other);
  return div(skew, gap);
}

/// The cotangent of a square or tall A = Q R, from those of Q and R.
Tensor gradient_of_tall_qr(const Tensor& Q, const Tensor& R, const Tensor& to_Q, const Tensor& to_R) {
  const Tensor R_transposed = transposed(R);
  const Tensor through_R = matmul(to_R, R_transposed);
  const Tensor Q_transposed = transposed(Q);
  const Tensor through_Q = matmul(Q_transposed, to_Q);
  const Tensor difference = sub(through_R, through_Q);
  const Tensor upper = transposed(difference);
  const Tensor half = lower_half(upper);
  const Tensor doubled = mul(half, 2);
  const Tensor mirrored = symmetric(doubled);  // the upper triangle of `difference`, mirrored
  const Tensor turned_Q = matmul(Q, mirrored);
  const Tensor total = add(to_Q, turned_Q);
  const Tensor columns = transposed(total);
  const Tensor solved = prims::solve_triangular(R, columns, true, false);
  return transposed(solved);
}

}  // namespace

constinit const Symbol prims_cholesky_symbol{
    .signature = "prims.cholesky(Tensor A) -> Tensor",
    .documentation =
        "The lower triangular L with L Lᵀ = A, of which the lower triangle is read. UserError if a matrix is not "
        "positive definite.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require_square(a[0].tensor());
          types.push_back(like(a[0].tensor(), a[0].tensor().shape()));
        },
    // As in PyTorch the cotangent is symmetric: A varies among symmetric matrices.
    .gradient =
        [](Gradient& g) {
          const Tensor L = transposed(g.result());
          const Tensor product = matmul(L, g.cotangent());
          const Tensor lower = lower_half(product);
          const Tensor middle = symmetric(lower);
          const Tensor first = prims::solve_triangular(L, middle, true, false);
          const Tensor turned = transposed(first);
          g.set(0, prims::solve_triangular(L, turned, true, false));
        },
    .python = "torch.linalg.cholesky({0})",
};

constinit const Symbol cholesky_symbol{
    .signature = "torch.linalg.cholesky(Tensor A, *, bool upper=False) -> Tensor",
    .documentation =
        "The lower triangular L with L Lᵀ = A for symmetric positive definite A, or the upper one with Uᵀ U = A; that "
        "triangle of A is read. UserError if a matrix is not positive definite.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const bool upper = a[1].boolean();
          require_square(a[0].tensor());
          const Tensor A = upper ? transposed(a[0].tensor(), at) : a[0].tensor();
          const Tensor L = prims::cholesky(A, at);
          out.push_back(upper ? transposed(L, at) : L);
        },
};

constinit const Symbol prims_qr_symbol{
    .signature = "prims.qr(Tensor A, bool complete) -> (Tensor, Tensor)",
    .documentation =
        "Q with orthonormal columns and an upper triangular R, Q R = A; `complete` Q are square. The signs are those "
        "of Householder's reflections, as LAPACK chooses them.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& A = a[0].tensor();
          require_matrices(A);
          const Int rows = A.size(-2), columns = A.size(-1);
          const Int inner = a[1].boolean() ? rows : smaller(rows, columns);
          types.push_back(like(A, with_matrix(batch_shape(A), rows, inner)));
          types.push_back(like(A, with_matrix(batch_shape(A), inner, columns)));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor A = g.tensor(0), Q = g.result(0), R = g.result(1);
          const Int rows = A.size(-2), columns = A.size(-1);
          require(!(g.argument(1).boolean() && rows > columns),
                  "the complete factors of tall matrices have no gradient; use mode='reduced'");
          const Tensor to_Q = g.cotangent_or_zeros(0), to_R = g.cotangent_or_zeros(1);
          if (!(columns > rows)) return g.set(0, gradient_of_tall_qr(Q, R, to_Q, to_R));
          // A = [X, Y] with X = Q U and Y = Q V.
          const Tensor Y = narrow(A, -1, rows, columns - rows);
          const Tensor to_V = narrow(to_R, -1, rows, columns - rows);
          const Tensor V_transposed = transposed(to_V);
          const Tensor through_Y = matmul(Y, V_transposed);
          const Tensor to_Q_of_X = add(to_Q, through_Y);
          const Tensor U = narrow(R, -1, 0, rows);
          const Tensor to_U = narrow(to_R, -1, 0, rows);
          const Tensor to_X = gradient_of_tall_qr(Q, U, to_Q_of_X, to_U);
          const Tensor to_Y = matmul(Q, to_V);
          g.set(0, cat({to_X, to_Y}, -1));
        },
    .python = "torch.linalg.qr({0}, mode='complete' if {1} else 'reduced')",
};

constinit const Symbol qr_symbol{
    .signature = "torch.linalg.qr(Tensor A, str mode='reduced') -> (Tensor, Tensor)",
    .documentation =
        "Q with orthonormal columns and an upper triangular R, Q R = A. Mode \"reduced\", \"complete\" with a square "
        "Q, or \"r\" with an empty Q.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view mode = a[1].string();
          require(mode == "reduced" || mode == "complete" || mode == "r",
                  "mode must be \"reduced\", \"complete\" or \"r\", not \"", mode, "\"");
          const auto [Q, R] = prims::qr(a[0].tensor(), mode == "complete", at);
          const Device device = a[0].tensor().device();
          out.push_back(mode == "r" ? zeros({0}, {.dtype = a[0].tensor().dtype(), .device = device}, at) : Q);
          out.push_back(R);
        },
};

constinit const Symbol prims_eigh_symbol{
    .signature = "prims.eigh(Tensor A) -> (Tensor, Tensor)",
    .documentation =
        "The eigenvalues of symmetric matrices, of which the lower triangle is read, in ascending order, and the "
        "eigenvectors as columns.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& A = a[0].tensor();
          require_square(A);
          Shape values = batch_shape(A);
          values.push_back(A.size(-1));
          types.push_back(like(A, values));
          types.push_back(like(A, A.shape()));
        },
    // Symmetric, as that of prims.cholesky.
    .gradient =
        [](Gradient& g) {
          const Tensor values = g.result(0), V = g.result(1);
          const Tensor V_transposed = transposed(V);
          const Tensor to_values = g.cotangent_or_zeros(0);
          Tensor middle = diag_embed(to_values);
          if (g.cotangent(1).defined()) {
            const Tensor product = matmul(V_transposed, g.cotangent(1));
            const Tensor gap = gaps(values);
            const Tensor twice = turned(product, gap);
            const Tensor turns = mul(twice, 0.5);
            const Tensor on_diagonal = diagonal_mask(values.size(-1), values.device());
            middle = where(on_diagonal, middle, turns);
          }
          const Tensor left = matmul(V, middle);
          g.set(0, matmul(left, V_transposed));
        },
    .python = "torch.linalg.eigh({0})",
};

constinit const Symbol eigh_symbol{
    .signature = "torch.linalg.eigh(Tensor A, str UPLO='L') -> (Tensor, Tensor)",
    .documentation =
        "The eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns; UPLO \"L\" or "
        "\"U\" names the triangle that is read.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view triangle = a[1].string();
          require(triangle == "L" || triangle == "U", "UPLO must be \"L\" or \"U\", not \"", triangle, "\"");
          require_square(a[0].tensor());
          const Tensor A = triangle == "U" ? transposed(a[0].tensor(), at) : a[0].tensor();
          const auto [values, vectors] = prims::eigh(A, at);
          out.push_back(values);
          out.push_back(vectors);
        },
};

constinit const Symbol prims_svd_symbol{
    .signature = "prims.svd(Tensor A, bool full) -> (Tensor, Tensor, Tensor)",
    .documentation =
        "U, S and Vᵀ with U diag(S) Vᵀ = A, orthonormal columns of U and V, and S in descending order; `full` U and V "
        "are square.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& A = a[0].tensor();
          require_matrices(A);
          const Int rows = A.size(-2), columns = A.size(-1), inner = smaller(rows, columns);
          const bool full = a[1].boolean();
          Shape values = batch_shape(A);
          values.push_back(inner);
          types.push_back(like(A, with_matrix(batch_shape(A), rows, full ? rows : inner)));
          types.push_back(like(A, values));
          types.push_back(like(A, with_matrix(batch_shape(A), full ? columns : inner, columns)));
        },
    // As in PyTorch, columns of full factors beyond the smaller size get no gradient.
    .gradient =
        [](Gradient& g) {
          const Tensor S = g.result(1);
          const Int rows = g.tensor(0).size(-2), columns = g.tensor(0).size(-1), inner = S.size(-1);
          const Tensor U = narrow(g.result(0), -1, 0, inner), V_transposed = narrow(g.result(2), -2, 0, inner);
          const Tensor V = transposed(V_transposed), U_transposed = transposed(U);
          const Tensor squares = mul(S, S);
          const Tensor gap = gaps(squares);
          const Tensor to_S = g.cotangent_or_zeros(1);
          Tensor middle = diag_embed(to_S);
          Tensor to_U, to_V;  // without what moves U and V within their spans
          if (g.cotangent(0).defined()) {
            to_U = narrow(g.cotangent(0), -1, 0, inner);
            const Tensor product = matmul(U_transposed, to_U);
            const Tensor turns = turned(product, gap);
            const Tensor weights = as_row(S);
            const Tensor part = mul(turns, weights);
            middle = add(middle, part);
          }
          if (g.cotangent(2).defined()) {
            const Tensor rows_of_V = narrow(g.cotangent(2), -2, 0, inner);
            to_V = transposed(rows_of_V);
            const Tensor product = matmul(V_transposed, to_V);
            const Tensor turns = turned(product, gap);
            const Tensor weights = as_column(S);
            const Tensor part = mul(turns, weights);
            middle = add(middle, part);
          }
          const Tensor left = matmul(U, middle);
          Tensor total = matmul(left, V_transposed);
          if (to_U.defined() && rows > inner) {
            const Tensor inside = matmul(U_transposed, to_U);
            const Tensor projected = matmul(U, inside);
            const Tensor outside = sub(to_U, projected);
            const Tensor weights = as_row(S);
            const Tensor columns_of_U = div(outside, weights);
            const Tensor part = matmul(columns_of_U, V_transposed);
            total = add(total, part);
          }
          if (to_V.defined() && columns > inner) {
            const Tensor inside = matmul(V_transposed, to_V);
            const Tensor projected = matmul(V, inside);
            const Tensor outside = sub(to_V, projected);
            const Tensor weights = as_row(S);
            const Tensor columns_of_V = div(outside, weights);
            const Tensor rows_of_V = transposed(columns_of_V);
            const Tensor part = matmul(U, rows_of_V);
            total = add(total, part);
          }
          g.set(0, total);
        },
    .python = "torch.linalg.svd({0}, full_matrices={1})",
};

constinit const Symbol svd_symbol{
    .signature = "torch.linalg.svd(Tensor A, bool full_matrices=True) -> (Tensor, Tensor, Tensor)",
    .documentation =
        "U, S and Vᵀ with U diag(S) Vᵀ = A, orthonormal columns of U and V, and S in descending order; full_matrices: "
        "U and V are square.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require_matrices(a[0].tensor());
          const auto [U, S, V] = prims::svd(a[0].tensor(), a[1].boolean(), at);
          out.push_back(U);
          out.push_back(S);
          out.push_back(V);
        },
};

constinit const Symbol pinv_symbol{
    .signature = "torch.linalg.pinv(Tensor A, *, float? atol=None, float? rtol=None) -> Tensor",
    .documentation =
        "The pseudoinverses by Moore and Penrose: singular values up to max(atol, rtol times the largest one) count as "
        "0; rtol is max(rows, columns) times the dtype's precision, or 0 with an atol.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& A = a[0].tensor();
          require_matrices(A);
          types.push_back(like(A, with_matrix(batch_shape(A), A.size(-1), A.size(-2))));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& A = a[0].tensor();
          const auto [U, S, V] = prims::svd(A, false, at);
          const Int longer = A.size(-1) > A.size(-2) ? A.size(-1) : A.size(-2);
          const double precision = A.dtype() == Dtype::f64 ? 0x1p-52 : 0x1p-23;
          const Float given = a[2].is_none() ? Float(a[1].is_none() ? precision : 0.0) : a[2].floating();
          const Tensor relative = mul(S, given, at);
          const bool is_default = a[1].is_none() && a[2].is_none();
          const Tensor scaled = is_default ? mul(relative, longer, at) : relative;
          const Tensor largest = S.size(-1) == 0 ? scaled : narrow(scaled, -1, 0, 1, at);
          const Tensor bound = a[1].is_none() ? largest : clamp_min(largest, a[1].floating(), at);
          const Tensor is_used = gt(S, bound, at);
          const Tensor divisors = where(is_used, S, 1, at);
          const Tensor reciprocals = div(1, divisors, {}, at);
          const Tensor weights = where(is_used, reciprocals, 0, at);
          const Tensor row = unsqueeze(weights, -2, at);
          const Tensor columns = transposed(V, at);
          const Tensor weighted = mul(columns, row, at);
          const Tensor rows = transposed(U, at);
          out.push_back(matmul(weighted, rows, at));
        },
    // For matrices of a fixed rank (Golub and Pereyra 1973).
    .gradient =
        [](Gradient& g) {
          const Tensor A = g.tensor(0), P = g.result();
          const Tensor P_transposed = transposed(P), G_transposed = transposed(g.cotangent());
          const Tensor left = matmul(P_transposed, g.cotangent());
          const Tensor inside = matmul(left, P_transposed);
          const Tensor P_PT = matmul(P, P_transposed), PT_P = matmul(P_transposed, P);
          const Tensor second = matmul(G_transposed, P_PT), third = matmul(PT_P, G_transposed);
          const Tensor A_P = matmul(A, P), P_A = matmul(P, A);
          const Tensor second_inside = matmul(A_P, second), third_inside = matmul(third, P_A);
          const Tensor second_outside = sub(second, second_inside), third_outside = sub(third, third_inside);
          const Tensor outside = add(second_outside, third_outside);
          g.set(0, sub(outside, inside));
        },
};

SymbolList factorization_symbols() {
  static constexpr const Symbol* list[] = {
      &prims_cholesky_symbol, &cholesky_symbol,  &prims_qr_symbol, &qr_symbol,   &prims_eigh_symbol,
      &eigh_symbol,           &prims_svd_symbol, &svd_symbol,      &pinv_symbol,
  };
  return list;
}

}  // namespace fulgurite
