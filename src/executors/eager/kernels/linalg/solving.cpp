// Cholesky factors, systems of linear equations and determinants.
#include <atomic>

#include "executors/eager/kernels/linalg/batches.h"
#include "executors/eager/kernels/linalg/dense.h"
#include "executors/eager/matrix_error.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

template <class To, class From>
void copy_numbers(To* to, const From* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

/// The first matrix of a batch that an algorithm refused, found by several threads.
class FirstFault {
 public:
  void note(int64_t matrix) {
    int64_t known = matrix_;
    while (matrix < known && !matrix_.compare_exchange_weak(known, matrix)) {
    }
  }
  int64_t matrix() const { return matrix_ == INT64_MAX ? -1 : matrix_.load(); }

 private:
  std::atomic<int64_t> matrix_ = INT64_MAX;
};

void cholesky_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor A = contiguous_elements(arguments[0].tensor());
  const int64_t n = last(A, 1), size = n * n;
  FirstFault fault;
  visit_matrices(A, [&]<class Element>() {
    parallel_for(batch_of(A), grain_of_cube(n), [&](int64_t begin, int64_t end) {
      const Scratch<double> memory(size);
      for (int64_t b = begin; b < end; ++b) {
        copy_numbers(memory.data(), data_of<Element>(A) + b * size, size);
        if (cholesky({memory.data(), n, n}) != 0) fault.note(b);
        copy_numbers(data_of<Element>(results[0]) + b * size, memory.data(), size);
      }
    });
  });
  if (fault.matrix() >= 0) throw_indefinite_error(fault.matrix(), batch_of(A));
}

bool has_zero_on_diagonal(const Matrix& A) {
  for (int64_t i = 0; i < A.rows; ++i)
    if (A.at(i, i) == 0) return true;
  return false;
}

void solve_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor A = contiguous_elements(arguments[0].tensor()), B = contiguous_elements(arguments[1].tensor());
  const int64_t n = last(A, 1), columns = last(B, 1), size = n * n, right = n * columns;
  FirstFault fault;
  visit_matrices(A, [&]<class Element>() {
    parallel_for(batch_of(A), grain_of_cube(n), [&](int64_t begin, int64_t end) {
      const Scratch<double> memory(size), sides(right);
      const Scratch<int64_t> order(n);
      for (int64_t b = begin; b < end; ++b) {
        const Matrix factors{memory.data(), n, n}, X{sides.data(), n, columns};
        copy_numbers(memory.data(), data_of<Element>(A) + b * size, size);
        factor_lu(factors, order.data());
        if (has_zero_on_diagonal(factors)) {
          fault.note(b);
          continue;
        }
        const Element* const given = data_of<Element>(B) + b * right;
        for (int64_t i = 0; i < n; ++i) copy_numbers(X.row(i), given + order[i] * columns, columns);
        solve_lower(factors, X, true);
        solve_upper(factors, X, false);
        copy_numbers(data_of<Element>(results[0]) + b * right, sides.data(), right);
      }
    });
  });
  if (fault.matrix() >= 0) throw_singular_error(fault.matrix(), batch_of(A));
}

void solve_triangular_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor A = contiguous_elements(arguments[0].tensor()), B = contiguous_elements(arguments[1].tensor());
  const int64_t n = last(A, 1), columns = last(B, 1), size = n * n, right = n * columns;
  const bool upper = arguments[2].boolean(), unit = arguments[3].boolean();
  visit_matrices(A, [&]<class Element>() {
    parallel_for(batch_of(A), grain_of_cube(n), [&](int64_t begin, int64_t end) {
      const Scratch<double> memory(size), sides(right);
      const Matrix triangle{memory.data(), n, n}, X{sides.data(), n, columns};
      for (int64_t b = begin; b < end; ++b) {
        copy_numbers(memory.data(), data_of<Element>(A) + b * size, size);
        copy_numbers(sides.data(), data_of<Element>(B) + b * right, right);
        if (upper) solve_upper(triangle, X, unit);
        else solve_lower(triangle, X, unit);
        copy_numbers(data_of<Element>(results[0]) + b * right, sides.data(), right);
      }
    });
  });
}

/// Calls store(b, sign, factors) for the LU factors of each matrix; the sign is that of the exchanged rows.
template <class Element, class Store>
void for_each_lu(const Tensor& A, Store&& store) {
  const int64_t n = last(A, 1), size = n * n;
  parallel_for(batch_of(A), grain_of_cube(n), [&](int64_t begin, int64_t end) {
    const Scratch<double> memory(size);
    const Scratch<int64_t> order(n);
    for (int64_t b = begin; b < end; ++b) {
      const Matrix factors{memory.data(), n, n};
      copy_numbers(memory.data(), data_of<Element>(A) + b * size, size);
      const double sign = factor_lu(factors, order.data());
      store(b, sign, factors);
    }
  });
}

void det_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor A = contiguous_elements(arguments[0].tensor());
  visit_matrices(A, [&]<class Element>() {
    for_each_lu<Element>(A, [&](int64_t b, double determinant, const Matrix& factors) {
      for (int64_t i = 0; i < factors.rows; ++i) determinant *= factors.at(i, i);
      data_of<Element>(results[0])[b] = static_cast<Element>(determinant);
    });
  });
}

void slogdet_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor A = contiguous_elements(arguments[0].tensor());
  visit_matrices(A, [&]<class Element>() {
    for_each_lu<Element>(A, [&](int64_t b, double sign, const Matrix& factors) {
      double logarithm = 0;
      for (int64_t i = 0; i < factors.rows; ++i) {
        const double factor = factors.at(i, i);
        logarithm += std::log(std::fabs(factor));
        sign *= factor > 0 ? 1 : factor < 0 ? -1 : factor;  // 0 and NaN are their own signs
      }
      data_of<Element>(results[0])[b] = static_cast<Element>(sign);
      data_of<Element>(results[1])[b] = static_cast<Element>(logarithm);
    });
  });
}

}  // namespace

KernelTable solving_kernels() {
  static constexpr KernelEntry table[] = {{&prims_cholesky_symbol, cholesky_kernel},
                                          {&prims_solve_symbol, solve_kernel},
                                          {&prims_solve_triangular_symbol, solve_triangular_kernel},
                                          {&det_symbol, det_kernel},
                                          {&slogdet_symbol, slogdet_kernel}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
