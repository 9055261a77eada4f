// Numbers that do not fit where they go are errors, eagerly and in a jitted function.
#include <cmath>
#include <limits>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
constexpr TensorOptions u8{.dtype = Dtype::u8}, i8{.dtype = Dtype::i8}, i32{.dtype = Dtype::i32},
    i64{.dtype = Dtype::i64}, f32{.dtype = Dtype::f32};

/// Eagerly and while it is traced.
void expect_refused(const std::function<Tensor()>& run, std::string_view message,
                    SourceLocation at = SourceLocation::here()) {
  expect_error([&] { run(); }, message, at);
  const auto traced = jit([&](Tensor x) { return std::pair(x + 1, run()); });
  expect_error([&] { traced(ones({2})); }, message, at);
}
double element(const Tensor& x) { return x.item<double>(); }

}  // namespace

TEST("item() refuses values that its type does not hold") {
  expect_error([] { tensor(3000000000LL).item<int>(); },
               "item() of cpu i64[]: 3000000000 does not fit into the type that was asked for");
  expect_error([] { tensor(300).item<int8_t>(); }, "300 does not fit");
  expect_error([] { tensor(-1).item<uint8_t>(); }, "-1 does not fit");
  expect_error([] { tensor(-1).item<uint64_t>(); }, "-1 does not fit");
  expect_error([] { tensor(not_a_number).item<int64_t>(); }, "nan does not fit");
  expect_error([] { tensor(infinity).item<int>(); }, "inf does not fit");
  expect_error([] { tensor(0x1p63).item<int64_t>(); }, "does not fit");
  expect_error([] { tensor(256.0).item<uint8_t>(); }, "256.0 does not fit");
  expect_error([] { tensor({1e300}, {.dtype = Dtype::f64}).item<float>(); }, "1e+300 does not fit");
  expect_equal(tensor(255.9).item<uint8_t>(), uint8_t{255});
  expect_equal(tensor(-2.7).item<int>(), -2);
  expect_equal(tensor(-0x1p63).item<int64_t>(), std::numeric_limits<int64_t>::min());
  expect_equal(tensor(std::numeric_limits<int64_t>::max()).item<uint64_t>(),
               static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  expect(std::isinf(tensor({infinity}, {.dtype = Dtype::f64}).item<float>()) && tensor(not_a_number).item<bool>());
}

TEST("tensor() refuses numbers that the dtype does not hold") {
  expect_error([] { tensor({300}, u8); }, "tensor: 300 does not fit into u8, which holds 0 to 255");
  expect_error(
      [] {
        tensor({1.0, not_a_number}, i64);
      },
      "tensor: nan does not fit into i64, which holds -9223372036854775808 to 9223372036854775807");
  expect_error([] { tensor({-129}, i8); }, "-129 does not fit into i8, which holds -128 to 127");
  expect_error([] { tensor({{1, 2}, {3, 3000000000}}, i32); }, "3000000000 does not fit into i32");
  expect_error([] { tensor(std::vector<float>{1e10f}, i32); }, "1e+10 does not fit into i32");
  expect_error(
      [] {
        tensor(std::vector<uint64_t>{1, std::numeric_limits<uint64_t>::max()});
      },
      "18446744073709551615 does not fit into i64");
  expect_equal(element(tensor({-1}, u8)), 255.0);  // wraps, as in PyTorch
  expect_equal(element(tensor({255.9}, u8)), 255.0);
  expect(std::isinf(element(tensor({1e39}, f32))));
  expect_equal(element(tensor(std::vector<uint32_t>{4294967295u})), 4294967295.0);
}

TEST("numbers of 64 bits without a sign are not taken for negative ones") {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  expect_error([&] { ones({2}, i64) + most; }, "18446744073709551615 does not fit into i64");
  expect_error([&] { full({2}, most); }, "18446744073709551615 does not fit into i64");
  expect_error([&] { zeros({most}); }, "18446744073709551615 does not fit into i64");
  expect_equal(element(sum(ones({2}, i64) + size_t{3})), 8.0);
}

TEST("filling refuses numbers that the dtype does not hold") {
  expect_refused([] { return full({1}, 300, u8); }, "fill_value 300 does not fit into u8, which holds 0 to 255");
  expect_refused([] { return full({1}, not_a_number, i64); }, "fill_value nan does not fit into i64");
  expect_refused([] { return full({1}, 1e39, f32); }, "fill_value 1e+39 does not fit into f32");
  expect_refused([] { return full_like(zeros({1}, i8), -129); }, "fill_value -129 does not fit into i8");
  expect_refused([] { return zeros({1}, u8).fill_(300); }, "fill_: 300 does not fit into u8, which holds 0 to 255");
  expect_refused([] { return zeros({1}, u8).copy_(256.0); }, "fill_: 256.0 does not fit into u8");
  expect_refused(
      [] {
        Tensor x = zeros({2}, u8);
        x(0) = 300;
        return x;
      },
      "fill_: 300 does not fit into u8");
  expect_refused([] { return linspace(0, 300, 4, u8); }, "end 300 does not fit into u8");
  for (const double number : {infinity, -infinity, not_a_number}) expect(!isfinite(full({1}, number)).item<bool>());
  expect_equal(element(full({1}, -255, u8)), 1.0);
  expect_equal(element(full({1}, 127.9, i8)), 127.0);
  expect_equal(element(full({1}, not_a_number, {.dtype = Dtype::boolean})), 1.0);
  expect(std::isinf(element(full({1}, 1e6, {.dtype = Dtype::f16}))));
}

TEST("operators refuse numbers that become elements of a dtype that does not hold them") {
  const Tensor x = tensor({1, 2}, u8), mask = tensor({true, false}), first = tensor({0});
  expect_refused([=] { return masked_fill(x, mask, 300); }, "value 300 does not fit into u8");
  expect_refused([=] { return where(mask, x, 300); }, "other 300 does not fit into u8");
  expect_refused([=] { return where(mask, -300, x); }, "input -300 does not fit into u8");
  expect_refused([=] { return index_fill(x, 0, first, 300); }, "value 300 does not fit into u8");
  expect_refused([=] { return scatter(x, 0, first, 300); }, "src 300 does not fit into u8");
  expect_refused([=] { return nn::pad(x, {1, 1}, "constant", 300); }, "value 300.0 does not fit into u8");
  expect_refused([=] { return nn::threshold(x, 1, 300); }, "300 does not fit into u8");
  expect_refused([=] { return add(x, x, 300); }, "alpha 300 does not fit into u8");
  expect_refused([=] { return addcmul(x, x, x, 300); }, "value 300 does not fit into u8");
  expect_equal(sum(where(mask, x, 255)).item<int>(), 256);
}
