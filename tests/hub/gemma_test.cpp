#include <cmath>

#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string gemma_config(const std::string& type, const std::string& more = "") {
  return R"({"model_type": ")" + type + R"(", "vocab_size": 13, "hidden_size": 24, "intermediate_size": 20,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 6,
  "query_pre_attn_scalar": 8)" +
         more + "}\n";
}

models::Gemma gemma(const std::string& type, const std::string& more = "") {
  manual_seed(5);
  auto model = models::Gemma::from_config(hub::Config(gemma_config(type, more)), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  return model;
}

std::vector<int64_t> prompt_of(int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((7 * i + 3) % 13);
  return tokens;
}

std::vector<int64_t> greedy(const models::Gemma& model, std::vector<int64_t> tokens, int64_t count) {
  const NoGrad no_grad;
  const auto prompt = static_cast<std::ptrdiff_t>(tokens.size());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor logits = model(tensor(tokens).reshape({1, static_cast<int64_t>(tokens.size())}))(0, -1);
    tokens.push_back(argmax(logits).item<int64_t>());
  }
  return {tokens.begin() + prompt, tokens.end()};
}

std::string refusal(const std::string& type, const std::string& more) {
  try {
    gemma(type, more);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST("Gemma's norm scales by 1 + weight in f32, also where both are bf16") {
  const std::vector<double> x{1, 2, 2, 4}, weight{0.5, -0.25, 0, 0.0078125};
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    const models::GemmaNorm norm{tensor(weight).to(dtype), 0.0};
    const Tensor got = norm(tensor(x).to(dtype));
    expect_equal(got.dtype(), dtype);
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] / 2.5 * (1 + weight[i]));
    // 4 / 2.5 and 1 + 0.0078125 rounded before their product would give another bf16 number.
    expect(allclose(got.to(Dtype::f64), tensor(expected).to(dtype).to(Dtype::f64), 1e-6, 0));
  }
}

TEST("scores are capped before the mask, in groups of heads") {
  manual_seed(1);
  const models::CausalHeads heads{
      .count = 4, .key_value_count = 2, .width = 3, .window = 2, .scale = 0.7, .score_cap = 1.5};
  const TensorOptions f64{.dtype = Dtype::f64};
  const Tensor query = randn({2, 4, 5, 3}, f64), keys = randn({2, 2, 5, 3}, f64), values = randn({2, 2, 5, 3}, f64);
  const Tensor all_keys = repeat_interleave(keys, 2, 1), all_values = repeat_interleave(values, 2, 1);
  const Tensor scores = tanh(matmul(query, transpose(all_keys, -2, -1)) * 0.7 / 1.5) * 1.5;
  const Tensor row = arange(5).reshape({5, 1}), column = arange(5);
  const Tensor is_seen = logical_and(column <= row, column > row - 2);
  const Tensor mixed = matmul(softmax(where(is_seen, scores, -INFINITY), -1), all_values);
  const Tensor expected = reshape(transpose(mixed, 1, 2), {2, 5, 12});
  expect(allclose(models::causal_attention(heads, query, keys, values), expected, 1e-12, 1e-12));
}

TEST("embeddings are scaled by the root of the width, rounded to their dtype") {
  models::Gemma model =
      models::make_gemma({.vocabulary = 40, .layers = 0, .heads = 1, .key_value_heads = 1, .width = 72, .eps = 1});
  nn::to(model, Dtype::bf16);
  const NoGrad no_grad;
  const Tensor tokens = reshape(arange(40), {1, 40});
  const Tensor rows = unsqueeze(model.model.embed_tokens.weight, 0);
  const Tensor rounded = tensor(8.5).to(Dtype::bf16);
  expect(equal(model.model(tokens), model.model.norm(rows * rounded)));
  expect(!equal(model.model(tokens), model.model.norm(rows * std::sqrt(72.0))));
}

TEST("Gemmas generate as they compute, alone and in batches, in one program") {
  const std::string pattern = R"(, "sliding_window_pattern": 2, "rope_scaling": {"rope_type": "linear", "factor": 8})";
  for (const auto& [type, more] : {std::pair("gemma", std::string()),
                                   {"gemma2", R"(, "attn_logit_softcapping": 3.0)"},
                                   {"gemma3_text", pattern}}) {
    const models::Gemma model = gemma(type, more);
    TokenGenerator generator(model);
    BatchGenerator batch(generator, 4);
    std::vector<std::vector<int64_t>> prompts, expected;
    for (const int64_t length : {1, 9, 30, 65}) {
      prompts.push_back(prompt_of(length));
      expected.push_back(greedy(model, prompts.back(), 10));
      expect_equal(generator.generate(prompts.back(), {.max_tokens = 10}), expected.back());
    }
    expect_equal(batch.generate(prompts, {.max_tokens = 10}), expected);
    const auto step = [](models::Gemma m, Tensor tokens, Tensor positions, Tensor rows, models::KeyValueCache cache) {
      return m.step(tokens, positions, rows, cache);
    };
    const auto compiled = jit(step, {.fullgraph = true});
    const Tensor scores = compiled(model, tensor({{3, 1}}), tensor({0, 1}), tensor({1}), make_cache(model, 8));
    expect(allclose(scores(0, 0), model(tensor({{3, 1}}))(0, 1), 1e-5, 1e-5));
  }
}

TEST("the frequencies of both kinds of layers are read from the keys of both versions of transformers") {
  const auto older = gemma("gemma3_text", R"(, "rope_theta": 5000, "rope_local_base_freq": 300,
                           "rope_scaling": {"rope_type": "linear", "factor": 4}, "sliding_window_pattern": 2)");
  const auto newer = gemma("gemma3_text", R"(, "rope_parameters": {
                           "full_attention": {"rope_type": "linear", "factor": 4, "rope_theta": 5000},
                           "sliding_attention": {"rope_type": "default", "rope_theta": 300}},
                           "layer_types": ["sliding_attention", "full_attention", "sliding_attention"])");
  for (const models::Gemma& model : {older, newer}) {
    expect_less(std::fabs(model.model.rotary_emb.inv_freq(1).item<double>() - std::pow(5000, -0.25) / 4), 1e-6);
    expect_less(std::fabs(model.model.local_rotary_emb.inv_freq(1).item<double>() - std::pow(300, -0.25)), 1e-6);
    expect_equal(model.model.layers[0].self_attn.heads.window, 6);
    expect_equal(model.model.layers[1].self_attn.heads.window, 0);
  }
}

TEST("caps, windows and the token for padding that are null are none") {
  const auto usual = gemma("gemma2");
  expect_equal(usual.logits_cap, 30.0);
  expect_equal(usual.model.layers[0].self_attn.heads.score_cap, 50.0);
  expect_equal(usual.model.embed_tokens.padding_idx, 0);
  const auto plain = gemma("gemma2", R"(, "attn_logit_softcapping": null, "final_logit_softcapping": null,
                                     "pad_token_id": null)");
  expect_equal(plain.logits_cap, 0.0);
  expect_equal(plain.model.layers[0].self_attn.heads.score_cap, 0.0);
  expect(!plain.model.embed_tokens.padding_idx);
}

TEST("the language model of a Gemma for images and texts is loaded, and saved alone") {
  const TestFolder folder, saved;
  const models::Gemma model = gemma("gemma3_text", R"(, "tie_word_embeddings": false)");
  TensorMap tensors;
  for (const auto& [name, tensor] : tensors_in_files(model)) tensors["language_model." + name] = tensor;
  tensors["vision_tower.embeddings.weight"] = ones({2});
  tensors["multi_modal_projector.mm_soft_emb_norm.weight"] = ones({2});
  save_safetensors(folder.file("model.safetensors"), tensors, {{"format", "pt"}});
  write_text(folder.file("config.json"), R"({"model_type": "gemma3", "vision_config": {}, "text_config": )" +
                                             gemma_config("gemma3_text") +
                                             R"(, "dtype": "float32", "tie_word_embeddings": false})");
  const Tensor tokens = tensor({{3, 1, 4}});
  const hub::CausalLM loaded = hub::load_causal_lm(folder.path);
  expect(equal(loaded(tokens), model(tokens)));
  hub::save(loaded, saved.path, {.like = folder.path});
  const hub::Config config = hub::Config::read(saved.path);
  expect_equal(config.model_type(), std::string("gemma3_text"));
  expect(!config.boolean("tie_word_embeddings", true) && config.dtype() == Dtype::f32);
  expect(equal(hub::load<models::Gemma>(saved.path)(tokens), model(tokens)));
}

TEST("configurations of Gemma that the library does not have are refused") {
  expect_equal(
      refusal("gemma3_text", R"(, "use_bidirectional_attention": true)"),
      "config.json: \"use_bidirectional_attention\" is true, which is not supported; language models attend to "
      "earlier tokens");
  expect_equal(refusal("gemma3_text", R"(, "rope_parameters": {"rope_type": "default"})"),
               "config.json: \"rope_parameters\" is of another kind, which is not supported; gemma3 has an object "
               "full_attention and an object sliding_attention in it");
  expect_equal(refusal("gemma4", ""),
               "config.json: \"model_type\" is \"gemma4\", which is not supported; models::Gemma has gemma, gemma2, "
               "gemma3 and gemma3_text");
  try {
    models::make_gemma({.heads = 4, .key_value_heads = 3});
    expect(false);
  } catch (const UserError& error) {
    expect_equal(std::string(error.what()), "make_gemma: the heads 4 must be a multiple of key_value_heads 3");
  }
}
