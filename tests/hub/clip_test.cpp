#include <fulgurite/fulgurite.h>

#include "hub/image_models.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::string last_token = R"(, "eos_token_id": 19)";

models::Clip small_clip(const std::string& text = last_token, Dtype dtype = Dtype::f32) {
  return image_model<models::Clip>(small_clip_config(text), dtype);
}

Tensor two_texts() { return tensor({{3, 7, 19, 21, 1}, {4, 19, 5, 19, 6}}); }
Tensor their_mask() { return tensor({{1, 1, 1, 0, 0}, {1, 1, 1, 1, 1}}); }
Tensor two_images() { return some_images({2, 3, 8, 8}); }

}  // namespace

// The numbers of this file are those of transformers.
TEST("CLIP gives the likeness of images and texts, and the loss of pairs") {
  const auto model = small_clip();
  const models::ClipScores scores = model(two_texts(), two_images(), their_mask());
  expect_near(values(scores.logits_per_image), {-0.160229, -0.169698, -0.143126, -0.152621}, 1e-5);
  expect_near(values(scores.logits_per_text), {-0.160229, -0.143126, -0.169698, -0.152621}, 1e-5);
  expect_near(model.loss(two_texts(), two_images(), their_mask()).item<double>(), 0.693178, 1e-5);
  const Tensor lengths = sum(scores.text_embeds * scores.text_embeds, {1});
  expect_near(values(lengths), {1.0, 1.0}, 1e-5);
}

TEST("CLIP's vectors of texts and images are those of transformers, eager, compiled and in other dtypes") {
  const std::vector<double> of_texts = {0.350062, -1.27628, 0.0213342,  1.27007, -0.390924, -1.15631,
                                        0.361267, -1.27286, 0.00913458, 1.2702,  -0.378762, -1.15998};
  const std::vector<double> of_images = {-0.600659, -0.0587029, 0.617741, -0.12106,  -0.582513, 0.290571,
                                         -0.591202, -0.0689724, 0.611273, -0.108908, -0.579581, 0.277566};
  const auto model = small_clip();
  expect_near(values(model.text_features(two_texts())), of_texts, 1e-5);
  expect_near(values(model.image_features(two_images())), of_images, 1e-5);
  const auto compiled = jit([](const models::Clip& m, const Tensor& tokens, const Tensor& images) {
    const Tensor text = m.text_features(tokens);
    return std::pair(text, m.image_features(images));
  });
  const auto [text, images] = compiled(model, two_texts(), two_images());
  expect_near(values(text), of_texts, 1e-5);
  expect_near(values(images), of_images, 1e-5);
  expect_near(values(small_clip(last_token, Dtype::f64).text_features(two_texts())), of_texts, 1e-5);
  expect_near(values(small_clip(last_token, Dtype::bf16).image_features(two_images())), of_images, 0.03);
}

TEST("in CLIP's older files the end token is the largest one of a text") {
  const auto model = small_clip(R"(, "eos_token_id": 2)");
  expect_near(values(model.text_features(two_texts())),
              {0.406319, -1.28209, -0.0332301, 1.29176, -0.342673, -1.19205, 0.361267, -1.27286, 0.00913458, 1.2702,
               -0.378762, -1.15998},
              1e-5);
  const models::ClipScores scores = model(two_texts(), two_images(), their_mask().to(Dtype::boolean));
  expect_near(values(scores.logits_per_image), {-0.202111, -0.169698, -0.185135, -0.152621}, 1e-5);
}

TEST("CLIP's positions are interpolated for other images if it is asked for") {
  const auto model = small_clip();
  const Tensor tall = some_images({1, 3, 12, 8});
  expect_near(values(model.image_features(tall, true)),
              {-0.598551, -0.0608835, 0.616268, -0.11845, -0.581798, 0.287754}, 1e-5);
  expect_error([&] { model.image_features(tall); },
               "Clip: the model's positions are for images of 8 x 8 pixels, these have 12 x 8; resize them, or let the "
               "positions be interpolated");
}

TEST("CLIP has gradients, is saved and loaded") {
  const TestFolder folder;
  const auto model = small_clip();
  model.loss(two_texts(), two_images()).backward();
  for (const auto& [name, parameter] : nn::named_parameters(model))
    if (!parameter.grad().defined()) fail("no gradient of " + name);
  write_text(folder.file("config.json"), small_clip_config(last_token));
  hub::save(model, folder.path, {.like = folder.path});
  TensorMap saved = load_safetensors(folder.file("model.safetensors"));
  expect(saved.contains("vision_model.pre_layrnorm.weight") && saved.contains("logit_scale"));
  saved["text_model.embeddings.position_ids"] = arange(10);
  save_safetensors(folder.file("model.safetensors"), saved);
  const auto loaded = hub::load<models::Clip>(folder.path);
  expect_equal(values(loaded.text_features(two_texts())), values(model.text_features(two_texts())));
}

TEST("the older keys of CLIP's towers go before the newer ones") {
  const std::string config = R"({"model_type": "clip", "text_config": {"hidden_size": 16}, "text_config_dict":
    {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 5}, "vision_config":
    {"num_hidden_layers": 0, "hidden_size": 12, "image_size": 32}, "vision_config_dict": null})";
  const auto model = models::Clip::from_config(hub::Config(config), models::LayerMaker());
  expect_equal(model.text_projection.weight.shape(), Shape({512, 8}));
  expect_equal(model.visual_projection.weight.shape(), Shape({512, 12}));
  expect_near(model.logit_scale.item<double>(), 2.6592, 1e-6);
}

TEST("calls of CLIP that it cannot answer are refused") {
  const auto model = small_clip();
  expect_error(
      [&] {
        model.loss(two_texts(), some_images({1, 3, 8, 8}));
      },
      "Clip: the loss takes one text for each image, got 2 texts and 1 images");
  expect_error(
      [&] {
        model.text_features(zeros({1, 11}, {.dtype = Dtype::i64}));
      },
      "Clip takes tokens [batch, length] of at most 10 tokens, got shape [1, 11]");
  expect_error(
      [&] {
        model.text_features(tensor({3, 19}));
      },
      "Clip takes tokens [batch, length] of at most 10 tokens, got shape [2]");
  const auto refuse = [](const std::string& config, std::string_view message) {
    expect_error([&] { models::Clip::from_config(hub::Config(config), models::LayerMaker()); }, message);
  };
  refuse(small_vit_config(), "config.json: \"model_type\" is \"vit\", which is not supported; models::Clip has clip");
  refuse(small_clip_config(R"(, "hidden_act": "swiglu")"),
         "config.json, text_config: \"hidden_act\" is \"swiglu\", which is not supported; there are " +
             models::activation_names());
  refuse(R"({"model_type": "clip", "text_config": {"hidden_size": 10, "num_attention_heads": 3}})",
         "make_clip: width 10 must be a multiple of the heads 3");
}
