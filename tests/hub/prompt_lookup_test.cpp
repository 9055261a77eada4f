#include "hub/generation/prompt_lookup.h"

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

#include "hub/generation/token_generator.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Tokens = std::vector<int64_t>;

models::Llama lively_llama(Dtype dtype) {
  manual_seed(3);
  const hub::Config config(R"({"model_type": "llama", "vocab_size": 13, "hidden_size": 64, "num_hidden_layers": 2,
                               "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2})");
  models::Llama model = models::Llama::from_config(config, models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  nn::to(model, dtype);
  return model;
}

Tokens periodic(int64_t length, int64_t period) {
  Tokens tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((i % period * 5 + 2) % 13);
  return tokens;
}

}  // namespace

TEST("the tokens after the latest of the longest occurrences are guessed") {
  expect_equal(generation::look_up(Tokens{5, 6, 7, 8, 5, 6}, 3, 2), Tokens{7, 8});
  expect_equal(generation::look_up(Tokens{5, 6, 7, 8, 5, 6}, 3, 7), Tokens{7, 8, 5, 6});
  expect_equal(generation::look_up(Tokens{5, 6, 7, 9, 6, 8, 5, 6}, 3, 1), Tokens{7});  // 5 6 is longer than 6
  expect_equal(generation::look_up(Tokens{5, 6, 7, 9, 6, 8, 5, 6}, 1, 1), Tokens{8});  // the latest 6
  expect_equal(generation::look_up(Tokens{4, 4, 4}, 3, 7), Tokens{4});
  expect_equal(generation::look_up(Tokens{1, 2, 3}, 3, 7), Tokens{});
  expect_equal(generation::look_up(Tokens{1}, 3, 7), Tokens{});
  expect_equal(generation::look_up(Tokens{1, 1}, 1, 7), Tokens{1});
}

TEST("prompt lookup gives the tokens and probabilities of plain generation") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const models::Llama model = lively_llama(dtype);
    for (const int64_t length : {1, 2, 9, 40, 250})
      for (const double temperature : {0.0, 0.7})
        for (const int64_t count : {1, 3, 7}) {
          std::vector<double> plain, guessed;
          const auto store = [](std::vector<double>& logprobs) {
            return [&logprobs](const GeneratedToken& token) { return logprobs.push_back(token.logprob), true; };
          };
          GenerateOptions options{.max_tokens = 40, .temperature = temperature, .seed = 5};
          const Tokens expected = TokenGenerator(model).generate(periodic(length, 4), options, store(plain));
          options.prompt_lookup_tokens = count;
          expect_equal(TokenGenerator(model).generate(periodic(length, 4), options, store(guessed)), expected);
          expect_equal(plain, guessed);
        }
  }
}

TEST("prompt lookup ends at the model's longest text") {
  manual_seed(3);
  const models::Gpt2 model = models::make_gpt2({.vocabulary = 13, .layers = 2, .heads = 2, .width = 8, .block = 40});
  TokenGenerator generator(model);
  const Tokens expected = generator.generate(periodic(20, 3), {.max_tokens = 100});
  expect_equal(expected.size(), size_t{20});
  expect_equal(generator.generate(periodic(20, 3), {.max_tokens = 100, .prompt_lookup_tokens = 7}), expected);
}

TEST("right guesses spare calls of the model") {
  // A model whose next token is the last one plus 1, modulo 5.
  int64_t calls = 0;
  generation::LanguageModel model;
  model.step = [&](const Tensor& tokens, const Tensor&, const Tensor& rows, const models::KeyValueCache&) {
    ++calls;
    const Tensor next = (index_select(tokens, 1, rows) + 1) % 5;
    return nn::one_hot(next, 5).to(Dtype::f32);
  };
  model.make_cache = [](int64_t, int64_t) { return models::KeyValueCache{}; };
  TokenGenerator::State state{model, {model, 1}, {}};
  Tokens tokens{0, 1, 2, 3, 4, 0, 1};
  const GenerateOptions options{.prompt_lookup_tokens = 4};
  state.advance(tokens);
  calls = 0;
  for (int64_t i = 0; i < 20; ++i) {
    const auto next = argmax(state.advance_guessing(tokens, options)).item<int64_t>();
    expect_equal(next, (tokens.back() + 1) % 5);
    tokens.push_back(next);
  }
  expect_equal(calls, 4);
}

TEST("prompt lookup's options have ranges") {
  TokenGenerator generator(lively_llama(Dtype::f32));
  const Tokens prompt{1};
  expect_error([&] { generator.generate(prompt, {.prompt_lookup_tokens = 8}); },
               "prompt_lookup_tokens must be from 0 to 7, it is 8");
  expect_error([&] { generator.generate(prompt, {.prompt_lookup_ngram = 0}); },
               "prompt_lookup_ngram must be at least 1, it is 0");
}
