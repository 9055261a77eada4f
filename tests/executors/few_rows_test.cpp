#include <cmath>

#include <fulgurite/compare.h>
#include <fulgurite/jit.h>
#include <fulgurite/nn.h>

#include "executors/eager/gemm_block.h"
#include "executors/fused.h"

// Products of at most sixteen rows: the bits of a row do not depend on how many rows there are.
namespace fulgurite::kernels_emulated_pairs {
void multiply_few_rows(const GemmBlock&);
}  // namespace fulgurite::kernels_emulated_pairs

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Size {
  int64_t depth, columns;
};
// Depths of less than a vector, of some vectors, and of more than the longest block; columns beyond whole tiles.
constexpr Size sizes[] = {{0, 3}, {1, 1}, {7, 5}, {64, 48}, {100, 50}, {576, 97}, {2063, 26}, {20000, 7}};

/// Σ_k x[i][k] · w[j][k], and the sum of the terms' sizes.
std::pair<double, double> sum_of(const std::vector<double>& x, const std::vector<double>& w, int64_t depth, int64_t i,
                                 int64_t j) {
  double sum = 0, size = 0;
  for (int64_t k = 0; k < depth; ++k) {
    const double term = x[i * depth + k] * w[j * depth + k];
    sum += term;
    size += std::abs(term);
  }
  return {sum, size};
}

void expect_products(const Tensor& y, const Tensor& x, const Tensor& w, double tolerance) {
  const std::vector<double> got = elements(y), left = elements(x), right = elements(w);
  const int64_t rows = x.size(0), depth = x.size(1), columns = w.size(0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const auto [sum, size] = sum_of(left, right, depth, i, j);
      expect_at_most(std::abs(got[i * columns + j] - sum), tolerance * size + 1e-30);
    }
}

}  // namespace

TEST("a row of a matmul has the same bits beside any number of other rows") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16})
    for (const auto [depth, columns] : sizes) {
      const Tensor x = make({16, depth}, dtype, -1, 1, 1), w = make({columns, depth}, dtype, -1, 1, 2);
      const Tensor bias = make({columns}, dtype, -1, 1, 3);
      const auto compiled = jit([](const Tensor& rows, const Tensor& weight, const Tensor& added) {
        return nn::linear(rows, weight, added);
      });
      expect_products(nn::linear(x, w), x, w, dtype == Dtype::f32 ? 2e-6 : dtype == Dtype::bf16 ? 5e-3 : 1e-3);
      std::vector<Tensor> alone;
      for (int64_t i = 0; i < 16; ++i) alone.push_back(nn::linear(narrow(x, 0, i, 1), w, bias));
      for (const int64_t rows : {2, 3, 5, 7, 8, 13, 16}) {
        const Tensor some = narrow(x, 0, 16 - rows, rows);
        const Tensor together = nn::linear(some, w, bias), in_jit = compiled(some, w, bias);
        expect(equal(together, in_jit));
        for (int64_t i = 0; i < rows; ++i) expect(equal(narrow(together, 0, i, 1), alone[16 - rows + i]));
      }
    }
}

// The kernels of several rows may differ in how they treat these.
TEST("a row of subnormal numbers has the same bits beside any number of other rows") {
  struct Sizes {
    double x, w;
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const auto [of_x, of_w] : {Sizes{1e-20, 1e-19}, Sizes{1e-19, 3e-19}, Sizes{5e-39, 1e10}, Sizes{5e-39, 1}}) {
      const Tensor x = make({16, 100}, dtype, -of_x, of_x, 1), w = make({50, 100}, dtype, -of_w, of_w, 2);
      const Tensor together = matmul(x, transpose(w, 0, 1));
      for (const int64_t rows : {1, 2, 4, 8, 11})
        expect(equal(matmul(narrow(x, 0, 2, rows), transpose(w, 0, 1)), narrow(together, 0, 2, rows)));
    }
}

TEST("few rows may be parts of longer ones, and be added to a sum") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const Tensor x = narrow(make({9, 90}, dtype, -1, 1, 1), 1, 3, 70),
                 w = narrow(make({31, 80}, dtype, -1, 1, 2), 1, 5, 70);
    const Tensor c = make({9, 31}, dtype, -1, 1, 3);
    const Tensor y = addmm(c, x, transpose(w, 0, 1), 0.5, 2.0);
    const std::vector<double> got = elements(y), added = elements(c), left = elements(x), right = elements(w);
    for (int64_t i = 0; i < 9; ++i)
      for (int64_t j = 0; j < 31; ++j) {
        const double sum = sum_of(left, right, 70, i, j).first;
        const double expected = 0.5 * added[i * 31 + j] + 2 * sum;
        expect_at_most(std::abs(got[i * 31 + j] - expected), (dtype == Dtype::f32 ? 2e-5 : 5e-2));
      }
  }
}

#ifdef FULGURITE_PAIR_ATTENTION
TEST("few rows of bf16 by pairs, with emulated instructions") {
  for (const auto [depth, columns] : sizes) {
    const Tensor x = make({11, depth}, Dtype::bf16, -1, 1, 1), w = make({columns, depth}, Dtype::bf16, -1, 1, 2);
    const Tensor y = empty({11, columns}, {.dtype = Dtype::bf16});
    GemmBlock block;
    block.dtype = Dtype::bf16;
    block.m = 11;
    block.n = columns;
    block.k = depth;
    block.a = x.impl()->data();
    block.a_row = block.b_column = depth;
    block.b = w.impl()->data();
    block.b_row = 1;
    block.c = y.impl()->data();
    block.c_row = columns;
    kernels_emulated_pairs::multiply_few_rows(block);
    expect_products(y, x, w, 5e-3);
    expect_near(elements(nn::linear(x, w)), elements(y), 1e-2);
  }
}
#endif
