#include <cmath>
#include <limits>
#include <set>

#include <fulgurite/fulgurite.h>

#include "hub/generation/sampler.h"
#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr float none = -std::numeric_limits<float>::infinity();

// The tokens that the model gives the highest scores, computed anew for each.
std::vector<int64_t> greedy(const models::Llama& model, std::vector<int64_t> tokens, int64_t count) {
  const NoGrad no_grad;
  const auto prompt = static_cast<std::ptrdiff_t>(tokens.size());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor logits = model(tensor(tokens).reshape({1, static_cast<int64_t>(tokens.size())}))(0, -1);
    tokens.push_back(argmax(logits).item<int64_t>());
  }
  return {tokens.begin() + prompt, tokens.end()};
}

std::vector<int64_t> prompt_of(int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((7 * i + 3) % 13);
  return tokens;
}

models::Llama lively_llama() {
  models::Llama model = small_llama();
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  return model;
}

}  // namespace

TEST("generated tokens are those of complete forward passes, for prompts of all kinds of lengths") {
  const models::Llama model = lively_llama();
  TokenGenerator generator(model);
  for (const int64_t length : {1, 2, 8, 9, 64, 65, 100, 300, 512, 513, 600}) {
    const std::vector<int64_t> prompt = prompt_of(length);
    expect_equal(generator.generate(prompt, {.max_tokens = 12}), greedy(model, prompt, 12));
  }
}

TEST("a second turn reuses what it shares with the first one") {
  const models::Llama model = lively_llama();
  TokenGenerator generator(model);
  std::vector<int64_t> tokens = prompt_of(20);
  const std::vector<int64_t> first = generator.generate(tokens, {.max_tokens = 5});
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.push_back(4);
  expect_equal(generator.generate(tokens, {.max_tokens = 6}), greedy(model, tokens, 6));
  tokens[10] = 1;
  expect_equal(generator.generate(tokens, {.max_tokens = 6}), greedy(model, tokens, 6));
}

TEST("a window and other layouts of layers generate as they compute") {
  for (const char* more : {R"(, "sliding_window": 6)", ""}) {
    manual_seed(3);
    std::string text = small_llama_config(more);
    text.replace(text.find("llama"), 5, "mistral");
    const models::Llama model = models::Llama::from_config(hub::Config(text), models::LayerMaker());
    for (const Tensor& parameter : nn::parameters(model)) {
      const NoGrad no_grad;
      nn::normal_(parameter, 0.0, 0.4);
    }
    TokenGenerator generator(model);
    const std::vector<int64_t> prompt = prompt_of(30);
    expect_equal(generator.generate(prompt, {.max_tokens = 10}), greedy(model, prompt, 10));
  }
}

TEST("texts end at end tokens, stop tokens and false from the callback") {
  const models::Llama model = lively_llama();
  const std::vector<int64_t> prompt = prompt_of(5), all = greedy(model, prompt, 10);
  TokenGenerator ended(model, {all[4]});
  const auto first = std::find(all.begin(), all.end(), all[4]);
  expect_equal(ended.generate(prompt, {.max_tokens = 10}), std::vector<int64_t>(all.begin(), first));
  TokenGenerator generator(model);
  expect_equal(generator.generate(prompt, {.max_tokens = 10, .stop_tokens = {all[4]}}),
               std::vector<int64_t>(all.begin(), first));
  std::vector<int64_t> seen;
  const auto stop_after_three = [&](const GeneratedToken& token) {
    expect_at_most(token.logprob, 0);
    seen.push_back(token.id);
    return seen.size() < 3;
  };
  expect_equal(generator.generate(prompt, {.max_tokens = 10}, stop_after_three),
               std::vector<int64_t>(all.begin(), all.begin() + 3));
  expect_equal(seen.size(), 3u);
  expect_equal(generator.generate(prompt, {.max_tokens = 0}).size(), 0u);
}

TEST("equal seeds give equal texts, and a low temperature the greedy one") {
  const models::Llama model = lively_llama();
  TokenGenerator generator(model);
  const std::vector<int64_t> prompt = prompt_of(5);
  const GenerateOptions warm{.max_tokens = 30, .temperature = 2, .seed = 5};
  const std::vector<int64_t> text = generator.generate(prompt, warm);
  expect_equal(generator.generate(prompt, warm), text);
  expect_different(generator.generate(prompt, {.max_tokens = 30, .temperature = 2, .seed = 6}), text);
  expect_equal(generator.generate(prompt, {.max_tokens = 30, .temperature = 1e-4}), greedy(model, prompt, 30));
}

TEST("options out of range, empty prompts and tokens outside of the vocabulary are errors") {
  TokenGenerator generator(small_llama());
  const std::vector<int64_t> prompt{1};
  expect_error([&] { generator.generate(std::vector<int64_t>{}); },
               "the prompt has no tokens; begin it with the model's start token");
  expect_error([&] { generator.generate(std::vector<int64_t>{-3}); }, "the prompt has the token -3, which is negative");
  expect_error([&] { generator.generate(std::vector<int64_t>{99}); }, "99");
  expect_error([&] { generator.generate(prompt, {.top_p = 0}); }, "top_p must be above 0 and at most 1, it is 0");
  expect_error([&] { generator.generate(prompt, {.temperature = -1}); }, "temperature must be at least 0, it is -1");
  expect_error([&] { generator.generate(prompt, {.repetition_penalty = 0}); }, "repetition_penalty must be positive");
  const std::vector<int64_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  expect_error([&] { generator.generate(prompt, {.suppress_tokens = all}); }, "the options exclude every token");
}

TEST("each step of the sampler keeps what transformers keeps") {
  const std::vector<float> scores{1, 3, 2, 0, 3};  // probabilities 0.053, 0.389, 0.143, 0.019, 0.389 (rounded)
  const auto after = [&](const std::function<void(std::vector<float>&)>& step) {
    std::vector<float> out = scores;
    step(out);
    return out;
  };
  using namespace generation;
  expect_equal(after([](auto& s) { keep_top_k(s, 2); }), std::vector<float>{none, 3, none, none, 3});
  expect_equal(after([](auto& s) { keep_top_p(s, 0.8); }), std::vector<float>{none, 3, 2, none, 3});
  expect_equal(after([](auto& s) { keep_min_p(s, 0.2); }), std::vector<float>{none, 3, 2, none, 3});
  expect_equal(after([](auto& s) { keep_typical(s, 0.2); }), std::vector<float>{none, 3, none, none, none});
  const std::vector<int64_t> earlier{1, 2, 3, 1, 2};
  expect_equal(after([&](auto& s) { penalize_repetition(s, earlier, 2); }), std::vector<float>{1, 1.5, 1, 0, 3});
  expect_equal(after([&](auto& s) { forbid_repeated_ngrams(s, earlier, 3); }), std::vector<float>{1, 3, 2, none, 3});
}

TEST("penalties of generated tokens and biases change scores by OpenAI's formula") {
  using namespace generation;
  std::vector<float> scores{1, 3, 2, 0, 3};
  const std::vector<int64_t> generated{1, 2, 1};
  penalize_generated(scores, generated, 0.5, 0.25);  // 3 - 2 * 0.5 - 0.25; 2 - 0.5 - 0.25
  expect_equal(scores, std::vector<float>{1, 1.75, 1.25, 0, 3});
  const std::vector<std::pair<int64_t, double>> bias{{0, 2}, {3, -1.5}, {9, 1}};
  add_bias(scores, bias);
  expect_equal(scores, std::vector<float>{3, 1.75, 1.25, -1.5, 3});
}

TEST("the most probable tokens come with the logarithms of their probabilities") {
  const std::vector<float> scores{1, 3, 2, 0, 3};
  const auto top = generation::top_logprobs(scores, 3);
  expect_equal(top.size(), size_t{3});
  expect_equal(std::vector<int64_t>{top[0].id, top[1].id, top[2].id}, std::vector<int64_t>{1, 4, 2});
  expect_near(top[0].logprob, -0.9372698);  // 3 - log(e + 2 e^3 + e^2 + 1)
  expect_near(top[2].logprob, -1.9372698);
  TokenGenerator generator(lively_llama());
  const auto check = [](const GeneratedToken& token) {
    expect_equal(token.top.size(), size_t{2});
    expect_equal(token.top[0].id, token.id);  // greedy
    expect_equal(token.top[0].logprob, token.logprob);
    return true;
  };
  generator.generate(prompt_of(5), {.max_tokens = 3, .top_logprobs = 2}, check);
}

TEST("a bias decides, and a penalty of what was generated varies the text") {
  TokenGenerator generator(lively_llama());
  const std::vector<int64_t> prompt = prompt_of(5);
  expect_equal(generator.generate(prompt, {.max_tokens = 4, .token_bias = {{3, 1000}}}),
               std::vector<int64_t>{3, 3, 3, 3});
  const auto varied = generator.generate(prompt, {.max_tokens = 3, .presence_penalty = 1000});
  expect_equal(std::set<int64_t>(varied.begin(), varied.end()).size(), size_t{3});
  expect_error(
      [&] {
        generator.generate(prompt, {.token_bias = {{3, INFINITY}}});
      },
      "token_bias must be finite or -infinity, it is inf");
}
