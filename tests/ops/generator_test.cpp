#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
std::vector<float> values(const Tensor& x) { return x.contiguous().to_vector<float>(); }
}  // namespace

TEST("a generator draws the numbers that its seed gives without one") {
  Generator g(7);
  manual_seed(7);
  expect_equal(values(rand({5}, {.generator = g})), values(rand({5})));
  expect_equal(values(randn({3, 2}, {.generator = g})), values(randn({3, 2})));
  expect_equal(randint(0, 9, {4}, {.generator = g}).to_vector<int64_t>(), randint(0, 9, {4}).to_vector<int64_t>());
  const Tensor x = zeros({3});
  expect_equal(values(rand_like(x, {.generator = g})), values(rand_like(x)));
  expect_equal(values(normal(1, 2, {3}, {.generator = g})), values(normal(1, 2, {3})));
  expect_equal(randperm(9, {.generator = g}).to_vector<int64_t>(), randperm(9).to_vector<int64_t>());
  expect_equal(values(uniform_(zeros({4}), 1, 2, g)), values(uniform_(zeros({4}), 1, 2)));
  expect_equal(values(exponential_(zeros({4}), 2, g)), values(exponential_(zeros({4}), 2)));
  expect_equal(values(bernoulli(full({6}, 0.5), g)), values(bernoulli(full({6}, 0.5))));
  expect_equal(multinomial(ones({6}), 3, false, g).to_vector<int64_t>(),
               multinomial(ones({6}), 3).to_vector<int64_t>());
}

TEST("a generator's draws leave the others alone") {
  manual_seed(1);
  const Tensor expected = rand({3});
  manual_seed(1);
  Generator g(1);
  rand({100}, {.generator = g});
  expect_equal(values(rand({3})), values(expected));
}

TEST("a generator's state is saved and restored") {
  Generator g(3);
  rand({5}, {.generator = g});
  const Tensor state = g.get_state();
  Generator copy = g.clone();
  const Tensor first = rand({4}, {.generator = g});
  g.set_state(state);
  expect_equal(values(rand({4}, {.generator = g})), values(first));
  expect_equal(values(rand({4}, {.generator = copy})), values(first));
  expect_equal(g.initial_seed(), 3u);
  g.manual_seed(3);
  expect_equal(values(rand({2}, {.generator = g})), values(rand({2}, {.generator = Generator(3)})));
  const Tensor all = get_rng_state();
  const Tensor drawn = rand({2});
  set_rng_state(all);
  expect_equal(values(rand({2})), values(drawn));
  expect_error([&] { g.set_state(zeros({2})); }, "an i64 tensor of [seed, offset], not cpu f32[2]");
}

TEST("a generator advances at each call of a jitted function") {
  Generator g(5), same(5);
  const auto f = jit([&](const Tensor& x) { return x + rand({3}, {.generator = g}) * 2; });
  for (int i = 0; i < 3; ++i) expect_equal(values(f(zeros({3}))), values(rand({3}, {.generator = same}) * 2));
  const auto h = jit([&](const Tensor& x) { return x * normal_(zeros({3}), 0, 1, g); });
  for (int i = 0; i < 2; ++i) expect_equal(values(h(ones({3}))), values(normal_(zeros({3}), 0, 1, same)));
}

TEST("draws of the process's generator are traced") {
  const auto f = jit([](const Tensor& x) { return x + normal_(zeros({4}), 1, 2) + randperm(4).to(Dtype::f32); },
                     {.fullgraph = true});
  manual_seed(2);
  const Tensor a = f(zeros({4}));
  manual_seed(2);
  expect_near(values(a), values(normal_(zeros({4}), 1, 2) + randperm(4).to(Dtype::f32)));
}

TEST("draws have the moments of their distributions") {
  manual_seed(0);
  const auto mean_of = [](const Tensor& x) { return mean(x.to(Dtype::f64)).item<double>(); };
  constexpr int64_t n = 20000;
  expect_near(mean_of(exponential_(zeros({n}), 4)), 0.25, 0.01);
  expect_near(mean_of(normal_(zeros({n}), 3, 2)), 3, 0.02);
  expect_near(normal_(zeros({n}), 3, 2).std().item<double>(), 2, 0.02);
  expect_near(mean_of(log(log_normal_(zeros({n}), 0.5, 0.25))), 0.5, 0.01);
  expect_near(median(cauchy_(zeros({n}), 2, 1)).item<double>(), 2, 0.05);
  expect_near(mean_of(geometric_(zeros({n}), 0.25)), 4, 0.02);
  expect_near(mean_of(bernoulli_(zeros({n}), 0.3)), 0.3, 0.03);
  expect_near(mean_of(bernoulli_(zeros({n}, {.dtype = Dtype::boolean}))), 0.5, 0.03);
  expect_near(mean_of(random_(zeros({n}, {.dtype = Dtype::i64}), 2, 7)), 4, 0.02);
  expect_near(mean_of(bernoulli(full({n}, 0.7, {.dtype = Dtype::bf16}))), 0.7, 0.03);
  expect_near(mean_of(normal(full({n}, 5.0), 0.5)), 5, 0.01);
}

TEST("integers of random_ fill the dtype") {
  manual_seed(0);
  const Tensor bytes = random_(zeros({4000}, {.dtype = Dtype::u8}));
  expect_equal(amax(bytes).item<int>(), 255);
  expect_equal(amin(bytes).item<int>(), 0);
  expect_at_most(amax(random_(zeros({100}))).item<double>(), 16777216);
  expect_equal(amax(random_(zeros({100}, {.dtype = Dtype::i64}), 3)).item<int>(), 2);
}

TEST("a random permutation holds each number once") {
  const Tensor order = randperm(100);
  expect_equal(std::get<0>(sort(order)).to_vector<int64_t>(), arange(100).to_vector<int64_t>());
  expect_different(order.to_vector<int64_t>(), arange(100).to_vector<int64_t>());
  expect_equal(randperm(5, {.dtype = Dtype::f32}).dtype(), Dtype::f32);
  expect_equal(randperm(0).shape(), Shape({0}));
  expect_error([] { randperm(-1); }, "n must not be negative: -1");
  expect_error([] { randperm(300, {.dtype = Dtype::u8}); }, "299 does not fit into u8");
}

TEST("multinomial draws by weight, with and without replacement") {
  manual_seed(0);
  const Tensor weights = tensor({0.0, 1.0, 3.0, 0.0});
  const Tensor drawn = multinomial(weights, 8000, true);
  expect_near(mean((drawn == 2).to(Dtype::f64)).item<double>(), 0.75, 0.02);
  expect(all((drawn == 1) | (drawn == 2)).item<bool>());
  expect_equal(std::get<0>(sort(multinomial(weights, 2))).to_vector<int64_t>(), std::vector<int64_t>{1, 2});
  const Tensor rows = multinomial(tensor({{0.0, 2.0}, {1.0, 0.0}}), 3, true);
  expect_equal(rows.to_vector<int64_t>(), std::vector<int64_t>{1, 1, 1, 0, 0, 0});
  int64_t first = 0;
  for (int i = 0; i < 2000; ++i) first += multinomial(tensor({1.0, 3.0}), 1).item<int64_t>();
  expect_near(static_cast<double>(first) / 2000, 0.75, 0.04);
  expect_error([&] { multinomial(weights, 3); }, "3 samples without replacement of a row with 2 weights above 0");
  expect_error([] { multinomial(tensor({1.0, -1.0}), 1); }, "finite and not negative");
  expect_error([] { multinomial(zeros({2}), 1, true); }, "the weights of a row sum to 0");
  expect_error([] { multinomial(arange(3), 1); }, "must be floating");
}

TEST("draws with settings out of range are refused") {
  const Tensor x = zeros({2});
  expect_error([&] { normal_(x, 0, -1); }, "std must not be negative");
  expect_error([&] { exponential_(x, 0); }, "lambd must be positive");
  expect_error([&] { geometric_(x, 1); }, "p must be between 0 and 1");
  expect_error([&] { bernoulli_(x, 1.5); }, "p must be from 0 to 1");
  expect_error([&] { random_(x, 3, 3); }, "from must be below to: 3 and 3");
  expect_error([&] { uniform_(arange(3)); }, "must be floating");
  expect_error([] { normal(0.0, 1.0); }, "or give the size");
}
