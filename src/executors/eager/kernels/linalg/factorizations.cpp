// QR factors, eigenvalues of symmetric matrices, singular values.
#include <algorithm>
#include <numeric>

#include "executors/eager/kernels/linalg/batches.h"
#include "executors/eager/kernels/linalg/dense.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

void set_identity(const Matrix& A) {
  for (int64_t i = 0; i < A.rows; ++i)
    for (int64_t j = 0; j < A.columns; ++j) A.at(i, j) = i == j;
}

template <class Element>
void qr(const Element* from, const Matrix& A, const Matrix& Q, double* tau, double* sums, Element* to_Q, Element* to_R,
        int64_t inner) {
  for (int64_t i = 0; i < A.rows * A.columns; ++i) A.data[i] = static_cast<double>(from[i]);
  factor_qr(A, tau, sums);
  form_q(A, tau, Q, sums);
  for (int64_t i = 0; i < Q.rows * Q.columns; ++i) to_Q[i] = static_cast<Element>(Q.data[i]);
  for (int64_t i = 0; i < inner; ++i)
    for (int64_t j = 0; j < A.columns; ++j)
      to_R[i * A.columns + j] = j < i ? Element(0) : static_cast<Element>(A.at(i, j));
}

void qr_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor given = contiguous_elements(arguments[0].tensor());
  const int64_t rows = last(given, 2), columns = last(given, 1), inner = last(results[0], 1);
  visit_matrices(given, [&]<class Element>() {
    parallel_for(batch_of(given), grain_of_cube(std::max(rows, columns)), [&](int64_t begin, int64_t end) {
      const Scratch<double> matrix(rows * columns), factor(rows * inner), tau(columns), sums(std::max(columns, inner));
      for (int64_t b = begin; b < end; ++b)
        qr(data_of<Element>(given) + b * rows * columns, {matrix.data(), rows, columns}, {factor.data(), rows, inner},
           tau.data(), sums.data(), data_of<Element>(results[0]) + b * rows * inner,
           data_of<Element>(results[1]) + b * inner * columns, inner);
    });
  });
}

template <class Element>
void eigh(const Element* from, const Matrix& A, const Matrix& V, int64_t* order, Element* values, Element* vectors) {
  const int64_t n = A.rows;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) A.at(i, j) = A.at(j, i) = static_cast<double>(from[i * n + j]);
  set_identity(V);
  diagonalize(A, V);
  std::iota(order, order + n, int64_t{0});
  std::stable_sort(order, order + n, [&](int64_t a, int64_t b) { return A.at(a, a) < A.at(b, b); });
  for (int64_t k = 0; k < n; ++k) {
    values[k] = static_cast<Element>(A.at(order[k], order[k]));
    for (int64_t i = 0; i < n; ++i) vectors[i * n + k] = static_cast<Element>(V.at(order[k], i));
  }
}

void eigh_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor given = contiguous_elements(arguments[0].tensor());
  const int64_t n = last(given, 1);
  visit_matrices(given, [&]<class Element>() {
    parallel_for(batch_of(given), grain_of_cube(n), [&](int64_t begin, int64_t end) {
      const Scratch<double> matrix(n * n), vectors(n * n);
      const Scratch<int64_t> order(n);
      for (int64_t b = begin; b < end; ++b)
        eigh(data_of<Element>(given) + b * n * n, {matrix.data(), n, n}, {vectors.data(), n, n}, order.data(),
             data_of<Element>(results[0]) + b * n, data_of<Element>(results[1]) + b * n * n);
    });
  });
}

/// One matrix's work: the shorter side's rows are made orthogonal. `turned` is A or its transpose, with the most
/// columns; `combined` and `unit` have the singular vectors of either side as rows.
struct SvdWork {
  Matrix turned, combined, unit;
  double* lengths;
  int64_t* order;

  void run() const {
    const int64_t inner = turned.rows;
    set_identity({combined.data, inner, inner});
    orthogonalize_rows(turned, {combined.data, inner, inner});
    for (int64_t k = 0; k < inner; ++k)
      lengths[k] = std::sqrt(inner_product(turned.row(k), turned.row(k), turned.columns));
    std::iota(order, order + inner, int64_t{0});
    std::stable_sort(order, order + inner, [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
    const double least = inner == 0 ? 0 : lengths[order[0]] * 1e-300;
    for (int64_t k = 0; k < unit.rows; ++k) {
      const double length = k < inner ? lengths[order[k]] : 0;
      if (!(length > least) && length == length) complete_row(unit, k);
      else
        for (int64_t i = 0; i < unit.columns; ++i) unit.at(k, i) = turned.at(order[k], i) / length;
    }
  }
};

/// Singular vectors as the columns of U and the rows of Vᵀ.
template <class Element>
void store_vectors(const SvdWork& work, bool is_wide, int64_t rows, int64_t columns, int64_t u_columns, Element* U,
                   Element* Vt, int64_t v_rows) {
  const int64_t inner = work.turned.rows;
  const auto combined = [&](int64_t k, int64_t i) { return work.combined.data[work.order[k] * inner + i]; };
  for (int64_t k = 0; k < u_columns; ++k)
    for (int64_t i = 0; i < rows; ++i)
      U[i * u_columns + k] = static_cast<Element>(is_wide ? combined(k, i) : work.unit.at(k, i));
  for (int64_t k = 0; k < v_rows; ++k)
    for (int64_t i = 0; i < columns; ++i)
      Vt[k * columns + i] = static_cast<Element>(is_wide ? work.unit.at(k, i) : combined(k, i));
}

template <class Element>
void svd(const Element* from, const SvdWork& work, int64_t rows, int64_t columns, Element* U, int64_t u_columns,
         Element* S, Element* Vt, int64_t v_rows) {
  const bool is_wide = rows <= columns;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      (is_wide ? work.turned.at(i, j) : work.turned.at(j, i)) = static_cast<double>(from[i * columns + j]);
  work.run();
  for (int64_t k = 0; k < work.turned.rows; ++k) S[k] = static_cast<Element>(work.lengths[work.order[k]]);
  store_vectors(work, is_wide, rows, columns, u_columns, U, Vt, v_rows);
}

void svd_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor given = contiguous_elements(arguments[0].tensor());
  const int64_t rows = last(given, 2), columns = last(given, 1), inner = std::min(rows, columns);
  const int64_t longer = std::max(rows, columns), u_columns = last(results[0], 1), v_rows = last(results[2], 2);
  const int64_t units = rows <= columns ? v_rows : u_columns;
  visit_matrices(given, [&]<class Element>() {
    parallel_for(batch_of(given), grain_of_cube(longer), [&](int64_t begin, int64_t end) {
      const Scratch<double> turned(inner * longer), combined(inner * inner), unit(units * longer), lengths(inner);
      const Scratch<int64_t> order(inner);
      const SvdWork work{{turned.data(), inner, longer},
                         {combined.data(), inner, inner},
                         {unit.data(), units, longer},
                         lengths.data(),
                         order.data()};
      for (int64_t b = begin; b < end; ++b)
        svd(data_of<Element>(given) + b * rows * columns, work, rows, columns,
            data_of<Element>(results[0]) + b * rows * u_columns, u_columns, data_of<Element>(results[1]) + b * inner,
            data_of<Element>(results[2]) + b * v_rows * columns, v_rows);
    });
  });
}

}  // namespace

KernelTable factorization_kernels() {
  static constexpr KernelEntry table[] = {
      {&prims_qr_symbol, qr_kernel}, {&prims_eigh_symbol, eigh_kernel}, {&prims_svd_symbol, svd_kernel}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
