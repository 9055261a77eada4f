#pragma once
#include <cmath>
#include <cstdint>
#include <utility>

#include "executors/eager/kernels/common/compute.h"

// Algorithms on one dense matrix of doubles in row-major order: f32 matrices are computed in f64 too.
namespace fulgurite::FULGURITE_KERNELS {

/// A matrix in memory of its caller.
struct Matrix {
  double* data;
  int64_t rows, columns;
  double* row(int64_t i) const { return data + i * columns; }
  double& at(int64_t i, int64_t j) const { return data[i * columns + j]; }
};

/// The inner product of two rows, in eight sums that the compiler keeps in vectors.
inline double inner_product(const double* a, const double* b, int64_t count) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  double rest = 0;
  for (; i < count; ++i) rest += a[i] * b[i];
  for (int k = 0; k < 8; ++k) rest += sums[k];
  return rest;
}

/// to += factor * from.
inline void add_row(double* to, double factor, const double* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

inline void swap_rows(double* a, double* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::swap(a[i], b[i]);
}

/// The lower Cholesky factor in the place of A's lower triangle, and zeros above. Returns the order of the first
/// leading minor that is not positive, or 0.
inline int64_t cholesky(const Matrix& A) {
  const int64_t n = A.rows;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) A.at(i, j) = (A.at(i, j) - inner_product(A.row(i), A.row(j), j)) / A.at(j, j);
    const double square = A.at(i, i) - inner_product(A.row(i), A.row(i), i);
    if (!(square > 0)) return i + 1;
    A.at(i, i) = std::sqrt(square);
    for (int64_t j = i + 1; j < n; ++j) A.at(i, j) = 0;
  }
  return 0;
}

/// LU factors with exchanged rows in the place of A; `order` are the rows of A that the factors' rows were. Returns the
/// sign of the permutation.
inline double factor_lu(const Matrix& A, int64_t* order) {
  const int64_t n = A.rows;
  double sign = 1;
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::fabs(A.at(i, k)) > std::fabs(A.at(pivot, k))) pivot = i;
    if (pivot != k) {
      swap_rows(A.row(pivot), A.row(k), n);
      std::swap(order[pivot], order[k]);
      sign = -sign;
    }
    if (A.at(k, k) == 0) continue;
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = A.at(i, k) /= A.at(k, k);
      add_row(A.row(i) + k + 1, -factor, A.row(k) + k + 1, n - k - 1);
    }
  }
  return sign;
}

/// Solves a triangular system in the place of its right sides.
inline void solve_lower(const Matrix& A, const Matrix& B, bool unit) {
  for (int64_t i = 0; i < A.rows; ++i) {
    for (int64_t j = 0; j < i; ++j) add_row(B.row(i), -A.at(i, j), B.row(j), B.columns);
    if (!unit)
      for (int64_t c = 0; c < B.columns; ++c) B.at(i, c) /= A.at(i, i);
  }
}
inline void solve_upper(const Matrix& A, const Matrix& B, bool unit) {
  for (int64_t i = A.rows; i-- > 0;) {
    for (int64_t j = i + 1; j < A.rows; ++j) add_row(B.row(i), -A.at(i, j), B.row(j), B.columns);
    if (!unit)
      for (int64_t c = 0; c < B.columns; ++c) B.at(i, c) /= A.at(i, i);
  }
}

/// Householder's reflections: R in the upper triangle of A, the vectors below it, their factors in `tau`; LAPACK's
/// signs.
inline void factor_qr(const Matrix& A, double* tau, double* sums) {
  const int64_t inner = A.rows < A.columns ? A.rows : A.columns;
  for (int64_t k = 0; k < inner; ++k) {
    double square = 0;
    for (int64_t i = k + 1; i < A.rows; ++i) square += A.at(i, k) * A.at(i, k);
    tau[k] = 0;
    if (square == 0) continue;
    const double head = A.at(k, k), length = std::hypot(head, std::sqrt(square));
    const double end = std::signbit(head) ? length : -length;
    tau[k] = (end - head) / end;
    for (int64_t i = k + 1; i < A.rows; ++i) A.at(i, k) /= head - end;
    A.at(k, k) = end;
    const int64_t rest = A.columns - k - 1;
    for (int64_t j = 0; j < rest; ++j) sums[j] = A.at(k, k + 1 + j);
    for (int64_t i = k + 1; i < A.rows; ++i) add_row(sums, A.at(i, k), A.row(i) + k + 1, rest);
    add_row(A.row(k) + k + 1, -tau[k], sums, rest);
    for (int64_t i = k + 1; i < A.rows; ++i) add_row(A.row(i) + k + 1, -tau[k] * A.at(i, k), sums, rest);
  }
}

/// The product of the reflections, the first columns of it: Q has as many as wanted.
inline void form_q(const Matrix& A, const double* tau, const Matrix& Q, double* sums) {
  const int64_t inner = A.rows < A.columns ? A.rows : A.columns;
  for (int64_t i = 0; i < Q.rows; ++i)
    for (int64_t j = 0; j < Q.columns; ++j) Q.at(i, j) = i == j;
  for (int64_t k = inner; k-- > 0;) {
    if (tau[k] == 0) continue;
    for (int64_t j = 0; j < Q.columns; ++j) sums[j] = Q.at(k, j);
    for (int64_t i = k + 1; i < A.rows; ++i) add_row(sums, A.at(i, k), Q.row(i), Q.columns);
    add_row(Q.row(k), -tau[k], sums, Q.columns);
    for (int64_t i = k + 1; i < A.rows; ++i) add_row(Q.row(i), -tau[k] * A.at(i, k), sums, Q.columns);
  }
}

/// The rotation of two rows by an angle.
inline void rotate_rows(double* a, double* b, double cosine, double sine, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double x = a[i], y = b[i];
    a[i] = cosine * x - sine * y;
    b[i] = sine * x + cosine * y;
  }
}

/// The cosine and sine of Jacobi's rotation, from the tangent's equation t^2 + 2 zeta t = 1.
struct Rotation {
  double cosine, sine;
  explicit Rotation(double zeta) {
    const double tangent = std::copysign(1 / (std::fabs(zeta) + std::hypot(zeta, 1.0)), zeta);
    cosine = 1 / std::sqrt(1 + tangent * tangent);
    sine = cosine * tangent;
  }
};

constexpr int max_rounds = 60;

/// Jacobi's rotations: the symmetric A becomes diagonal; the rows of V, which begins as the identity, become the
/// eigenvectors. A matrix with NaN stays as it is.
inline void diagonalize(const Matrix& A, const Matrix& V) {
  const int64_t n = A.rows;
  const double negligible = 1e-17 * std::sqrt(inner_product(A.data, A.data, n * n));
  for (int round = 0; round < max_rounds; ++round) {
    bool has_changed = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double off = A.at(p, q);
        if (!(std::fabs(off) > negligible)) continue;
        has_changed = true;
        const Rotation turn((A.at(q, q) - A.at(p, p)) / (2 * off));
        rotate_rows(A.row(p), A.row(q), turn.cosine, turn.sine, n);
        for (int64_t i = 0; i < n; ++i) {
          const double x = A.at(i, p), y = A.at(i, q);
          A.at(i, p) = turn.cosine * x - turn.sine * y;
          A.at(i, q) = turn.sine * x + turn.cosine * y;
        }
        A.at(p, q) = A.at(q, p) = 0;
        rotate_rows(V.row(p), V.row(q), turn.cosine, turn.sine, n);
      }
    if (!has_changed) return;
  }
}

/// Hestenes' rotations: the rows of A become orthogonal, and the rows of J, which begins as the identity, the
/// combinations of A's rows that they are.
inline void orthogonalize_rows(const Matrix& A, const Matrix& J) {
  const double negligible = 2.3e-16 * std::sqrt(static_cast<double>(A.columns));
  for (int round = 0; round < max_rounds; ++round) {
    bool has_changed = false;
    for (int64_t p = 0; p < A.rows; ++p)
      for (int64_t q = p + 1; q < A.rows; ++q) {
        const double first = inner_product(A.row(p), A.row(p), A.columns);
        const double second = inner_product(A.row(q), A.row(q), A.columns);
        const double mixed = inner_product(A.row(p), A.row(q), A.columns);
        if (!(std::fabs(mixed) > negligible * std::sqrt(first) * std::sqrt(second) && std::fabs(mixed) > 1e-290))
          continue;
        has_changed = true;
        const Rotation turn((second - first) / (2 * mixed));
        rotate_rows(A.row(p), A.row(q), turn.cosine, turn.sine, A.columns);
        rotate_rows(J.row(p), J.row(q), turn.cosine, turn.sine, J.columns);
      }
    if (!has_changed) return;
  }
}

/// Makes row `k` a unit vector at right angles to those before it.
inline void complete_row(const Matrix& A, int64_t k) {
  for (int64_t axis = 0; axis < A.columns; ++axis) {
    double* const row = A.row(k);
    for (int64_t i = 0; i < A.columns; ++i) row[i] = i == axis;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < k; ++j) add_row(row, -inner_product(row, A.row(j), A.columns), A.row(j), A.columns);
    const double length = std::sqrt(inner_product(row, row, A.columns));
    if (length * length * static_cast<double>(2 * A.columns) < 1) continue;  // some axis is longer
    for (int64_t i = 0; i < A.columns; ++i) row[i] /= length;
    return;
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
