// Cache limits of a jitted function, and its warnings about frequent compiles.
#include <functional>
#include <string>

#include <fulgurite/autograd.h>
#include <fulgurite/counters.h>
#include <fulgurite/fulgurite.h>

#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// "limits_test.cpp:12" without the number.
std::string without_ops(std::string text) {
  for (size_t at = text.find(".cpp:"); at != std::string::npos; at = text.find(".cpp:", at + 1)) {
    size_t end = at + 5;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    text.replace(at + 5, end - at - 5, "N");
  }
  return text;
}

std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    return without_ops(std::string(text.substr(0, text.find('\n'))));
  }
  return "(no error)";
}

}  // namespace

TEST("the version that was not used for the longest time goes first") {
  const NoGrad no_grad;
  const auto f = jit([](Tensor x) { return x + 1; }, {.limits = {.versions = 3}});
  const Tensor a = ones({1}), b = ones({2}), c = ones({3}), d = ones({4});
  for (const Tensor& x : {a, b, c, a, d}) f(x);  // b goes
  expect_equal(cache_misses(f), 4);
  f(a);
  f(c);
  f(d);
  expect_equal(cache_misses(f), 4);
  f(b);  // a goes
  expect_equal(cache_misses(f), 5);
  f(c);
  f(d);
  expect_equal(cache_misses(f), 5);
  expect_near(f(a).to_vector<float>(), {2});
  expect_equal(cache_misses(f), 6);
  expect_equal(cache_stats(f).versions, 3);
  expect_equal(cache_stats(f).evicted, 3);
}

TEST("a version that is called again and again is used, though others are compiled meanwhile") {
  const auto f = jit([](Tensor x) { return x * 2; }, {.limits = {.versions = 2}});
  const Tensor often = ones({1});
  for (int64_t size = 2; size < 8; ++size) {
    f(often);
    f(often);
    f(ones({size}));
  }
  expect_equal(cache_misses(f), 7);
}

TEST("4096 entries are kept where nothing else is said") {
  const NoGrad no_grad;
  const auto f = jit([](Tensor, int64_t n) { return n; }, {.limits = {.warn_after = 0}});
  const Tensor x = ones({1});
  for (int64_t n = 0; n < 4096; ++n) f(x, n);
  for (int64_t n = 0; n < 4096; ++n) f(x, n);
  expect_equal(cache_misses(f), 4096);
  for (int64_t n = 4096; n < 4300; ++n) expect_equal(f(x, n), n);
  const CacheStats stats = cache_stats(f);
  expect_equal(stats.versions + stats.evicted, 4300);
  expect(stats.versions >= 4096 && stats.versions <= 4160, "a few more may be kept, not many");
}

TEST("versions go when all take more bytes than they may") {
  const auto make = [](int64_t bytes) {
    return jit([](Tensor x, Tensor w) { return sum(relu(x) * w); },
               {.executors = {"eager"}, .limits = {.warn_after = 0, .bytes = bytes}});
  };
  const Tensor w = ones({1}).requires_grad_();
  const auto bytes_of = [](const auto& f) {
    const CacheStats stats = cache_stats(f);
    return stats.programs + stats.arenas + stats.traces;
  };
  const auto f = make(int64_t{1} << 20);
  for (int64_t size = 1; size <= 300; ++size) {
    w.set_grad({});
    f(ones({size}), w).backward();
    expect_near(w.grad().to_vector<float>(), {static_cast<float>(size)});
  }
  const CacheStats stats = cache_stats(f);
  expect_equal(stats.versions + stats.evicted, 300);
  expect(stats.versions >= 8 && stats.evicted > 0, "some go and some stay");
  expect(bytes_of(f) < int64_t{2} << 20, "the bound holds, about");

  const auto g = make(1);
  for (int round = 0; round < 3; ++round)
    for (int64_t size = 1; size <= 8; ++size) g(ones({size}), w);
  expect_equal(cache_misses(g), 8);  // the newest few stay in any case
  expect_error([&] { make(0); }, "jit: limits.bytes is 0, and must be at least 1");
}

TEST("sets of values, versions with symbols and subgraphs have limits too") {
  const NoGrad no_grad;
  const auto f =
      jit([](Tensor x) { return x + x.size(0); }, {.cache = Cache::symbolic_values, .limits = {.sets_of_values = 2}});
  for (int64_t size = 1; size < 10; ++size)
    expect_near(f(zeros({size})).to_vector<float>()[0], static_cast<double>(size));
  expect_equal(cache_misses(f), 1);
  expect_equal(cache_stats(f).sets_of_values, 2);
  expect_equal(cache_stats(f).evicted, 7);

  const auto g =
      jit([](Tensor x, int64_t n) { return x * n; }, {.cache = Cache::symbolic_values, .limits = {.versions = 2}});
  const auto call = [&](int64_t n) { expect_near(g(ones({2}), n).to_vector<float>()[0], static_cast<double>(n)); };
  for (const int64_t n : {1, 2, 1, 3}) call(n);  // 2 goes
  expect_equal(cache_misses(g), 3);
  call(1);
  expect_equal(cache_misses(g), 3);
  call(2);
  expect_equal(cache_misses(g), 4);
  expect_equal(cache_stats(g).versions, 2);

  const auto h = jit([](Tensor x) { return x * sum(x).item<double>(); }, {.limits = {.versions = 2, .warn_after = 0}});
  counters().clear();
  for (int i = 1; i <= 5; ++i) expect_near(h(full({1}, i)).to_vector<float>()[0], i * i);
  expect_equal(counters()["unique_graphs"], 6);
  expect_equal(counters()["evicted_versions"], 4);
  expect_near(h(full({1}, 5)).to_vector<float>()[0], 25);
  expect_equal(counters()["unique_graphs"], 6);
  expect_near(h(full({1}, 2)).to_vector<float>()[0], 4);
  expect_equal(counters()["unique_graphs"], 7);
}

TEST("an evicted version's backward still runs") {
  const auto f = jit([](Tensor x) { return sum(x * x * x); }, {.limits = {.versions = 1}});
  const Tensor x = full({2}, 2.0).requires_grad_();
  const Tensor loss = f(x);
  for (int64_t size = 3; size < 9; ++size) f(ones({size}));
  loss.backward();
  expect_near(x.grad().to_vector<float>(), {12, 12});
}

TEST("older versions keep their first and their last stage") {
  const auto f = jit([](Tensor x) { return exp(x); }, {.limits = {.traces = 1}});
  f(ones({2}));
  const size_t all = last_traces(f).size();
  const std::string first = last_traces(f).front().cpp(), last = last_traces(f).back().cpp();
  expect_greater(all, 2);
  f(ones({3}));
  expect_equal(last_traces(f).size(), all);
  f(ones({2}));
  expect_equal(last_traces(f).size(), size_t{2});
  expect_equal(last_traces(f).front().cpp(), first);
  expect_equal(last_traces(f).back().cpp(), last);
}

TEST("kept memory is counted") {
  const NoGrad no_grad;
  const auto f = jit([](Tensor x) { return sum(exp(x + 1) * x); }, {.limits = {.traces = 0}});
  expect_equal(cache_stats(f).versions, 0);
  f(ones({64}));
  const CacheStats one = cache_stats(f);
  expect_equal(one.versions, 1);
  expect(one.programs > 0 && one.traces > 0);
  expect(one.arenas >= 256, "the intermediate values of 64 f32");
  f(ones({128}));
  const CacheStats two = cache_stats(f);
  expect_equal(two.versions, 2);
  expect(two.programs > one.programs && two.arenas > one.arenas && two.traces > one.traces);
}

TEST("explain says how many versions went, and numbers the others as they were compiled") {
  const auto f = jit([](Tensor x) { return x + 1; }, {.limits = {.versions = 1}});
  for (int64_t size = 1; size < 4; ++size) f(ones({size}));
  const std::string text = explain(f);
  expect(text.find("1 entry is kept, 2 evicted\ncompile 3 at ") != std::string::npos, text);
}

TEST("a function that is compiled often says once what changes") {
  const auto f = jit([](Tensor x, int64_t n) { return x * n; }, {.limits = {.warn_after = 4}});
  const std::string sizes = stderr_text([&] {
    for (int64_t size = 1; size < 9; ++size) f(ones({size}), size == 3 ? 7 : 1);
  });
  expect_text(without_ops(sizes), R"(
[fulgurite] the function jitted at limits_test.cpp:N has been compiled 4 times, last for the call at limits_test.cpp:N; what changed: t_0 (3 times, last t_0: cpu f32[4] instead of cpu f32[3]), n_0 (2 times, last n_0: 1 instead of 7); Cache::symbolic_values, or mark_dynamic() of what varies, lets one cache entry serve many sizes; explain() lists every compile
)");
  const auto g = jit([](Tensor x, double s) { return x * s; }, {.limits = {.warn_after = 3}});
  const std::string numbers = stderr_text([&] {
    for (int i = 0; i < 5; ++i) g(ones({1}), i);
  });
  expect_text(without_ops(numbers), R"(
[fulgurite] the function jitted at limits_test.cpp:N has been compiled 3 times, last for the call at limits_test.cpp:N; what changed: n_0 (2 times, last n_0: 2.0 instead of 1.0); Cache::symbolic_values with a parameter of type Int or Float, or a tensor in its place, lets one cache entry serve many numbers; explain() lists every compile
)");
  const JitOptions options{.cache = Cache::symbolic_values, .limits = {.warn_after = 3}};
  const auto h = jit([](Tensor x) { return x * static_cast<int64_t>(x.size(0)); }, options);
  const std::string guards = stderr_text([&] {
    for (int64_t size = 1; size < 9; ++size) h(ones({size}));
  });
  expect_text(without_ops(guards), R"(
[fulgurite] the function jitted at limits_test.cpp:N has been compiled 3 times, last for the call at limits_test.cpp:N; what changed: answers about sizes and numbers (2 times, last i0 == 2 no longer holds); a condition on a size or number (an if, a conversion to a C++ number) fixes it; explain() lists every compile
)");
  const auto quiet = jit([](Tensor x) { return x + 1; }, {.limits = {.warn_after = 0}});
  const std::string nothing = stderr_text([&] {
    for (int64_t size = 1; size < 50; ++size) quiet(ones({size}));
  });
  expect_equal(nothing, std::string());
}

TEST("a subgraph that is compiled often is reported too") {
  const auto f = jit([](Tensor x) { return x * sum(x).item<double>(); }, {.limits = {.warn_after = 3}});
  const std::string subgraphs = stderr_text([&] {
    for (int i = 0; i < 5; ++i) f(full({1}, i));
  });
  expect_text(without_ops(subgraphs), R"(
[fulgurite] the subgraph of the function jitted at limits_test.cpp:N that begins at limits_test.cpp:N has been compiled 3 times, last for the call at limits_test.cpp:N: what it does differs from call to call: a number taken out of a tensor with item() is a constant of the subgraph after it, so keep such numbers tensors
)");
}

TEST("a function may be refused further compiles") {
  const auto f = jit([](Tensor x) { return x * 2; }, {.limits = {.refuse_after = 2}});
  f(ones({1}));
  f(ones({2}));
  f(ones({1}));
  const std::string whole = refusal([&] { f(ones({3})); });
  expect_text(whole, R"(
jit: the function jitted at limits_test.cpp:N has been compiled 2 times, as often as CacheLimits::refuse_after allows, and no cache entry holds for this call: t_0: cpu f32[3] instead of cpu f32[2]; Cache::symbolic_values, or mark_dynamic() of what varies, lets one cache entry serve many sizes
)");
  expect_near(f(ones({2})).to_vector<float>(), {2, 2});
  const auto g = jit([](Tensor x) { return x * sum(x).item<double>(); }, {.limits = {.refuse_after = 2}});
  const std::string subgraph = refusal([&] {
    for (int i = 0; i < 5; ++i) g(full({1}, i));
  });
  expect_text(subgraph, R"(
jit: the subgraph of the function jitted at limits_test.cpp:N that begins at limits_test.cpp:N has been compiled 2 times, as often as CacheLimits::refuse_after allows, and does something else in this call; what it does differs from call to call: a number taken out of a tensor with item() is a constant of the subgraph after it, so keep such numbers tensors
)");
}

TEST("limits that make no sense are errors") {
  const auto make = [](CacheLimits limits) { jit([](Tensor x) { return x; }, {.limits = limits}); };
  expect_error([&] { make({.versions = 0}); }, "jit: limits.versions is 0, and must be at least 1");
  expect_error([&] { make({.sets_of_values = 0}); }, "jit: limits.sets_of_values is 0, and must be at least 1");
  expect_error([&] { make({.refuse_after = -1}); }, "jit: limits.refuse_after is -1, and must be at least 0");
}
