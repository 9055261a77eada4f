#include <algorithm>
#include <cmath>
#include <limits>

#include "executors/reference.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// The definition, straight from the paper.
void philox(uint64_t seed, uint64_t counter, uint32_t out[4]) {
  uint32_t c[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    std::copy(next, next + 4, c);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  std::copy(c, c + 4, out);
}

double wide_unit(uint32_t upper, uint32_t lower) {
  return static_cast<double>(uint64_t{upper} << 21 | lower >> 11) * 0x1p-53;
}

}  // namespace

TEST("tensors from numbers") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::i64, Dtype::u8, Dtype::boolean}) {
    expect_equal(elements(full({2, 3}, 1, {.dtype = dtype})), std::vector<double>(6, 1.0));
    expect_equal(elements(zeros({5}, {.dtype = dtype})), std::vector<double>(5, 0.0));
    expect_equal(elements(eye(2, {}, {.dtype = dtype})), std::vector<double>{1, 0, 0, 1});
  }
  expect_equal(elements(full_like(zeros({2}), 2.5)), std::vector<double>{2.5, 2.5});
  expect_equal(elements(arange(5)), std::vector<double>{0, 1, 2, 3, 4});
  expect_equal(elements(arange(7, 1, -2)), std::vector<double>{7, 5, 3});
  expect_near(elements(arange(0.5, 2.0, 0.5)), {0.5, 1, 1.5});
  expect_near(elements(linspace(-1, 1, 5)), {-1, -0.5, 0, 0.5, 1});
  expect_near(elements(linspace(3, 9, 1)), {3});
  const std::vector<double> unbounded = elements(linspace(-1, -std::numeric_limits<double>::infinity(), 7));
  expect(std::isinf(unbounded[2]) && std::isnan(unbounded[3]), "the middle is computed from the end");
  const Tensor many = linspace(0, 1, 100001);
  expect_equal(many.to_vector<float>().back(), 1.f);
  expect_equal(elements(eye(2, 3)), std::vector<double>{1, 0, 0, 0, 1, 0});
}

TEST("random numbers are those of Philox4x32-10") {
  // The vectors published with Random123 have other words in the counter; this checks the reference itself on all
  // zeros.
  uint32_t words[4];
  philox(0, 0, words);
  expect(words[0] == 0x6627e8d5u && words[1] == 0xe169c58du && words[2] == 0xbc57ac4cu && words[3] == 0x9b00dbd8u);

  const uint64_t seed = 0x123456789abcdef0u, offset = 0xfffffff0u;  // the counter's lower word overflows on the way
  const Tensor state = tensor(std::vector<int64_t>{static_cast<int64_t>(seed), static_cast<int64_t>(offset)});
  const std::vector<double> uniform = elements(prims::uniform(state, {1000}, 0, 1, Dtype::f32));
  const std::vector<double> normal = elements(prims::normal(state, {1000}, 0, 1, Dtype::f64));
  const std::vector<double> integers = elements(prims::random_integers(state, {1000}, -5, 12, Dtype::i64));
  int wrong = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    philox(seed, offset + i, words);
    wrong += uniform[i] != (words[0] >> 8) * 0x1p-24;
    const double u0 = wide_unit(words[0], words[1]), u1 = wide_unit(words[2], words[3]);
    const double expected = std::sqrt(-2 * std::log(1 - u0)) * std::cos(2 * M_PI * u1);
    wrong += std::fabs(normal[i] - expected) > 4e-15 * std::fmax(1, std::fabs(expected));
    wrong += integers[i] != -5 + static_cast<double>(words[0] % 17);
  }
  expect_equal(wrong, 0);
}

TEST("random tensors have their distribution's moments, and the seed repeats them") {
  manual_seed(5);
  const Tensor first = randn({100000});
  const Tensor second = randn({100000});
  expect_near(mean(first).item<float>(), 0, 0.02);
  expect_near(var(first).item<float>(), 1, 0.02);
  expect_different(elements(first), elements(second));
  manual_seed(5);
  expect_equal(elements(randn({100000})), elements(first));
  const Tensor uniform = rand({100000});
  expect_near(mean(uniform).item<float>(), 0.5, 0.01);
  expect(amin(uniform).item<float>() >= 0 && amax(uniform).item<float>() < 1);
  const Tensor scaled = prims::uniform(prims::random_state(100), {100}, -3, 5, Dtype::bf16);
  expect(amin(scaled).item<float>() >= -3 && amax(scaled).item<float>() <= 5);
}

TEST("a draw does not depend on the number of threads") {
  const int threads = num_threads();
  std::vector<std::vector<double>> draws;
  for (const int count : {1, 2, 3}) {
    set_num_threads(count);
    manual_seed(9);
    draws.push_back(elements(randn({10007})));
  }
  set_num_threads(threads);
  expect(draws[0] == draws[1] && draws[1] == draws[2]);
}

TEST("random integers of wide ranges have all their bits") {
  manual_seed(5);
  const auto largest = [](int64_t low, int64_t high) {
    int64_t found = low;
    for (const int64_t n : randint(low, high, {1000}).to_vector<int64_t>()) {
      expect(n >= low && n < high);
      found = std::max(found, n);
    }
    return found;
  };
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  expect_greater(largest(0, int64_t{1} << 40), int64_t{1} << 39);
  expect_greater(largest(-5, most), most / 2);
  expect_greater(largest(std::numeric_limits<int64_t>::min(), most), most / 2);
}
