// Draws keep within their intervals in every dtype: the lower bound is drawn, the upper one is not.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

constexpr Dtype floating[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16};

double largest(const Tensor& x) { return amax(x).item<double>(); }
double smallest(const Tensor& x) { return amin(x).item<double>(); }
bool all_within(const Tensor& x, double low, double high) {
  const Tensor exact = x.to(Dtype::f64);
  return smallest(exact) >= low && largest(exact) < high;
}

}  // namespace

TEST("uniform numbers stay below one, and come near it, in every dtype") {
  manual_seed(3);
  for (const Dtype dtype : floating) {
    const Tensor drawn = rand({1 << 20}, {.dtype = dtype});
    expect(all_within(drawn, 0, 1), std::string(name(dtype)));
    expect(largest(drawn) > 0.99, std::string(name(dtype)));
    expect(all_within(rand_like(drawn), 0, 1), std::string(name(dtype)));
    expect_near(mean(drawn.to(Dtype::f64)).item<double>(), 0.5, 5e-3);
  }
  expect_equal(largest(rand({1 << 20}, {.dtype = Dtype::bf16})), 1 - 0x1p-8);
  expect_equal(largest(rand({1 << 20}, {.dtype = Dtype::f16})), 1 - 0x1p-11);
}

TEST("the numbers of one seed are those of f64, rounded down to the dtype's bits") {
  const auto drawn = [](Dtype dtype) {
    manual_seed(8);
    return rand({1000}, {.dtype = dtype}).to(Dtype::f64);
  };
  const Tensor exact = drawn(Dtype::f64);
  expect(sum(frac(exact * 0x1p24) != 0.0).item<int64_t>() > 900, "f64 has more bits than f32");
  expect(equal(drawn(Dtype::f32), floor(exact * 0x1p24) * 0x1p-24));
  expect(equal(drawn(Dtype::f16), floor(exact * 0x1p11) * 0x1p-11));
  expect(equal(drawn(Dtype::bf16), floor(exact * 0x1p8) * 0x1p-8));
}

TEST("uniform numbers of any interval stay in it") {
  manual_seed(4);
  const std::pair<double, double> intervals[] = {{0, 4},     {1, 2},       {-1, 1},      {100, 101},
                                                 {0.3, 0.7}, {-0.7, -0.3}, {1000, 1001}, {0, 1e-3}};
  for (const Dtype dtype : floating)
    for (const auto& [low, high] : intervals) {
      const Tensor drawn = empty({1 << 18}, {.dtype = dtype});
      nn::uniform_(drawn, low, high);
      expect(all_within(drawn, low, high), std::string(name(dtype)) + " from " + std::to_string(low));
      expect(!any(drawn >= high).item<bool>(), std::string(name(dtype)) + " compared as " + std::string(name(dtype)));
    }
  const Tensor one = empty({4}, {.dtype = Dtype::f16});
  nn::uniform_(one, 2, 2);
  expect_equal(one.to(Dtype::f32).to_vector<float>(), std::vector<float>{2, 2, 2, 2});
}

TEST("random integers stay in their interval where the dtype rounds them") {
  manual_seed(5);
  const std::pair<int64_t, int64_t> intervals[] = {{0, 300}, {257, 300}, {-300, -256}, {0, 2050}, {2049, 4100}};
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::i16})
    for (const auto& [low, high] : intervals)
      expect(all_within(randint(low, high, {1 << 16}, {.dtype = dtype}), static_cast<double>(low),
                        static_cast<double>(high)),
             std::string(name(dtype)) + " from " + std::to_string(low));
  expect_equal(largest(randint(0, 256, {1 << 14}, {.dtype = Dtype::u8})), 255.0);
  expect_equal(smallest(randint(-128, 128, {1 << 14}, {.dtype = Dtype::i8})), -128.0);
}

TEST("intervals that a dtype does not hold are refused") {
  expect_error([] { randint(0, 300, {2}, {.dtype = Dtype::u8}); },
               "the range from 0 to below 300 does not fit into u8");
  expect_error([] { randint(-1, 3, {2}, {.dtype = Dtype::u8}); }, "the range from -1 to below 3 does not fit into u8");
  expect_error([] { randint(0, 100000, {2}, {.dtype = Dtype::f16}); },
               "the range from 0 to below 100000 does not fit into f16");
  const Tensor x = empty({2}, {.dtype = Dtype::f16});
  expect_error([&] { nn::uniform_(x, 0, 1e6); }, "the range from 0.0 to 1e+06 does not fit into f16");
  expect_error([&] { nn::uniform_(x, 1, 0); }, "low must not be above high: 1.0 and 0.0");
  expect_error([&] { nn::uniform_(x, 0, std::nan("")); }, "low must not be above high: 0.0 and nan");
  expect_error([&] { nn::uniform_(empty({2}), 0, HUGE_VAL); }, "does not fit into f32");
  expect_error([&] { nn::normal_(x, 0, -1); }, "std must not be negative: -1.0");
  expect_error([&] { nn::normal_(x, 0, std::nan("")); }, "std must not be negative: nan");
}

TEST("normal numbers of f64 are made of 53 bits each") {
  // By Philox and the formula in Python's doubles; of 24 bits the first would be 1.8738795.
  manual_seed(7);
  const std::vector<double> drawn = randn({4}, {.dtype = Dtype::f64}).to_vector<double>();
  const std::vector<double> wanted{1.8738796919830123, 0.48231604747901297, 0.039122903655233104, 0.5958076234642465};
  for (size_t i = 0; i < wanted.size(); ++i)
    expect(std::fabs(drawn[i] - wanted[i]) < 1e-14, std::to_string(drawn[i] - wanted[i]));
}
