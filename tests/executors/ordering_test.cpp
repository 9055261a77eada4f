#include <algorithm>
#include <cmath>
#include <numeric>

#include "executors/fused.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr Dtype all_dtypes[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i64,
                                Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,  Dtype::boolean};

bool comes_before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// The indices of a row's elements in order, equal ones in their original order.
std::vector<int64_t> order_of(const std::vector<double>& row, bool descending) {
  std::vector<int64_t> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    const double a = row[static_cast<size_t>(i)], b = row[static_cast<size_t>(j)];
    return descending ? comes_before(b, a) : comes_before(a, b);
  });
  return places;
}

/// Requires values and indices along the last dimension to be the first `count` of each row in order.
void expect_ordered(const Tensor& x, const Tensor& values, const Tensor& places, bool descending,
                    SourceLocation at = SourceLocation::here()) {
  const std::vector<double> all = elements(x), given = elements(values), given_places = elements(places);
  const size_t length = static_cast<size_t>(x.size(-1).hint()), count = static_cast<size_t>(values.size(-1).hint());
  std::vector<double> expected, expected_places;
  for (size_t first = 0; first < all.size(); first += length) {
    const std::vector<double> row(all.begin() + static_cast<std::ptrdiff_t>(first),
                                  all.begin() + static_cast<std::ptrdiff_t>(first + length));
    const std::vector<int64_t> order = order_of(row, descending);
    for (size_t i = 0; i < count; ++i) {
      expected.push_back(row[static_cast<size_t>(order[i])]);
      expected_places.push_back(static_cast<double>(order[i]));
    }
  }
  expect_near(given, expected, 0, at);
  expect_near(given_places, expected_places, 0, at);
}

Tensor with_specials(Tensor x) {
  if (!is_floating(x.dtype()) || x.size(-1) < 10) return x;
  const auto set = [&](int64_t place, double number) { x(Ellipsis, place) = number; };
  set(1, NAN);
  set(2, -0.0);
  set(4, HUGE_VAL);
  set(5, 0.0);
  set(6, -HUGE_VAL);
  set(7, -NAN);
  set(9, -0.0);
  return x;
}

}  // namespace

TEST("sort orders rows of every length and dtype, equal elements as they stand, in any strides") {
  for (const Dtype dtype : all_dtypes)
    for (const int64_t length : {1, 2, 13, 24, 25, 100, 160, 161, 700, 70000}) {
      const int64_t rows = length > 1000 ? 1 : 3;
      const bool is_unsigned = dtype == Dtype::u8 || dtype == Dtype::boolean;
      const Tensor x =
          with_specials(make({rows, length}, dtype, is_unsigned ? 0 : -100, 100, static_cast<uint64_t>(length)));
      for (const bool descending : {false, true}) {
        const auto [values, places] = sort(x, -1, descending, true);
        expect_ordered(x, values, places, descending);
        const Tensor turned = transpose(x, 0, 1).contiguous();
        const auto [columns, column_places] = sort(turned, 0, descending, true);
        expect_ordered(x, transpose(columns, 0, 1), transpose(column_places, 0, 1), descending);
      }
    }
}

TEST("sort keeps the signs of zeros where they stand") {
  const Tensor x = tensor(std::vector<double>{0.0, -0.0, 1, -0.0, -1});
  const auto [values, places] = sort(x, 0, false, true);
  const Tensor inverse = 1.0 / values;
  expect_near(elements(inverse), {-1, HUGE_VAL, -HUGE_VAL, -HUGE_VAL, 1});
  expect_near(elements(places), {4, 0, 1, 3, 2});
}

TEST("wide integers are ordered by all their bits") {
  const std::vector<int64_t> numbers = {INT64_MAX, INT64_MIN, 0, -1, 1, int64_t{1} << 40, -(int64_t{1} << 40)};
  expect_equal(std::get<0>(sort(tensor(numbers))).to_vector<int64_t>(),
               (std::vector<int64_t>{INT64_MIN, -(int64_t{1} << 40), -1, 0, 1, int64_t{1} << 40, INT64_MAX}));
}

TEST("topk gives the first of the order, and where they are") {
  for (const Dtype dtype : all_dtypes) {
    if (dtype == Dtype::boolean) continue;
    for (const int64_t length : {1, 17, 300, 5000})
      for (const int64_t k : {int64_t{1}, int64_t{5}, length / 3, length}) {
        if (k < 1 || k > length) continue;
        const Tensor x = with_specials(make({3, length}, dtype, 0, 100, static_cast<uint64_t>(length + k)));
        for (const bool largest : {false, true}) {
          const Tensor expected = narrow(std::get<0>(sort(x, -1, largest, true)), 1, 0, k);
          const auto [values, places] = topk(x, k, -1, largest);
          expect_near(elements(values), elements(expected), 0);
          expect_near(elements(gather(x, 1, places)), elements(expected), 0);
          const Tensor in_order = std::get<0>(sort(places));
          expect(k == 1 || (narrow(in_order, 1, 1, k - 1) > narrow(in_order, 1, 0, k - 1)).all().item<bool>(),
                 "a place appears twice");
          const auto [columns, column_places] = topk(transpose(x, 0, 1), k, 0, largest, false);
          expect_near(elements(std::get<0>(sort(columns, 0, largest))), elements(transpose(expected, 0, 1)), 0);
          expect_near(elements(gather(transpose(x, 0, 1), 0, column_places)), elements(columns), 0);
        }
      }
  }
}

TEST("equal elements come in PyTorch's order where they need not stay as they stand") {
  const Tensor numbers = remainder(arange(200) * 7, 5).to(Dtype::f32), x = narrow(numbers, 0, 0, 40);
  expect_near(elements(std::get<1>(sort(x))),
              {10, 20, 25, 15, 30, 35, 5, 0,  33, 8,  28, 13, 3,  38, 23, 18, 31, 1,  36, 26,
               21, 6,  16, 11, 39, 19, 4, 34, 9,  29, 14, 24, 12, 27, 32, 7,  17, 37, 2,  22});
  expect_near(elements(std::get<1>(sort(x, -1, true))),
              {17, 2,  37, 22, 7,  32, 27, 12, 9,  24, 14, 29, 19, 34, 4, 39, 21, 1,  26, 31,
               36, 16, 11, 6,  18, 23, 38, 13, 28, 3,  8,  33, 0,  20, 5, 35, 10, 30, 15, 25});
  expect_near(elements(std::get<1>(topk(x, 6))), {22, 12, 27, 32, 7, 37});
  expect_near(
      elements(std::get<1>(topk(x, 30, -1, false))),
      {10, 20, 25, 15, 30, 35, 5, 0, 33, 8, 28, 13, 3, 38, 23, 18, 16, 11, 1, 6, 21, 26, 31, 36, 39, 19, 4, 34, 9, 29});
  expect_near(elements(std::get<1>(topk(numbers, 3))), {12, 7, 2});
  expect_near(elements(std::get<1>(topk(x, 6, -1, true, false))), {22, 12, 27, 32, 7, 37});
}

TEST("kthvalue and medians choose by the same order") {
  for (const Dtype dtype : all_dtypes) {
    if (dtype == Dtype::boolean) continue;
    for (const int64_t length : {1, 2, 9, 500}) {
      const Tensor x = make({4, length}, dtype, 0, 100, static_cast<uint64_t>(length));
      for (const int64_t k : {int64_t{1}, (length + 1) / 2, length}) {
        const auto [sorted_values, sorted_places] = sort(x, -1, false, true);
        const auto [values, places] = kthvalue(x, k);
        expect_near(elements(values), elements(select(sorted_values, 1, k - 1)), 0);
        expect_near(elements(places), elements(select(sorted_places, 1, k - 1)), 0);
        if (k != (length + 1) / 2) continue;
        const auto [middle, middle_places] = median(transpose(x, 0, 1), 0, true);
        expect_near(elements(middle), elements(values), 0);
        expect_near(elements(middle_places), elements(places), 0);
      }
    }
  }
  const Tensor x = tensor(std::vector<double>{3, NAN, 1, NAN, 2, 4});
  expect_near(elements(std::get<0>(median(x, 0))), {NAN});
  expect_near(elements(std::get<1>(median(x, 0))), {1});
  expect_near(elements(std::get<0>(nanmedian(x, 0))), {2});
  expect_near(elements(std::get<1>(nanmedian(x, 0))), {4});
  expect_near(elements(std::get<0>(nanmedian(full({3}, NAN), 0))), {NAN});
  expect_near(elements(nanmedian(x)), {2});
  expect_near(elements(median(x)), {NAN});
}

TEST("cumulative products, logarithms and extrema follow each row at any strides") {
  for (const Dtype dtype : all_dtypes)
    for (const int64_t dim : {0, 1, 2}) {
      const Tensor x = transpose(make({5, 3, 70}, dtype, 0.7, 1.3, 3), 0, 1);
      const std::vector<double> values = elements(x);
      const int64_t sizes[] = {3, 5, 70}, inner = dim == 0 ? 350 : dim == 1 ? 70 : 1;
      std::vector<double> products = values, sums = values, largest = values, places(values.size(), 0);
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t at = static_cast<int64_t>(i) / inner % sizes[dim];
        if (at == 0) continue;
        const size_t before = i - static_cast<size_t>(inner);
        products[i] = products[before] * values[i];
        sums[i] = std::log(std::exp(sums[before]) + std::exp(values[i]));
        const bool is_new = values[i] >= largest[before];
        largest[i] = is_new ? values[i] : largest[before];
        places[i] = is_new ? static_cast<double>(at) : places[before];
      }
      if (dtype != Dtype::boolean) expect_near(elements(cumprod(x, dim, Dtype::f64)), products, 1e-12);
      const auto [best, best_places] = cummax(x, dim);
      expect_near(elements(best), largest, 0);
      expect_near(elements(best_places), places, 0);
      if (!is_floating(dtype)) continue;
      expect_near(elements(cumprod(x, dim)), products, tolerance_of(dtype));
      expect_near(elements(logcumsumexp(x, dim)), sums, tolerance_of(dtype));
      const Tensor negated = neg(x);
      expect_near(elements(neg(std::get<0>(cummin(negated, dim)))), largest, 0);
    }
  const Tensor x = tensor(std::vector<double>{-HUGE_VAL, -HUGE_VAL, 1, HUGE_VAL, 2, NAN});
  expect_near(elements(logcumsumexp(x, 0)), {-HUGE_VAL, -HUGE_VAL, 1, HUGE_VAL, HUGE_VAL, NAN});
  const auto [values, places] = cummax(tensor(std::vector<double>{1, 3, 3, NAN, 5, NAN}), 0);
  expect_near(elements(values), {1, 3, 3, NAN, NAN, NAN});
  expect_near(elements(places), {0, 1, 2, 3, 3, 5});
}

TEST("searchsorted and bucketize find indices from the left and from the right") {
  for (const Dtype dtype : all_dtypes) {
    if (dtype == Dtype::boolean) continue;
    const Tensor sequence = make({6}, dtype, {1, 3, 3, 5, 7, 7}),
                 numbers = make({2, 4}, dtype, {0, 3, 4, 9, 7, 1, 5, 3});
    expect_near(elements(searchsorted(sequence, numbers)), {0, 1, 3, 6, 4, 0, 3, 1});
    expect_near(elements(bucketize(transpose(numbers, 0, 1), sequence, true, true)), {0, 6, 3, 1, 3, 4, 6, 3});
  }
  const Tensor rows = make({2, 3}, Dtype::f32, {1, 3, 5, 2, 4, 6}), numbers = make({2, 2}, Dtype::f32, {3, 6, NAN, 5});
  expect_near(elements(searchsorted(rows, numbers)), {1, 3, 3, 2});
  const Tensor mixed = make({3}, Dtype::i64, {5, 1, 3});
  expect_near(elements(searchsorted(mixed, 2.5, false, false, {}, make({3}, Dtype::i64, {1, 2, 0}))), {1});
  expect_error(
      [&] {
        searchsorted(mixed, 2, false, false, {}, make({3}, Dtype::i64, {1, 2, 3}));
      },
      "an index tensor holds 3, which is out of range for a dimension of size 3");
}

TEST("scatter_reduce brings elements together in every dtype") {
  const Tensor index = make({5}, Dtype::i64, {0, 2, 0, 2, 0});
  for (const Dtype dtype : all_dtypes) {
    if (dtype == Dtype::boolean) continue;
    const Tensor x = make({3}, dtype, {2, 4, 6}), source = make({5}, dtype, {1, 2, 3, 4, 5});
    const auto reduced = [&](const char* reduce, bool include_self) {
      return elements(scatter_reduce(x, 0, index, source, reduce, include_self));
    };
    const bool is_whole = !is_floating(dtype);
    expect_near(reduced("sum", true), {11, 4, 12}, 0);
    expect_near(reduced("sum", false), {9, 4, 6}, 0);
    expect_near(reduced("prod", true), {30, 4, 48}, 0);
    expect_near(reduced("prod", false), {15, 4, 8}, 0);
    expect_near(reduced("mean", true), {is_whole ? 2 : 2.75, 4, 4}, 0);
    expect_near(reduced("mean", false), {3, 4, 3}, 0);
    expect_near(reduced("amax", true), {5, 4, 6}, 0);
    expect_near(reduced("amax", false), {5, 4, 4}, 0);
    expect_near(reduced("amin", true), {1, 4, 2}, 0);
    expect_near(reduced("amin", false), {1, 4, 2}, 0);
  }
  const Tensor flags = make({2}, Dtype::boolean, {0, 1}), source = make({3}, Dtype::boolean, {1, 0, 0}),
               places = make({3}, Dtype::i64, {0, 0, 1});
  expect_near(elements(scatter_reduce(flags, 0, places, source, "sum", true)), {1, 1});
  expect_near(elements(scatter_reduce(flags, 0, places, source, "prod", false)), {0, 0});
  expect_near(elements(scatter_reduce(make({2}, Dtype::i8, {-7, 0}), 0, make({1}, Dtype::i64, {0}),
                                      make({1}, Dtype::i8, {2}), "mean", true)),
              {-3, 0});
}

TEST("order, selection and running results have the same bits for any number of threads") {
  const Tensor x = make({300, 77}, Dtype::f32, -3, 3, 1), index = make({300, 77}, Dtype::i64, 0, 76.9, 2);
  expect_same_bits([&] {
    std::vector<Tensor> out;
    const auto add = [&](const std::tuple<Tensor, Tensor>& both) {
      out.insert(out.end(), {std::get<0>(both), std::get<1>(both)});
    };
    for (const int64_t dim : {0, 1}) {
      add(sort(x, dim));
      add(topk(x, 5, dim));
      add(kthvalue(x, 30, dim));
      add(median(x, dim));
      add(cummax(x, dim));
      out.push_back(cumprod(x, dim));
      out.push_back(logcumsumexp(x, dim));
      out.push_back(prims::linear_recurrence(x, x, dim, true));
    }
    out.push_back(scatter_reduce(x, 1, index, x, "mean"));
    out.push_back(searchsorted(std::get<0>(sort(x, 1)), x));
    return out;
  });
}
