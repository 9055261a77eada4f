#include <cmath>

#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string config_of(const std::string& type, const std::string& more = "") {
  return R"({"model_type": ")" + type + R"(", "vocab_size": 13, "hidden_size": 32, "intermediate_size": 20,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0)" +
         more + "}\n";
}

template <class Model>
Model make(const std::string& type, const std::string& more = "") {
  manual_seed(5);
  auto model = Model::from_config(hub::Config(config_of(type, more)), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  return model;
}

// Other frequencies from the thirteenth token on.
std::string longrope(const std::string& kind = "longrope") {
  return R"(, "max_position_embeddings": 48, "original_max_position_embeddings": 12, "rope_scaling": {"type": ")" +
         kind + R"(", "short_factor": [1, 1.25, 1.5, 2], "long_factor": [2, 4, 6, 8]})";
}

std::vector<int64_t> prompt_of(int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((7 * i + 3) % 13);
  return tokens;
}

template <class Model>
std::vector<int64_t> greedy(const Model& model, std::vector<int64_t> tokens, int64_t count) {
  const NoGrad no_grad;
  const auto prompt = static_cast<std::ptrdiff_t>(tokens.size());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor logits = model(tensor(tokens).reshape({1, static_cast<int64_t>(tokens.size())}))(0, -1);
    tokens.push_back(argmax(logits).item<int64_t>());
  }
  return {tokens.begin() + prompt, tokens.end()};
}

// Texts alone and together have the tokens of complete forward passes.
template <class Model>
void check_generation(const Model& model) {
  TokenGenerator generator(model);
  BatchGenerator batch(generator, 4);
  std::vector<std::vector<int64_t>> prompts, expected;
  for (const int64_t length : {1, 5, 11, 12, 13, 30, 3, 2, 40}) {
    prompts.push_back(prompt_of(length));
    expected.push_back(greedy(model, prompts.back(), 16));
    expect_equal(generator.generate(prompts.back(), {.max_tokens = 16}), expected.back());
  }
  expect_equal(batch.generate(prompts, {.max_tokens = 16}), expected);
  const auto step = [](Model m, Tensor tokens, Tensor positions, Tensor rows, models::KeyValueCache cache) {
    return m.step(tokens, positions, rows, cache);
  };
  const auto compiled = jit(step, {.fullgraph = true});
  const Tensor scores = compiled(model, tensor({{3, 1}}), tensor({0, 1}), tensor({1}), make_cache(model, 8));
  expect(allclose(scores(0, 0), model(tensor({{3, 1}}))(0, 1), 1e-5, 1e-5));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST("Phis generate as they compute, alone and in batches, in one program") {
  check_generation(make<models::Phi>("phi"));
  check_generation(make<models::Phi>("phi", R"(, "qk_layernorm": true, "tie_word_embeddings": true)"));
  check_generation(make<models::Phi3>("phi3"));
  check_generation(make<models::Phi3>("phi3", R"(, "sliding_window": 6)"));
}

TEST("texts that grow beyond the training's length are computed anew with the frequencies of long ones") {
  check_generation(make<models::Phi3>("phi3", longrope()));
  check_generation(make<models::Llama>("llama", longrope()));
  check_generation(make<models::Phi>("phi", longrope() + R"(, "partial_rotary_factor": 1)"));
}

TEST("longrope divides frequencies by factors and scales the tables") {
  for (const char* kind : {"longrope", "su", "yarn"}) {
    const auto model = make<models::Phi3>("phi3", longrope(kind));
    const models::RotaryEmbedding& rotary = model.model.rotary_emb;
    expect_less(std::fabs(rotary.attention_factor - std::sqrt(1 + std::log(4.0) / std::log(12.0))), 1e-12);
    expect_less(std::fabs(rotary.inv_freq(1).item<double>() - 0.1 / 1.25), 1e-7);
    expect_less(std::fabs(rotary.long_inv_freq(1).item<double>() - 0.1 / 4), 1e-7);
    expect_equal(model.long_length(), 12);
  }
  expect_equal(make<models::Phi3>("phi3").long_length(), 0);
}

TEST("half of a Phi's features are rotated unless its config says otherwise") {
  expect_equal(make<models::Phi>("phi").model.rotary_emb.inv_freq.size(0), 2);
  expect_equal(make<models::Phi>("phi", R"(, "partial_rotary_factor": 0.25)").model.rotary_emb.inv_freq.size(0), 1);
  expect_equal(make<models::Phi>("phi", R"(, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 1})")
                   .model.rotary_emb.inv_freq.size(0),
               4);
}

TEST("configurations of Phi that the library does not have are refused") {
  const auto phi3 = [](const std::string& more) { return message_of([&] { make<models::Phi3>("phi3", more); }); };
  expect_equal(phi3(R"(, "rope_scaling": {"type": "linear", "factor": 2})"),
               "config.json, rope_scaling: \"type\" is \"linear\", which is not supported; phi3 has longrope");
  expect_equal(
      phi3(R"(, "rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1]})"),
      "make_rotary: longrope needs 4 short and 4 long factors, one for each pair of rotated features; a list has 1");
  expect_equal(phi3(R"(, "rope_scaling": {"type": "longrope", "short_factor": ["a"]})"),
               "config.json, rope_scaling: \"short_factor\" must be a list of numbers");
  expect_equal(message_of([] { make<models::Phi>("phi3"); }),
               "config.json: \"model_type\" is \"phi3\", which is not supported; models::Phi has phi");
  expect_equal(message_of([] { models::make_phi({.heads = 3, .width = 32}); }),
               "make_phi: width 32 must be a multiple of the heads 3, and the heads one of key_value_heads 8");
}
