#include <cmath>

#include <fulgurite/compare.h>
#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/layer_values.h"
#include "support/test.h"
#include "tensor/half.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string config_of(const std::string& more = "") {
  return R"({"model_type": "llama", "vocab_size": 13, "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-05,
  "max_position_embeddings": 32, "dtype": "float32")" +
         more + "}\n";
}

models::Llama some_llama(const std::string& more = "") {
  manual_seed(7);
  models::Llama model = models::Llama::from_config(hub::Config(config_of(more)), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model))
    if (parameter.ndim() == 2) nn::normal_(parameter, 0.0, 0.15);
  return model;
}

void write_folder(const TestFolder& folder, const models::Llama& model, const std::string& more = "") {
  write_text(folder.file("config.json"), config_of(more));
  save_safetensors(folder.file("model.safetensors"), tensors_in_files(model));
}

Tensor some_tokens() { return tensor({{3, 1, 4, 1, 5, 9, 2, 6}}); }

double difference(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item<double>() / max(abs(b)).item<double>();
}

}  // namespace

TEST("q8_0: the largest magnitude of a group is 127 times its scale") {
  std::vector<float> numbers(64);
  for (int i = 0; i < 32; ++i) numbers[i] = static_cast<float>(i - 10) / 21 * 127;  // a scale of 1
  const nn::QuantizedWeight q = nn::quantize(tensor(numbers).reshape({1, 64}), nn::Codes::q8_0);
  expect_equal(q.scales.to(Dtype::f32).to_vector<float>(), std::vector<float>{1, 0});
  const std::vector<int8_t> codes = q.codes.to_vector<int8_t>();
  expect_equal(static_cast<int>(codes[31]), 127);
  expect_equal(static_cast<int>(codes[10]), 0);
  expect_equal(static_cast<int>(codes[0]), -60);  // -60.48
  expect_equal(static_cast<int>(codes[40]), 0);
  expect_equal(q.in_features(), int64_t{64});
  expect_equal(q.out_features(), int64_t{1});
}

TEST("q8_0 rounds halves away from zero") {
  std::vector<float> numbers(32, 0.f);
  numbers[0] = 127;
  numbers[1] = 2.5f;
  numbers[2] = -2.5f;
  const std::vector<int8_t> codes =
      nn::quantize(tensor(numbers).reshape({1, 32}), nn::Codes::q8_0).codes.to_vector<int8_t>();
  expect_equal(static_cast<int>(codes[1]), 3);
  expect_equal(static_cast<int>(codes[2]), -3);
}

TEST("q4_0: the number of the largest magnitude is -8 times its scale") {
  std::vector<float> numbers(32);
  for (int i = 0; i < 32; ++i) numbers[i] = static_cast<float>(i - 8) / 4;  // up to 5.75
  const nn::QuantizedWeight q = nn::quantize(tensor(numbers).reshape({1, 32}), nn::Codes::q4_0);
  expect_near(values(q.scales), {-0.71875}, 1e-6);
  const std::vector<uint8_t> codes = q.codes.to_vector<uint8_t>();
  expect_equal(codes.size(), size_t{16});
  // Element j is in the lower half of byte j, element j + 16 in the upper one.
  expect_equal(codes[15] >> 4, 0);
  expect_equal(codes[0] & 15, 11);  // -2 / -0.71875 + 8.5
  expect_near(values(q.dequantized())[31], 5.75, 1e-6);
}

TEST("q4_1: the least number is the minimum") {
  std::vector<float> numbers(32);
  for (int i = 0; i < 32; ++i) numbers[i] = 10 + static_cast<float>(i % 16);
  const nn::QuantizedWeight q = nn::quantize(tensor(numbers).reshape({1, 32}), nn::Codes::q4_1);
  expect_near(values(q.minima), {10}, 0);
  expect_near(values(q.scales), {1}, 0);
  const std::vector<double> found = values(q.dequantized());
  for (int i = 0; i < 32; ++i) expect_near(found[i], static_cast<double>(numbers[i]), 0);
}

TEST("weights that cannot be quantized are errors") {
  expect_error(
      [] {
        nn::quantize(ones({2, 48}), nn::Codes::q8_0);
      },
      "quantize: the weight has 48 columns, which is not a multiple of 32");
  expect_error([] { nn::quantize(ones({32}), nn::Codes::q8_0); },
               "quantize: the weight must be a matrix of floating-point numbers");
  expect_error(
      [] {
        nn::quantize(ones({2, 32}) / 0, nn::Codes::q4_0);
      },
      "quantize: the weight has numbers that are not finite");
  const nn::QuantizedWeight none = nn::quantize(zeros({0, 32}), nn::Codes::q4_1);
  expect_equal(none.dequantized().shape(), Shape({0, 32}));
}

TEST("a loaded model has codes for its linear layers, and answers nearly as before") {
  const TestFolder folder;
  const models::Llama model = some_llama();
  write_folder(folder, model);
  const NoGrad no_grad;
  const Tensor expected = model(some_tokens());
  for (const auto& [weights, tolerance] : {std::pair{hub::Weights::int8, 0.04}, {hub::Weights::int4, 0.5}}) {
    const auto loaded = hub::load<models::Llama>(folder.path, {.weights = weights});
    const nn::Linear& layer = loaded.model.layers[1].mlp.down_proj;
    expect(!layer.weight.defined() && layer.quantized.has_value());
    expect(loaded.model.embed_tokens.weight.defined());
    expect_equal(layer.quantized->codes.dtype(), weights == hub::Weights::int8 ? Dtype::i8 : Dtype::u8);
    expect_equal(loaded.lm_head.quantized->codes.dtype(), Dtype::i8);
    const double found = difference(loaded(some_tokens()), expected);
    expect(found > 0 && found < tolerance);
    const auto state = nn::state_dict(loaded);
    expect(state.contains("model.layers.1.mlp.down_proj.weight.codes"));
    expect(state.contains("model.layers.1.mlp.down_proj.weight.scales"));
    expect(!state.contains("model.layers.1.mlp.down_proj.weight"));
    const auto jitted = jit([](models::Llama m, Tensor tokens) { return m(tokens); });
    expect_near(values(jitted(loaded, some_tokens())), values(loaded(some_tokens())), 1e-4);
    // The numbers of the codes give the same scores.
    const models::Llama numbers = hub::dequantize(loaded);
    expect_near(values(numbers(some_tokens())), values(loaded(some_tokens())), 0);
    const models::Llama in_memory = hub::quantize(model, weights);
    expect_near(values(in_memory(some_tokens())), values(loaded(some_tokens())), 0);
  }
}

TEST("a tied output layer has codes of its own, and the embedding stays") {
  const TestFolder folder;
  const models::Llama model = some_llama(R"(, "tie_word_embeddings": true)");
  write_folder(folder, model, R"(, "tie_word_embeddings": true)");
  const auto loaded = hub::load<models::Llama>(folder.path, {.dtype = Dtype::bf16, .weights = hub::Weights::int8});
  expect_equal(loaded.model.embed_tokens.weight.dtype(), Dtype::bf16);
  expect(!loaded.lm_head.weight.defined());
  // The codes are those of the f32 numbers in the file.
  const nn::QuantizedWeight expected = nn::quantize(model.model.embed_tokens.weight, nn::Codes::q8_0);
  expect(equal(loaded.lm_head.quantized->codes, expected.codes));
  expect(equal(loaded.lm_head.quantized->scales, expected.scales));
  const NoGrad no_grad;
  expect_equal(loaded(some_tokens()).dtype(), Dtype::bf16);
}

TEST("a model generates the same with codes as with their numbers") {
  const models::Llama model = hub::quantize(some_llama(), hub::Weights::int4);
  TokenGenerator of_codes(model), of_numbers(hub::dequantize(model));
  const std::vector<int64_t> prompt{1, 5, 7};
  expect_equal(of_codes.generate(prompt, {.max_tokens = 12}), of_numbers.generate(prompt, {.max_tokens = 12}));
}

TEST("a quantized model is saved, and loaded with the same codes") {
  const TestFolder folder, out;
  const models::Llama model = some_llama();
  write_folder(folder, model);
  for (const hub::Weights weights : {hub::Weights::int8, hub::Weights::int4}) {
    const auto quantized = hub::load<models::Llama>(folder.path, {.weights = weights});
    hub::save(quantized, out.path, {.like = folder.path});
    expect_different(read_text(out.file("config.json")).find("\"quant_method\": \"fulgurite\""), std::string::npos);
    const auto again = hub::load<models::Llama>(out.path);
    const auto before = nn::state_dict(quantized), after = nn::state_dict(again);
    expect_equal(before.size(), after.size());
    for (const auto& [name, tensor] : before) expect(equal(after.at(name), tensor), name);
    const auto narrow = hub::load<models::Llama>(out.path, {.dtype = Dtype::bf16});
    expect_equal(narrow.lm_head.quantized->scales.dtype(), Dtype::f16);
    expect_equal(narrow.model.norm.weight.dtype(), Dtype::bf16);
    expect_error([&] { hub::load<models::Llama>(out.path, {.weights = hub::Weights::int4}); },
                 "\"" + out.path + "\" has weights of few bits already: they are loaded as stored");
  }
  // The config of a model without codes says nothing of them.
  hub::save(hub::dequantize(hub::load<models::Llama>(out.path)), folder.path, {.like = out.path});
  expect_equal(read_text(folder.file("config.json")).find("quantization_config"), std::string::npos);
}

TEST("codes that do not fit, and models that other programs quantized, are errors") {
  const TestFolder folder;
  const models::Llama model = hub::quantize(some_llama(), hub::Weights::int8);
  const std::string quantization = R"(, "quantization_config": {"quant_method": "fulgurite", "group_size": 32})";
  TensorMap tensors = tensors_in_files(model);
  tensors.erase("model.layers.0.mlp.up_proj.weight.scales");
  tensors.at("model.layers.1.mlp.up_proj.weight.codes") = zeros({3, 64}, {.dtype = Dtype::i8});
  write_text(folder.file("config.json"), config_of(quantization));
  save_safetensors(folder.file("model.safetensors"), tensors);
  expect_error([&] { hub::load<models::Llama>(folder.path); },
               "the files of \"" + folder.path +
                   "\" do not fit the model that its config.json describes\n"
                   "  missing in the files:\n"
                   "    model.layers.0.mlp.up_proj.weight.scales\n"
                   "  of another shape:\n"
                   "    model.layers.1.mlp.up_proj.weight.codes: [3, 64] in the files, [96, 64] in the model");
  write_text(folder.file("config.json"), config_of(R"(, "quantization_config": {"quant_method": "gptq", "bits": 4})"));
  expect_error(
      [&] { hub::load<models::Llama>(folder.path); },
      folder.path +
          "/config.json, quantization_config: \"quant_method\" is \"gptq\", which is not supported; models of few "
          "bits are loaded that hub::save wrote");
  expect_error([] { hub::weights_from_name("int2"); }, "weights are files, int8 or int4, not \"int2\"");
}

TEST("layers whose rows are not whole groups keep their weights") {
  const models::Llama model = hub::quantize(small_llama(), hub::Weights::int8);  // 16 and 24 features
  expect(model.lm_head.weight.defined() && !model.lm_head.quantized);
  expect(model.model.layers[0].mlp.down_proj.weight.defined());
}

TEST("LoRA on codes trains, with the gradients of LoRA on their numbers") {
  for (const hub::Weights weights : {hub::Weights::int8, hub::Weights::int4}) {
    const models::Llama base = hub::quantize(some_llama(), weights);
    manual_seed(3);
    models::Llama of_codes = hub::with_lora(base, {.rank = 4, .alpha = 8, .targets = {"all-linear"}});
    manual_seed(3);
    const models::Llama of_numbers =
        hub::with_lora(hub::dequantize(base), {.rank = 4, .alpha = 8, .targets = {"all-linear"}});
    for (const models::Llama* model : {static_cast<const models::Llama*>(&of_codes), &of_numbers}) {
      manual_seed(5);
      const NoGrad no_grad;
      for (const Tensor& parameter : nn::parameters(*model)) nn::normal_(parameter, 0.0, 0.1);
    }
    const auto loss_of = jit([](models::Llama m, Tensor tokens) { return m.loss(tokens, tokens); });
    const auto gradients = [&](const models::Llama& model) {
      return autograd::grad({loss_of(model, some_tokens())}, nn::parameters(model));
    };
    const std::vector<Tensor> found = gradients(of_codes), expected = gradients(of_numbers);
    expect_equal(found.size(), size_t{28});
    for (size_t i = 0; i < found.size(); ++i) expect_near(values(found[i]), values(expected[i]), 1e-5);
    optim::AdamW optimizer(nn::parameters(of_codes), {.lr = 1e-2});
    std::vector<double> losses;
    for (int step = 0; step < 20; ++step) {
      optimizer.zero_grad();
      const Tensor loss = loss_of(of_codes, some_tokens());
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    expect_less(losses.back(), 0.5 * losses.front());
    expect_error([&] { hub::merge_lora(of_codes); },
                 "merge_lora: model.layers.0.self_attn.q_proj has a weight of few bits, to which nothing is added; "
                 "hub::dequantize makes numbers of it first");
  }
}

TEST("LoRA that was trained on codes is loaded over them and over their numbers") {
  const TestFolder folder;
  const models::Llama base = hub::quantize(some_llama(), hub::Weights::int4);
  models::Llama adapted = hub::with_lora(base, {.rank = 4});
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(adapted)) nn::normal_(parameter, 0.0, 0.1);
  hub::save_lora(adapted, folder.path, "base");
  const std::vector<double> expected = values(adapted(some_tokens()));
  expect_near(values(hub::load_lora(base, folder.path)(some_tokens())), expected, 0);
  const models::Llama merged = hub::merge_lora(hub::load_lora(hub::dequantize(base), folder.path));
  expect_near(values(merged(some_tokens())), expected, 1e-4);
}
