#include <fulgurite/jit.h>

#include "executors/reference.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Splits the elements by result and passes each group to `reference`.
std::vector<double> reduce(const Tensor& x, std::vector<int64_t> dims,
                           const std::function<double(const std::vector<double>&)>& reference) {
  std::vector<int64_t> order;
  const int64_t n = x.ndim();
  for (int64_t d = 0; d < n; ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  int64_t results = 1;
  for (const int64_t d : order) results *= x.size(static_cast<int>(d));
  order.insert(order.end(), dims.begin(), dims.end());
  const std::vector<double> values = elements(permute(x, Shape(order)));
  const size_t count = results == 0 ? 0 : values.size() / static_cast<size_t>(results);
  std::vector<double> reduced;
  for (int64_t r = 0; r < results; ++r)
    reduced.push_back(reference(std::vector<double>(values.begin() + static_cast<long>(r * count),
                                                    values.begin() + static_cast<long>((r + 1) * count))));
  return reduced;
}

double sum_of(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += x;
  return total;
}
double variance_of(const std::vector<double>& v) {
  const double mean = sum_of(v) / static_cast<double>(v.size());
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  return squares / static_cast<double>(v.size() - 1);
}

/// Inputs whose reductions take every path: rows, columns, strides, several dims, blocks and chunks.
struct Input {
  Tensor x;
  std::vector<int64_t> dims;
};
std::vector<Input> inputs(Dtype dtype) {
  const Tensor a = make({6, 70, 130}, dtype, -1, 1);
  return {{a, {2}},
          {a, {0}},
          {a, {1}},
          {a, {0, 1}},
          {a, {1, 2}},
          {a, {0, 2}},
          {a, {0, 1, 2}},
          {transpose(a, 1, 2), {2}},
          {transpose(a, 1, 2), {1}},
          {permute(a, {2, 0, 1}), {0, 2}},
          {narrow(a, 2, 7, 50), {2}},
          {narrow(a, 2, 7, 3), {1}},
          {make({3, 20000}, dtype, -1, 1, 2), {1}},
          {make({5000, 3}, dtype, -1, 1, 3), {0}},
          {make({3000, 40}, dtype, -1, 1, 4), {0}},
          {make({1}, dtype, -1, 1, 5), {0}},
          {make({100, 1}, dtype, -1, 1, 6), {1}}};
}

}  // namespace

TEST("sums, means and products along any dimensions") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16}) {
    const double tolerance = dtype == Dtype::bf16 ? 1e-2 : 10 * tolerance_of(dtype);
    for (const Input& input : inputs(dtype)) {
      expect_near(elements(sum(input.x, input.dims)), reduce(input.x, input.dims, sum_of), 10 * tolerance);
      expect_near(elements(mean(input.x, input.dims)),
                  reduce(input.x, input.dims, [](const auto& v) { return sum_of(v) / static_cast<double>(v.size()); }),
                  tolerance);
      if (input.dims.size() > 1) continue;
      const auto product = [](const std::vector<double>& v) {
        double total = 1;
        for (const double x : v) total *= x;
        return total;
      };
      expect_near(elements(prod(input.x, Int(input.dims[0]))), reduce(input.x, input.dims, product), tolerance);
    }
  }
}

TEST("sums of integers and booleans are i64") {
  for (const Dtype dtype : {Dtype::i64, Dtype::i32, Dtype::u8, Dtype::boolean}) {
    const Tensor x = make({40, 50, 30}, dtype, 0, 100);
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {2}, {0, 1, 2}}) {
      expect_equal(sum(x, dims).dtype(), Dtype::i64);
      expect_equal(elements(sum(x, dims)), reduce(x, dims, sum_of));
    }
  }
  expect_equal(sum(tensor({1.5f, 2.5f}), {}, false, Dtype::i32).dtype(), Dtype::i32);
  expect_equal(sum(make({10}, Dtype::bf16, 1, 2), {}, false, Dtype::f32).dtype(), Dtype::f32);
}

TEST("extrema and their indices") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::i64, Dtype::i8})
    for (const Input& input : inputs(dtype)) {
      const Tensor x = is_floating(dtype) ? input.x : mul(input.x, 1);
      expect_equal(elements(amax(x, input.dims)),
                   reduce(x, input.dims, [](const auto& v) { return *std::max_element(v.begin(), v.end()); }));
      expect_equal(elements(amin(x, input.dims)),
                   reduce(x, input.dims, [](const auto& v) { return *std::min_element(v.begin(), v.end()); }));
      if (input.dims.size() > 1) continue;
      const auto first = [](const auto& v) {
        return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin());
      };
      const auto first_smallest = [](const auto& v) {
        return static_cast<double>(std::min_element(v.begin(), v.end()) - v.begin());
      };
      expect_equal(elements(argmax(x, Int(input.dims[0]))), reduce(x, input.dims, first));
      expect_equal(elements(argmin(x, Int(input.dims[0]))), reduce(x, input.dims, first_smallest));
    }
  const Tensor flat = make({30, 40}, Dtype::f32, -1, 1);
  const std::vector<double> values = elements(flat);
  expect_equal(argmax(flat).item<int64_t>(), std::max_element(values.begin(), values.end()) - values.begin());
}

TEST("NaN is the extremum, wherever it stands") {
  for (const int64_t place : {0, 5, 17, 99, 9000}) {
    const Tensor x = zeros({10000});
    x.data<float>()[place] = NAN;
    expect(std::isnan(amax(x).item<float>()) && std::isnan(amin(x).item<float>()));
    expect_equal(argmax(x).item<int64_t>(), place);
    expect_equal(argmin(x).item<int64_t>(), place);
    const Tensor columns = reshape(x, {100, 100});
    expect(std::isnan(amax(columns, 0).to_vector<float>()[static_cast<size_t>(place % 100)]));
  }
}

TEST("variances and standard deviations") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32})
    for (const Input& input : inputs(dtype)) {
      const std::vector<double> expected = reduce(input.x, input.dims, variance_of);
      expect_near(elements(var(input.x, input.dims)), expected, 10 * tolerance_of(dtype));
      const auto [deviation, mean_value] = std_mean(input.x, input.dims);
      std::vector<double> roots = expected;
      for (double& x : roots) x = std::sqrt(x);
      expect_near(elements(deviation), roots, 10 * tolerance_of(dtype));
      expect_near(elements(mean_value), elements(mean(input.x, input.dims)), 10 * tolerance_of(dtype));
    }
  // Far from zero the squares alone would cancel.
  const Tensor shifted = add(make({10000}, Dtype::f32, 0, 1), 1000);
  expect_near(var(shifted).item<float>(), variance_of(elements(shifted)), 1e-6);
  expect_near(elements(var(tensor({1.f, 3.f}), {}, 0)), {1});
}

TEST("truth") {
  const Tensor x = make({20, 30}, Dtype::i32, 0, 2);
  const auto any_of = [](const std::vector<double>& v) { return sum_of(v) != 0; };
  const auto all_of = [](const std::vector<double>& v) { return std::find(v.begin(), v.end(), 0.0) == v.end(); };
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
    expect_equal(elements(any(x, dims)), reduce(x, dims, any_of));
    expect_equal(elements(all(x, dims)), reduce(x, dims, all_of));
  }
  expect_equal(any(x).dtype(), Dtype::boolean);
}

TEST("reductions of nothing give what combines to nothing") {
  const Tensor empty = zeros({0, 3});
  expect_equal(elements(sum(empty, 0)), std::vector<double>{0, 0, 0});
  expect_equal(sum(empty).item<float>(), 0.f);
  expect_equal(prod(empty).item<float>(), 1.f);
  expect(std::isnan(mean(empty).item<float>()));
  expect(std::isnan(var(empty).item<float>()));
  expect_equal(all(empty).item<bool>(), true);
  expect_equal(any(empty).item<bool>(), false);
  expect_equal(sum(zeros({3, 0}), 0).numel(), Int(0));
}

TEST("running sums along any dimension") {
  const Tensor x = make({7, 80, 9}, Dtype::f32, -1, 1);
  for (const int64_t dim : {0, 1, 2}) {
    const Tensor result = cumsum(x, Int(dim));
    for (const int64_t end : {1, 4, 7})
      expect_near(elements(select(result, dim, end - 1)), elements(sum(narrow(x, dim, 0, end), Int(dim))), 1e-6);
  }
  expect_equal(elements(cumsum(tensor({true, true, false}), 0)), std::vector<double>{1, 2, 2});
  expect_near(elements(cumsum(transpose(x, 0, 2), 1)), elements(transpose(cumsum(x, 1), 0, 2)), 0);
}

TEST("norms") {
  const Tensor x = make({30, 400}, Dtype::f32, -1, 1);
  const auto euclidean = [](const std::vector<double>& v) {
    double squares = 0;
    for (const double value : v) squares += value * value;
    return std::sqrt(squares);
  };
  expect_near(elements(linalg::vector_norm(x, 2, 1)), reduce(x, {1}, euclidean), 1e-6);
  expect_near(elements(linalg::vector_norm(x, 2, 0)), reduce(x, {0}, euclidean), 1e-6);
  expect_near(elements(linalg::vector_norm(x)), reduce(x, {0, 1}, euclidean), 1e-6);
}

TEST("the norm of one element is its size") {
  const Tensor x = tensor({{1e30, -1e30, 1e-30, 0.0}});
  const std::vector<float> sizes{1e30f, 1e30f, 1e-30f, 0.f};
  for (const double order : {1.0, 2.0, 3.0, 0.5, -1e-300, double(INFINITY), -double(INFINITY)}) {
    expect_equal(linalg::vector_norm(x, order, 0).to_vector<float>(), sizes);
    expect_equal(jit([order](Tensor t) { return linalg::vector_norm(t, order, 0); })(x).to_vector<float>(), sizes);
  }
  expect_equal(linalg::vector_norm(x, 0, 0).to_vector<float>(), std::vector<float>{1, 1, 1, 0});
  expect_equal(linalg::vector_norm(tensor(-1e30)).item<float>(), 1e30f);
  for (const double order : {2.0, 3.0}) {
    const Tensor leaf = tensor({{1e30, -1e30, 0.0}}).requires_grad_();
    sum(linalg::vector_norm(leaf, order, 0)).backward();
    expect_equal(leaf.grad().to_vector<float>(), std::vector<float>{1, -1, 0});
  }
}

TEST("a reduction's bits do not depend on the number of threads") {
  const Tensor x = make({2000, 1500}, Dtype::f32, -1, 1);
  const int threads = num_threads();
  std::vector<std::vector<double>> results;
  for (const int count : {1, 2, 3}) {
    set_num_threads(count);
    std::vector<double> all = elements(sum(x, 0));
    for (const Tensor& t : {sum(x, 1), sum(x), var(x), amax(x, 0), linalg::vector_norm(x)})
      for (const double value : elements(t)) all.push_back(value);
    results.push_back(all);
  }
  set_num_threads(threads);
  expect(results[0] == results[1] && results[1] == results[2]);
}

TEST("sums and products of dtype bool convert elements first") {
  const Tensor x = tensor({0.25, -0.25, 0.0, 0.0}).to(Dtype::f64).reshape({2, 2});
  expect_equal(elements(sum(x, 1, false, Dtype::boolean)), std::vector<double>{1, 0});
  expect_equal(elements(prod(x, 1, false, Dtype::boolean)), std::vector<double>{1, 0});
  expect_equal(elements(sum(tensor({1, -1}), {}, false, Dtype::boolean)), std::vector<double>{1});
}
