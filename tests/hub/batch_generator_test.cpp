#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

template <class Model>
Model lively(Model model) {
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  return model;
}

models::Gpt2 small_gpt2() {
  return lively(models::make_gpt2({.vocabulary = 13, .layers = 2, .heads = 2, .width = 8, .block = 40}));
}

std::vector<int64_t> prompt_of(int64_t length, int64_t factor) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((factor * i + 3) % 13);
  return tokens;
}

std::vector<std::vector<int64_t>> prompts() {
  std::vector<std::vector<int64_t>> all;
  for (const int64_t length : {1, 9, 2, 30, 64, 7, 65, 300, 12, 3, 5}) all.push_back(prompt_of(length, length % 5 + 2));
  return all;
}

}  // namespace

TEST("texts of a batch are those that are generated alone") {
  const models::Llama model = lively(small_llama());
  TokenGenerator alone(model, {12});
  for (const int64_t texts : {1, 2, 3, 8})
    for (const double temperature : {0.0, 1.0}) {
      BatchGenerator batch(alone, texts);
      const GenerateOptions options{.max_tokens = 30, .temperature = temperature, .seed = 4};
      const std::vector<std::vector<int64_t>> got = batch.generate(prompts(), options);
      expect_equal(got.size(), prompts().size());
      for (size_t i = 0; i < got.size(); ++i) expect_equal(got[i], alone.generate(prompts()[i], options));
    }
}

TEST("a text has the same scores alone and among others, in bf16 too") {
  // So wide that eight rows would be fused and one would not, if the size of a program decided.
  const auto wide_model = [](Dtype dtype) {
    manual_seed(7);
    const hub::Config config(R"({"model_type": "llama", "vocab_size": 13, "hidden_size": 768, "num_hidden_layers": 3,
                                 "intermediate_size": 1024, "num_attention_heads": 12, "num_key_value_heads": 4})");
    models::Llama model = models::Llama::from_config(config, models::LayerMaker());
    nn::to(model, dtype);
    return model;
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    TokenGenerator alone(wide_model(dtype));
    BatchGenerator batch(alone, 8);
    std::map<int64_t, std::vector<double>> got, expected;
    for (int64_t text = 0; text < 8; ++text) {
      std::vector<int64_t> prompt = prompt_of(text + 3, text % 4 + 1);
      prompt[0] = text;  // nothing is shared with an earlier prompt
      const int64_t id = batch.add(prompt, {.max_tokens = 12});
      alone.generate(prompt, {.max_tokens = 12}, [&](const GeneratedToken& token) {
        expected[id].push_back(token.logprob);
        return true;
      });
    }
    while (batch.size() > 0)
      for (const BatchProgress& step : batch.advance())
        if (step.token) got[step.id].push_back(step.token->logprob);
    expect_equal(got, expected);
  }
}

TEST("texts join and leave a batch at any time") {
  const models::Llama model = lively(small_llama());
  TokenGenerator alone(model);
  BatchGenerator batch(model, {}, 4);
  std::map<int64_t, std::vector<int64_t>> got, expected;
  const auto add = [&](int64_t length, int64_t tokens) {
    const GenerateOptions options{.max_tokens = tokens};
    const int64_t id = batch.add(prompt_of(length, length % 7 + 1), options);
    expected[id] = alone.generate(prompt_of(length, length % 7 + 1), options);
  };
  for (int64_t step = 0; step < 60; ++step) {
    if (step % 4 == 0) add(step % 11 + 1, step % 13 + 1);
    if (step == 21) {
      const int64_t removed = batch.add(prompt_of(5, 3));
      expected.erase(removed);
      batch.remove(removed);
      batch.remove(removed);
    }
    for (const BatchProgress& progress : batch.advance()) {
      if (progress.token) got[progress.id].push_back(progress.token->id);
      if (progress.finish != FinishReason::none) expect_equal(got[progress.id], expected[progress.id]);
    }
  }
  expect_at_least(got.size(), 10);
  expect_less(batch.size(), 4);
}

TEST("a removed text leaves its slot to others") {
  const models::Llama model = lively(small_llama());
  BatchGenerator batch(model, {}, 2);
  const int64_t first = batch.add(prompt_of(4, 2), {.max_tokens = 1000}), second = batch.add(prompt_of(6, 3));
  batch.add(prompt_of(5, 4), {.max_tokens = 8});
  batch.advance();
  batch.advance();
  batch.remove(first);
  expect_equal(batch.size(), 2);
  std::map<int64_t, std::vector<int64_t>> got;
  while (batch.size() > 0)
    for (const BatchProgress& progress : batch.advance())
      if (progress.token) got[progress.id].push_back(progress.token->id);
  expect_equal(got[second + 1], TokenGenerator(model).generate(prompt_of(5, 4), {.max_tokens = 8}));
}

TEST("texts end at the model's longest one") {
  const models::Gpt2 model = small_gpt2();
  TokenGenerator alone(model);
  expect_equal(alone.generate(prompt_of(33, 2), {.max_tokens = 30}).size(), size_t{7});
  expect_equal(alone.generate(prompt_of(40, 2), {.max_tokens = 30}).size(), size_t{0});
  expect_error([&] { alone.generate(prompt_of(41, 2), {.max_tokens = 0}); },
               "generate: the prompt has 41 tokens, the model's longest text 40");
  BatchGenerator batch(alone, 4);
  const std::vector<std::vector<int64_t>> some{prompt_of(33, 2), prompt_of(40, 2), prompt_of(3, 2), prompt_of(38, 5),
                                               prompt_of(39, 3)};
  const std::vector<std::vector<int64_t>> got = batch.generate(some, {.max_tokens = 50});
  for (size_t i = 0; i < some.size(); ++i) expect_equal(got[i], alone.generate(some[i], {.max_tokens = 50}));
  batch.add(prompt_of(33, 2), {.max_tokens = 7});
  FinishReason last = FinishReason::none;
  while (batch.size() > 0)
    for (const BatchProgress& progress : batch.advance()) last = progress.finish;
  expect_equal(last, FinishReason::length);
}

TEST("a text whose options exclude every token ends with an error, and the others go on") {
  const models::Llama model = lively(small_llama());
  BatchGenerator batch(model, {}, 2);
  std::vector<int64_t> every(13);
  for (int64_t i = 0; i < 13; ++i) every[static_cast<size_t>(i)] = i;
  const int64_t bad = batch.add(prompt_of(3, 2), {.max_tokens = 5, .suppress_tokens = every});
  const int64_t good = batch.add(prompt_of(3, 2), {.max_tokens = 5});
  size_t tokens = 0;
  while (batch.size() > 0)
    for (const BatchProgress& progress : batch.advance()) {
      if (progress.id == bad) expect_equal(progress.error, std::string("generate: the options exclude every token"));
      tokens += progress.id == good && progress.token ? 1 : 0;
    }
  expect_equal(tokens, size_t{5});
  expect_error([&] { batch.add({}); }, "generate: the prompt has no tokens; begin it with the model's start token");
  expect_error([&] { BatchGenerator(model, {}, 0); }, "BatchGenerator: texts must be between 1 and 1024");
}
