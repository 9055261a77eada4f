// Functions over values: jit without C++ types, and backwards whose saved tensors the caller keeps.
#include <algorithm>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void expect_close(const Tensor& actual, const Tensor& expected, SourceLocation at = SourceLocation::here()) {
  expect_near(actual.detach().to(Dtype::f64).to_vector<double>(), expected.detach().to(Dtype::f64).to_vector<double>(),
              1e-6, at);
}

ValueFunction product() {
  return {.body =
              [](std::span<const Value> arguments, std::span<const Tensor> members) {
                const Tensor x(arguments[0]);
                return std::vector<Value>{Value(sum(exp(mul(x, members[0])))), Value(7), Value("text")};
              },
          .argument_names = {"x"},
          .member_names = {"weight"}};
}

}  // namespace

TEST("a function over values gives tensors, numbers and texts") {
  const auto f = jit_values(product());
  const Tensor x = tensor({1.0, 2.0}), w = tensor({0.5, 0.25});
  for (int call = 0; call < 2; ++call) {
    const auto results = f(std::vector<Value>{Value(x)}, std::vector<Tensor>{w});
    expect_equal(results.size(), size_t{3});
    expect_close(Tensor(results[0]), sum(exp(x * w)));
    expect_equal(int64_t{results[1].integer()}, int64_t{7});
    expect_equal(results[2].string(), std::string("text"));
  }
  expect_equal(cache_misses(f), int64_t{1});
  expect_equal(cache_hits(f), int64_t{1});
}

TEST("a call with saved tensors is differentiated by its caller, in any order") {
  const auto f = jit_values(product());
  const Tensor x = tensor({1.0, 2.0}), w = tensor({0.5, 0.25});
  const ForwardCall call = f.call_with_saved(std::vector<Value>{Value(x)}, std::vector<Tensor>{w}, {true, true});
  expect(call.carries_gradient[0] && !call.carries_gradient[1], "only the tensor has a gradient");
  expect(!x.requires_grad() && !Tensor(call.results[0]).requires_grad(), "the caller's tensors have no history");
  const std::vector<Tensor> cotangents{ones({}), {}, {}};
  for (int run = 0; run < 2; ++run) {
    const auto gradients = call.backward->run(call.saved, cotangents);
    expect_close(gradients[0], exp(x * w) * w);
    expect_close(gradients[1], exp(x * w) * x);
  }
  const ForwardCall first = call.backward->run_with_saved(call.saved, cotangents);
  expect_close(Tensor(first.results[0]), exp(x * w) * w);
  std::vector<Tensor> needed = call.saved;
  for (size_t i = 0; i < needed.size(); ++i)
    if (call.for_derivatives[i]) needed[i] = Tensor();
  expect(std::ranges::any_of(needed, [](const Tensor& t) { return !t.defined(); }), "inputs are saved for derivatives");
  expect_close(call.backward->run(needed, cotangents)[0], exp(x * w) * w);
  const auto second = first.backward->run(first.saved, std::vector<Tensor>{ones({2}), {}});
  expect_close(second[0], sum(exp(x * w) * w));  // of the cotangent
  expect_close(second[1], exp(x * w) * w * w);
}

TEST("saved tensors are the ones that are given back") {
  const auto f = jit_values(product());
  const Tensor x = tensor({1.0, 2.0}), w = tensor({0.5, 0.25});
  const ForwardCall call = f.call_with_saved(std::vector<Value>{Value(x)}, std::vector<Tensor>{w}, {true, false});
  const std::vector<Tensor> cotangents{ones({}), {}, {}};
  expect_error([&] { call.backward->run({}, cotangents); }, "needs what the call saved");
  expect_error([&] { call.backward->run(call.saved, {}); }, "0 cotangents for 3 results");
}

TEST("a function over values in a recording becomes part of it") {
  const auto inner = jit_values(product());
  const auto outer = jit(
      [&](Tensor x, Tensor w) { return Tensor(inner(std::vector<Value>{Value(x)}, std::vector<Tensor>{w})[0]) * 2; });
  const Tensor x = tensor({1.0, 2.0}), w = tensor({0.5, 0.25});
  expect_close(outer(x, w), sum(exp(x * w)) * 2);
}

TEST("a pullback over values gives gradients of all tensors") {
  const ValueFunction f{.body = [](std::span<const Value> a, std::span<const Tensor>) {
    return std::vector<Value>{Value(sum(mul(Tensor(a[0]), Tensor(a[1]))))};
  }};
  const Tensor x = tensor({1.0, 2.0}), w = tensor({3.0, 4.0});
  const ValuePullback back = vjp_values(f, std::vector<Value>{Value(x), Value(w)}, {0, 1});
  expect_close(Tensor(back.results[0]), tensor(11.0));
  const auto gradients = back.pull({ones({})});
  expect_close(gradients[0], w);
  expect_close(gradients[1], x);
  expect_equal(record_values(f, std::vector<Value>{Value(x), Value(w)}).bound_symbols.size(), size_t{3});
}

TEST("wrong functions over values are errors") {
  expect_error([] { jit_values({}); }, "jit_values: the function has no body");
  const auto f = jit_values(product());
  const Tensor x = tensor({1.0, 2.0});
  expect_error([&] { f.call_with_saved(std::vector<Value>{Value(x)}, std::vector<Tensor>{x}, {true}); },
               "needs_gradient has too few entries");
  expect_error([&] { f(std::vector<Value>{Value(Ellipsis)}, std::vector<Tensor>{x}); },
               "jit_values: arguments are tensors, numbers");
}

TEST("random draws are known of a program, and their state can be set") {
  const auto noise = jit([](Tensor x) { return x + rand_like(x); });
  const auto plain = jit([](Tensor x) { return x + 1; });
  const Tensor x = ones({4});
  const RandomState before = random_state();
  const Tensor first = noise(x);
  expect(!(random_state() == before), "a draw moves the state");
  set_random_state(before);
  expect_close(noise(x), first);
  plain(x);
  expect(draws(noise) && !draws(plain), "only one of them draws");
  const auto in_first_subgraph = jit([](Tensor t) { return t + rand({}).item<double>(); });
  in_first_subgraph(x);
  expect(draws(in_first_subgraph), "the subgraph before the break draws");
}
