#include "executors/fused.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The matmul of two stacks with equal batch sizes, by its definition.
std::vector<double> product(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = elements(a), y = elements(b);
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1),
                batch = m * k == 0 ? 0 : static_cast<int64_t>(x.size()) / (m * k);
  std::vector<double> result;
  for (int64_t s = 0; s < batch; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += x[(s * m + i) * k + l] * y[(s * k + l) * n + j];
        result.push_back(sum);
      }
  return result;
}

// For sums of some hundred terms that may cancel.
double gemm_tolerance(Dtype dtype) {
  return is_floating(dtype) ? std::max(tolerance_of(dtype) * 4, dtype == Dtype::f32 ? 3e-5 : 0) : 0;
}

}  // namespace

TEST("matrix products of every dtype and layout") {
  for (const Dtype dtype :
       {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i64, Dtype::i32, Dtype::i8, Dtype::u8}) {
    const double low = dtype == Dtype::u8 ? 0 : -3;
    for (const auto& [m, k, n] :
         {std::array<int64_t, 3>{5, 7, 3}, {64, 33, 130}, {200, 90, 17}, {1, 50, 40}, {40, 50, 1}, {1, 9, 1}}) {
      if (dtype != Dtype::f32 && m * k * n > 100000 && !is_floating(dtype)) continue;
      const int64_t small = dtype == Dtype::i8 || dtype == Dtype::u8 ? std::min<int64_t>(k, 9) : k;
      const Tensor a = make({m, small}, dtype, low, 3, 1), b = make({small, n}, dtype, low, 3, 2);
      const Tensor a_turned = transpose(make({small, m}, dtype, low, 3, 3), 0, 1);
      const Tensor b_turned = transpose(make({n, small}, dtype, low, 3, 4), 0, 1);
      const Tensor a_steps = prims::slice(make({m, 2 * small}, dtype, low, 3, 5), 1, 0, 2 * small, 2);
      const Tensor b_steps = prims::slice(make({small, 2 * n}, dtype, low, 3, 6), 1, 0, 2 * n, 2);
      const double tolerance = gemm_tolerance(dtype);
      for (const Tensor& x : {a, a_turned, a_steps})
        for (const Tensor& y : {b, b_turned, b_steps}) expect_near(elements(matmul(x, y)), product(x, y), tolerance);
      expect_near(elements(matmul(narrow(a, 0, 0, m), expand(make({small, 1}, dtype, low, 3, 7), {small, n}))),
                  product(a, expand(make({small, 1}, dtype, low, 3, 7), {small, n})), tolerance);
    }
  }
}

TEST("matmuls of stacks broadcast their batch dimensions") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64}) {
    const Tensor a = make({2, 3, 4, 5}, dtype, -1, 1, 1), b = make({2, 3, 5, 6}, dtype, -1, 1, 2);
    const double tolerance = gemm_tolerance(dtype);
    expect_near(elements(matmul(a, b)), product(a, b), tolerance);
    const Tensor one = make({5, 6}, dtype, -1, 1, 3);
    expect_near(elements(matmul(a, one)), product(a, expand(one, {2, 3, 5, 6})), tolerance);
    const Tensor middle = make({3, 5, 6}, dtype, -1, 1, 4);
    expect_near(elements(matmul(a, middle)), product(a, expand(middle, {2, 3, 5, 6})), tolerance);
    const Tensor single = make({2, 1, 4, 5}, dtype, -1, 1, 5);
    expect_near(elements(matmul(single, middle)), product(expand(single, {2, 3, 4, 5}), expand(middle, {2, 3, 5, 6})),
                tolerance);
    const Tensor turned = transpose(make({2, 4, 3, 5}, dtype, -1, 1, 6), 1, 2);
    expect_near(elements(matmul(turned, one)), product(turned, expand(one, {2, 3, 5, 6})), tolerance);
    const Tensor vector = make({5}, dtype, -1, 1, 7);
    expect_near(elements(matmul(a, vector)), product(a, expand(unsqueeze(vector, -1), {2, 3, 5, 1})), tolerance);
    const Tensor row = make({4}, dtype, -1, 1, 8);
    expect_near(elements(matmul(row, a)), product(expand(unsqueeze(row, 0), {2, 3, 1, 4}), a), tolerance);
    expect_equal(matmul(row, a).shape(), Shape({2, 3, 5}));
  }
}

TEST("matmuls over an empty dimension are zero, matmuls of empty tensors are empty") {
  const Tensor nothing = matmul(make({3, 0}, Dtype::f32, 0, 1), make({0, 4}, Dtype::f32, 0, 1));
  expect_near(elements(nothing), std::vector<double>(12, 0.0));
  expect_equal(matmul(make({0, 3}, Dtype::f32, 0, 1), make({3, 4}, Dtype::f32, 0, 1)).shape(), Shape({0, 4}));
  const Tensor bias = make({4}, Dtype::f32, -1, 1);
  const Tensor only_bias = nn::linear(make({2, 0}, Dtype::f32, 0, 1), make({4, 0}, Dtype::f32, 0, 1), bias);
  expect_near(elements(only_bias), elements(expand(bias, {2, 4})));
}

TEST("linear adds its bias, addmm its scaled input") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64, Dtype::f16}) {
    const Tensor x = make({2, 50, 33}, dtype, -1, 1, 1), weight = make({20, 33}, dtype, -1, 1, 2),
                 bias = make({20}, dtype, -1, 1, 3);
    std::vector<double> expected = product(x, expand(transpose(weight, 0, 1), {2, 33, 20}));
    const std::vector<double> added = elements(bias);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += added[i % 20];
    expect_near(elements(nn::linear(x, weight, bias)), expected, gemm_tolerance(dtype));
    const Tensor vector = make({33}, dtype, -1, 1, 4);
    expect_near(elements(nn::linear(x, vector)), product(x, expand(unsqueeze(vector, 1), {2, 33, 1})),
                gemm_tolerance(dtype));

    const Tensor a = make({30, 33}, dtype, -1, 1, 5), b = make({33, 20}, dtype, -1, 1, 6);
    for (const Tensor& input : {make({30, 20}, dtype, -1, 1, 7), bias, make({30, 1}, dtype, -1, 1, 8)}) {
      std::vector<double> sum = product(a, b);
      const std::vector<double> first = elements(expand(input, {30, 20}));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = 0.5 * first[i] + 2 * sum[i];
      expect_near(elements(addmm(input, a, b, 0.5, 2.0)), sum, gemm_tolerance(dtype) * 2);
    }
  }
  const Tensor a = make({3, 4}, Dtype::i64, -9, 9, 1), b = make({4, 5}, Dtype::i64, -9, 9, 2),
               c = make({3, 5}, Dtype::i64, -9, 9, 3);
  std::vector<double> sum = product(a, b);
  const std::vector<double> first = elements(c);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = 3 * first[i] + 2 * sum[i];
  expect_near(elements(addmm(c, a, b, 3, 2)), sum, 0);
}

TEST("matmuls do not depend on the number of threads") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64}) {
    const Tensor a = make({300, 70}, dtype, -1, 1, 1), b = make({70, 190}, dtype, -1, 1, 2),
                 row = make({1, 3000}, dtype, -1, 1, 3);
    const Tensor wide = make({3000, 300}, dtype, -1, 1, 4), bias = make({190}, dtype, -1, 1, 5);
    expect_same_bits([&] {
      return std::vector<Tensor>{matmul(a, b), matmul(transpose(b, 0, 1), transpose(a, 0, 1)), matmul(row, wide),
                                 nn::linear(a, transpose(b, 0, 1), bias),
                                 matmul(transpose(wide, 0, 1), transpose(row, 0, 1))};
    });
  }
}
