// Models under symbolic sizes: one compile, and the results of constant sizes.
#include <set>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>
#include <fulgurite/models/llama.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("a GPT's loss and gradients at many batches and lengths are one compile") {
  models::Gpt model = models::make_gpt({.vocabulary = 11, .layers = 2, .heads = 2, .width = 16, .block = 8});
  const auto loss = [](models::Gpt m, Tensor tokens, Tensor targets) { return m.loss(tokens, targets); };
  const auto f = jit([&](Tensor tokens, Tensor targets) { return value_and_grad<0>(loss)(model, tokens, targets); },
                     {.cache = Cache::symbolic_values});
  const auto g = jit([&](Tensor tokens, Tensor targets) { return value_and_grad<0>(loss)(model, tokens, targets); });
  for (const auto& [batch, length] :
       {std::pair(2, 5), std::pair(3, 4), std::pair(4, 8), std::pair(2, 7), std::pair(5, 2)}) {
    const Tensor tokens = randint(0, 11, {batch, length}), targets = randint(0, 11, {batch, length});
    const auto [value, gradients] = f(tokens, targets);
    const auto [expected, expected_gradients] = g(tokens, targets);
    expect_equal(value.item<float>(), expected.item<float>());
    const auto named = nn::named_parameters(gradients), others = nn::named_parameters(expected_gradients);
    for (size_t i = 0; i < named.size(); ++i)
      expect_near(named[i].second.contiguous().to_vector<float>(), others[i].second.contiguous().to_vector<float>(),
                  1e-5);
  }
  expect_equal(cache_misses(f), 1);
  expect(explain(f).find("because with symbols") == std::string::npos, explain(f));
}

TEST("a GPT's training step at 40 pairs of batch and length is one compile and gives what constant sizes give") {
  const models::GptOptions options{.vocabulary = 11, .layers = 2, .heads = 2, .width = 16, .block = 16};
  const models::Gpt model = models::make_gpt(options);
  const auto loss = [](models::Gpt m, Tensor tokens, Tensor targets) { return m.loss(tokens, targets); };
  const auto step = [&](Tensor tokens, Tensor targets) { return value_and_grad<0>(loss)(model, tokens, targets); };
  // Without the fuser, which may take more in one mode than in the other.
  const auto symbolic = jit(step, {.cache = Cache::symbolic_values, .executors = {"onednn", "eager"}});
  const auto constant = jit(step, {.executors = {"onednn", "eager"}, .limits = {.warn_after = 0}});
  int pairs = 0;
  for (int round = 0; round < 2; ++round)
    for (int64_t batch = 2; batch < 7; ++batch)
      for (int64_t length = 3; length < 11; ++length, ++pairs) {
        const Tensor tokens = randint(0, 11, {batch, length}), targets = randint(0, 11, {batch, length});
        const auto [value, gradients] = symbolic(tokens, targets);
        const auto [expected, expected_gradients] = constant(tokens, targets);
        expect_equal(value.item<float>(), expected.item<float>());
        const auto named = nn::named_parameters(gradients), others = nn::named_parameters(expected_gradients);
        for (size_t i = 0; i < named.size(); ++i)
          expect_equal(named[i].second.contiguous().to_vector<float>(),
                       others[i].second.contiguous().to_vector<float>());
      }
  expect_equal(pairs, 80);
  expect(cache_misses(symbolic) == 1, explain(symbolic));
  expect_equal(cache_misses(constant), 40);
  expect(explain(symbolic).find("because with symbols") == std::string::npos, explain(symbolic));
}

TEST("a LLaMA block whose key-value cache grows is one compile") {
  const NoGrad no_grad;
  const models::LlamaOptions options{
      .layers = 1, .heads = 4, .key_value_heads = 2, .width = 32, .hidden = 48, .block = 32};
  const models::LlamaBlock block = models::make_llama_block(options);
  const auto [cosines, sines] =
      models::rotary_tables(options.block, options.width / options.heads, options.rotary_base);
  const auto step = [&block](Tensor x, Tensor cosine, Tensor sine, models::KeyValues past) {
    return block.extend(x, cosine, sine, past);
  };
  const auto f = jit(step, {.cache = Cache::symbolic_values});

  const Tensor x = randn({3, 20, 32});
  const Tensor whole = block(x, cosines.narrow(0, 0, 20), sines.narrow(0, 0, 20));
  const auto [first, begun] = block.extend(x.narrow(1, 0, 1), cosines.narrow(0, 0, 1), sines.narrow(0, 0, 1),
                                           {zeros({3, 2, 0, 8}), zeros({3, 2, 0, 8})});
  models::KeyValues past = begun;
  expect_near(first.to_vector<float>(), whole.narrow(1, 0, 1).contiguous().to_vector<float>(), 1e-5);
  for (int64_t position = 1; position < 20; ++position) {
    const auto [y, all] =
        f(x.narrow(1, position, 1), cosines.narrow(0, position, 1), sines.narrow(0, position, 1), past);
    expect_near(y.to_vector<float>(), whole.narrow(1, position, 1).contiguous().to_vector<float>(), 1e-5);
    expect_equal(all.keys.size(2).hint(), position + 1);
    past = all;
  }
  expect(cache_misses(f) <= 2, "one compile, and one for the first length if that is 1:\n" + explain(f));
  expect(explain(f).find("because with symbols") == std::string::npos, explain(f));
}

TEST("a size of the callable's own tensor is a symbol once it has changed") {
  struct Cache {
    Tensor kept = ones({2, 3});
    Tensor scale = ones({3});
    Tensor operator()(Tensor x) const { return sum(matmul(kept, x), 0) * sum(scale); }
  };
  Cache cache;
  const auto f = jit(std::ref(cache), {.cache = fulgurite::Cache::symbolic_values});
  for (int64_t length = 2; length < 10; ++length) {
    cache.kept = ones({length, 3});
    expect_near(f(ones({3, 4})).to_vector<float>()[0], 9.0 * static_cast<double>(length));
  }
  expect_equal(cache_misses(f), 2);
  cache.kept = ones({5, 3});
  f(ones({3, 7}));
  expect_equal(cache_misses(f), 2);
  cache.kept = ones({5, 4});
  cache.scale = ones({4});
  expect_near(f(ones({4, 7})).to_vector<float>()[0], 4.0 * 5 * 4);
  expect_equal(cache_misses(f), 3);
  const auto constant = jit(std::ref(cache));
  for (int64_t length = 2; length < 5; ++length) {
    cache.kept = ones({length, 4});
    constant(ones({4, 2}));
  }
  expect_equal(cache_misses(constant), 3);
}
