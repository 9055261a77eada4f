#include <fulgurite/fulgurite.h>

#include "hub/audio/small_whisper.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor features_of(int64_t batch) {
  manual_seed(3);
  return randn({batch, 8, 100});
}

}  // namespace

TEST("a model has the weights of transformers, positions of the encoder without gradients") {
  const auto model = small_whisper();
  std::string names;
  for (const auto& [name, tensor] : tensors_in_files(model))
    if (name.find("decoder.layers.1.") == std::string::npos && !name.ends_with(".bias"))
      names += name + " " + tensor.shape().text() + (tensor.requires_grad() ? "\n" : " without gradient\n");
  expect(!model.model.encoder.layers[0].self_attn.k_proj.bias.defined());
  expect(model.model.encoder.layers[0].self_attn.v_proj.bias.defined());
  expect_text(names, R"(
model.decoder.embed_positions.weight [24, 16]
model.decoder.embed_tokens.weight [76, 16]
model.decoder.layer_norm.weight [16]
model.decoder.layers.0.encoder_attn.k_proj.weight [16, 16]
model.decoder.layers.0.encoder_attn.out_proj.weight [16, 16]
model.decoder.layers.0.encoder_attn.q_proj.weight [16, 16]
model.decoder.layers.0.encoder_attn.v_proj.weight [16, 16]
model.decoder.layers.0.encoder_attn_layer_norm.weight [16]
model.decoder.layers.0.fc1.weight [24, 16]
model.decoder.layers.0.fc2.weight [16, 24]
model.decoder.layers.0.final_layer_norm.weight [16]
model.decoder.layers.0.self_attn.k_proj.weight [16, 16]
model.decoder.layers.0.self_attn.out_proj.weight [16, 16]
model.decoder.layers.0.self_attn.q_proj.weight [16, 16]
model.decoder.layers.0.self_attn.v_proj.weight [16, 16]
model.decoder.layers.0.self_attn_layer_norm.weight [16]
model.encoder.conv1.weight [16, 8, 3]
model.encoder.conv2.weight [16, 16, 3]
model.encoder.embed_positions.weight [50, 16] without gradient
model.encoder.layer_norm.weight [16]
model.encoder.layers.0.fc1.weight [20, 16]
model.encoder.layers.0.fc2.weight [16, 20]
model.encoder.layers.0.final_layer_norm.weight [16]
model.encoder.layers.0.self_attn.k_proj.weight [16, 16]
model.encoder.layers.0.self_attn.out_proj.weight [16, 16]
model.encoder.layers.0.self_attn.q_proj.weight [16, 16]
model.encoder.layers.0.self_attn.v_proj.weight [16, 16]
model.encoder.layers.0.self_attn_layer_norm.weight [16]
proj_out.weight [76, 16]
)");
}

TEST("positions of the encoder are sines and cosines") {
  const Tensor table = models::make_whisper({.vocabulary = 3, .width = 384}).model.encoder.embed_positions.weight;
  expect_equal(table.shape(), Shape({1500, 384}));
  expect_near(table(0, 100).item<double>(), 0.0, 1e-7);
  expect_near(table(0, 300).item<double>(), 1.0, 1e-7);
  expect_near(table(3, 0).item<double>(), std::sin(3.0), 1e-7);
  expect_near(table(1000, 383).item<double>(), std::cos(0.1), 1e-7);
  expect_near(table(1000, 191).item<double>(), std::sin(0.1), 1e-7);
}

TEST("a step of the decoder is one program, also where each text has its position") {
  const auto model = small_whisper();
  const auto step = [](models::Whisper m, Tensor tokens, Tensor positions, Tensor rows, models::KeyValueCache cache,
                       models::SourceCache source) { return m.step(tokens, positions, rows, cache, source); };
  const auto compiled = jit(step, {.fullgraph = true});
  const Tensor features = features_of(2);
  const models::SourceCache source = model.encode(features);
  expect_equal(source.keys.size(), size_t{2});
  expect_equal(source.keys[0].shape(), Shape({2, 4, 50, 4}));
  const models::KeyValueCache cache = make_cache(model, 8, 2);
  compiled(model, tensor({{17, 1}, {17, 4}}), tensor({{0, 1}, {0, 1}}), tensor({1}), cache, source);
  compiled(model, tensor({{6}, {6}}), tensor({{2}, {1}}), tensor({0}), cache, source);
  const Tensor scores = compiled(model, tensor({{7}, {7}}), tensor({{3}, {2}}), tensor({0}), cache, source);
  const Tensor first = model(narrow(features, 0, 0, 1), tensor({{17, 1, 6, 7}}));
  const Tensor second = model(narrow(features, 0, 1, 1), tensor({{17, 6, 7}}));
  expect(allclose(scores(0, 0), first(0, 3), 1e-5, 1e-5));
  expect(allclose(scores(1, 0), second(0, 2), 1e-5, 1e-5));
}

TEST("the loss is the cross entropy of labels, which the decoder sees moved by one") {
  const auto model = small_whisper();
  const Tensor labels = tensor({{5, 6, 7}, {8, -100, -100}});
  expect(equal(model.shifted(labels), tensor({{17, 5, 6}, {17, 8, 16}})));
  const Tensor features = features_of(2), logits = model(features, model.shifted(labels));
  const Tensor expected = nn::cross_entropy(reshape(logits, {6, 76}), reshape(labels, {6}));
  expect(allclose(model.loss(features, labels), expected, 1e-6, 0));
}

TEST("features and texts of other sizes are refused") {
  const auto model = small_whisper();
  const auto refused = [&](const Shape& shape, const std::string& message) {
    expect_error([&] { model.encode(zeros(Dims(shape))); }, "Whisper takes features [batch, 8, 100], got shape " +
                                                                message +
                                                                "; pad or cut the audio, as hub::AudioProcessor does");
  };
  refused({1, 8, 99}, "[1, 8, 99]");
  refused({1, 80, 100}, "[1, 80, 100]");
  refused({8, 100}, "[8, 100]");
  expect_error(
      [&] {
        model(features_of(1), zeros({1, 25}, {.dtype = Dtype::i64}));
      },
      "Whisper takes tokens [batch, length] of at most 24 tokens, got shape [1, 25]");
  expect_error([] { models::make_whisper({.heads = 5}); }, "make_whisper: width 384 must be a multiple of the heads 5");
  expect_error([] { models::make_whisper({.decoder_heads = 0}); },
               "make_whisper: width 384 must be a multiple of the heads 0");
  expect_error([] { models::make_whisper({.heads = 1, .decoder_heads = 1, .width = 3}); },
               "make_whisper: the width must be even and at least 4, it is 3");
}

TEST("folders are loaded and saved with the same bits, in every dtype") {
  for (const char* more : {"", R"(, "tie_word_embeddings": false)"}) {
    const TestFolder folder, again;
    const auto model = small_whisper(more);
    write_text(folder.file("config.json"), small_whisper_config(more));
    hub::save(model, folder.path, {.like = folder.path, .shard_bytes = 5000});
    const auto loaded = hub::load<models::Whisper>(folder.path);
    expect_equal(loaded.proj_out.weight.data_ptr<float>() == loaded.model.decoder.embed_tokens.weight.data_ptr<float>(),
                 *more == 0);
    const Tensor features = features_of(1), tokens = tensor({{17, 3, 4}}), expected = model(features, tokens);
    expect(equal(loaded(features, tokens), expected));
    for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
      const auto half = hub::load<models::Whisper>(folder.path, {.dtype = dtype});
      expect_equal(half.model.encoder.embed_positions.weight.dtype(), dtype);
      const Tensor logits = half(features, tokens);
      expect_equal(logits.dtype(), dtype);
      const double difference = max(abs(logits.to(Dtype::f32) - expected)).item<double>();
      expect(difference < (dtype == Dtype::f16 ? 0.005 : 0.05) * max(abs(expected)).item<double>(),
             std::to_string(difference));
      hub::save(half, again.path, {.like = folder.path});
      expect(equal(hub::load<models::Whisper>(again.path)(features, tokens), logits));
    }
  }
}

TEST("LoRA trains the projections that it names") {
  const auto adapted = hub::with_lora(small_whisper(), {.rank = 2, .targets = {"q_proj", "v_proj"}});
  const auto loss_of = jit([](models::Whisper m, Tensor x, Tensor y) { return m.loss(x, y); });
  loss_of(adapted, features_of(1), tensor({{5, 6, 7}})).backward();
  const models::WhisperAttention& attention = adapted.model.decoder.layers[1].encoder_attn;
  expect(!attention.q_proj.weight.grad().defined() && !attention.k_proj.lora.has_value());
  expect_greater(max(abs(attention.v_proj.lora->B.grad())).item<float>(), 0);
  expect_greater(max(abs(adapted.model.encoder.layers[0].self_attn.q_proj.lora->B.grad())).item<float>(), 0);
}

TEST("configurations that there are not are refused") {
  expect_error([] { small_whisper(R"(, "activation_function": "swiglu")"); },
               "config.json: \"activation_function\" is \"swiglu\", which is not supported; there are " +
                   models::activation_names());
  expect_error([] { models::Whisper::from_config(hub::Config(R"({"model_type": "t5"})"), models::LayerMaker()); },
               "config.json: \"model_type\" is \"t5\", which is not supported; models::Whisper has whisper");
}
