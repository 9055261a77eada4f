#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const hub::LoraOptions options{.rank = 2, .alpha = 6, .targets = {"q_proj", "down_proj"}};

Tensor some_tokens() { return tensor({{3, 1, 4, 1, 5}}); }

// LoRA whose B is not 0.
models::Llama lively(const models::Llama& model) {
  models::Llama adapted = hub::with_lora(model, options);
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(adapted)) nn::normal_(parameter, 0.0, 0.3);
  return adapted;
}

}  // namespace

TEST("LoRA begins without a change, and only its matrices are trained") {
  const models::Llama model = small_llama();
  const models::Llama adapted = hub::with_lora(model, options);
  expect_equal(values(adapted(some_tokens())), values(model(some_tokens())));
  const auto named = nn::named_parameters(adapted);
  expect_equal(named.size(), size_t{12});
  expect_equal(named.front().first, std::string("model.layers.0.self_attn.q_proj.lora.A"));
  expect_equal(named[3].first, std::string("model.layers.0.mlp.down_proj.lora.B"));
  expect_equal(named[2].second.shape(), Shape({2, 24}));
  expect(model.lm_head.weight.requires_grad());
  expect(!adapted.lm_head.weight.requires_grad());
  expect_equal(adapted.lm_head.weight.data_ptr<float>(), model.lm_head.weight.data_ptr<float>());
}

TEST("a layer with LoRA adds B A x times the scale, eagerly and jitted, also to its gradients") {
  const models::Llama adapted = lively(small_llama());
  const nn::Linear& layer = adapted.model.layers[1].self_attn.q_proj;
  manual_seed(1);
  const Tensor x = randn({4, 16});
  const Tensor change = matmul(matmul(x, layer.lora->A.t()), layer.lora->B.t()) * 3;
  expect_near(values(layer(x)), values(matmul(x, layer.weight.t()) + change), 1e-5);
  const auto compiled = jit([](models::Llama m, Tensor tokens) { return m.loss(tokens, tokens); });
  const Tensor loss = adapted.loss(some_tokens(), some_tokens());
  expect_near(values(compiled(adapted, some_tokens())), values(loss), 1e-5);
  const std::vector<Tensor> eager = autograd::grad({loss}, nn::parameters(adapted));
  const std::vector<Tensor> jitted = autograd::grad({compiled(adapted, some_tokens())}, nn::parameters(adapted));
  for (size_t i = 0; i < eager.size(); ++i) expect_near(values(jitted[i]), values(eager[i]), 1e-5);
}

TEST("a model's LoRA is saved, loaded and merged") {
  const TestFolder folder;
  const models::Llama model = small_llama();
  const models::Llama adapted = lively(model);
  hub::save_lora(adapted, folder.path, "base");
  const models::Llama again = hub::load_lora(model, folder.path);
  expect_equal(values(again(some_tokens())), values(adapted(some_tokens())));
  expect_equal(nn::named_parameters(again).size(), size_t{12});
  const models::Llama merged = hub::merge_lora(adapted);
  expect(!merged.model.layers[0].self_attn.q_proj.lora.has_value());
  expect_near(values(merged(some_tokens())), values(adapted(some_tokens())), 1e-4);
  expect(load_safetensors(folder.file("adapter_model.safetensors"))
             .contains("base_model.model.model.layers.2.mlp.down_proj.lora_B.weight"));
  expect_error([&] { hub::save(adapted, folder.path, {.like = folder.path}); },
               "hub::save: the model has LoRA; save_lora saves it alone, and merge_lora adds it to the weights");
  expect_error([&] { hub::save_lora(model, folder.path); }, "save_lora: the model has no LoRA; with_lora adds it");
}

TEST("targets and options that do not fit are errors") {
  const models::Llama model = small_llama();
  expect_error(
      [&] {
        hub::with_lora(model, {.targets = {"q_proj", "c_attn"}});
      },
      "with_lora: the model has no linear layer c_attn; there are q_proj, k_proj, v_proj, o_proj, gate_proj, "
      "up_proj, down_proj, lm_head");
  expect_error([&] { hub::with_lora(model, {.rank = 0}); }, "with_lora: rank must be positive, it is 0");
  expect_error([&] { hub::with_lora(hub::with_lora(model)); },
               "with_lora: model.layers.0.self_attn.q_proj has LoRA already");
  expect_equal(nn::named_parameters(hub::with_lora(model, {.targets = {"all-linear"}})).size(), size_t{42});
}

TEST("layers that a model does not have get no LoRA") {
  const hub::Config config(
      R"({"model_type": "t5", "vocab_size": 13, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_heads": 2,
                               "num_layers": 1, "feed_forward_proj": "gated-gelu"})");
  const auto model = models::T5::from_config(config, models::LayerMaker());
  const models::T5 adapted = hub::with_lora(model, {.targets = {"all-linear"}});
  int64_t trained = 0;  // A and B of four layers in each of three attentions, and of three in two feed-forward layers
  for (const Tensor& parameter : nn::parameters(adapted)) trained += parameter.requires_grad() ? 1 : 0;
  expect_equal(trained, 2 * (3 * 4 + 2 * 3));
  const Tensor source = tensor({{1, 2, 3}}), labels = tensor({{4, 5}});
  expect(equal(adapted(source, labels), model(source, labels)));
  expect_error([&] { hub::with_lora(model, {.targets = {"wi"}}); },
               "with_lora: the model has no linear layer wi; there are q, k, v, o, wi_0, wi_1, wo");
}

TEST("folders of peft that do not fit are errors") {
  const TestFolder folder;
  const models::Llama model = small_llama();
  hub::save_lora(lively(model), folder.path);
  const std::string config = read_text(folder.file("adapter_config.json"));
  TensorMap tensors = load_safetensors(folder.file("adapter_model.safetensors"));
  const std::string q = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight";
  tensors[q] = zeros({2, 7});
  tensors.erase("base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight");
  save_safetensors(folder.file("adapter_model.safetensors"), tensors);
  try {
    hub::load_lora(model, folder.path);
    fail("matrices of other shapes were loaded");
  } catch (const hub::LoadError& error) {
    expect_equal(error.misshapen.at(0).name, q);
    expect_equal(error.missing.at(0), std::string("base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight"));
  }
  std::string dora = config;
  dora.replace(dora.find("\"use_dora\": false"), 17, "\"use_dora\": true");
  write_text(folder.file("adapter_config.json"), dora);
  expect_error([&] { hub::load_lora(model, folder.path); },
               folder.file("adapter_config.json") +
                   ": \"use_dora\" is true, which is not supported; the weights are not divided into parts");
}

TEST("dropout of LoRA acts while training only") {
  const models::Llama model = small_llama();
  models::Llama adapted = hub::with_lora(model, {.rank = 2, .targets = {"q_proj"}, .dropout = 0.5});
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(adapted)) nn::normal_(parameter, 0.0, 0.3);
  expect_different(values(adapted(some_tokens())), values(adapted(some_tokens())));
  nn::eval(adapted);
  expect_equal(values(adapted(some_tokens())), values(adapted(some_tokens())));
}
