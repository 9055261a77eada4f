#include <fulgurite/fulgurite.h>

#include "hub/image_models.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor two_images() { return some_images({2, 3, 8, 8}); }

models::VitClassifier small_classifier(Dtype dtype = Dtype::f32) {
  return image_model<models::VitClassifier>(small_vit_config(), dtype);
}

}  // namespace

// The numbers of this file are those of transformers.
TEST("a vision transformer gives the scores and the loss of transformers") {
  const auto model = small_classifier();
  const Tensor logits = model(two_images());
  expect_near(values(logits), {1.0611, 1.28382, -0.857612, 1.0772, 1.27657, -0.871599}, 1e-5);
  expect_near(model.loss(two_images(), tensor({2, 0})).item<double>(), 1.8263, 1e-5);
  const auto compiled = jit([](const models::VitClassifier& m, const Tensor& x) { return m(x); });
  expect_near(values(compiled(model, two_images())), values(logits), 1e-6);
  expect_near(values(small_classifier(Dtype::f64)(two_images())), values(logits), 1e-5);
  const Tensor low = small_classifier(Dtype::bf16)(two_images());
  expect_equal(low.dtype(), Dtype::bf16);
  expect_near(values(low), values(logits), 0.03);
}

TEST("positions of a vision transformer are interpolated only if it is asked for") {
  const auto model = small_classifier();
  const Tensor tall = some_images({1, 3, 12, 8});
  expect_near(values(model(tall, true)), {1.04321, 1.28778, -0.840869}, 1e-5);
  expect_equal(values(model(two_images(), true)), values(model(two_images())));
  expect_error([&] { model(tall); },
               "Vit: the model's positions are for images of 8 x 8 pixels, these have 12 x 8; resize them, or let the "
               "positions be interpolated");
  expect_error([&] { model(some_images({1, 3, 2, 8}), true); }, "an image of 2 x 8 pixels has no patch of 4 x 4");
}

TEST("a vision transformer pools the class token") {
  const auto model = image_model<models::Vit>(small_vit_config(R"(, "pooler_output_size": 5)"));
  const Tensor features = model(two_images());
  expect_equal(features.shape(), Shape({2, 5, 8}));
  expect_near(
      values(model.pooled(features)),
      {0.346869, -0.259039, 0.142481, 0.00391598, -0.669533, 0.36218, -0.278955, 0.131427, 0.0286569, -0.667286}, 1e-5);
}

TEST("images of another shape than the model's are refused") {
  const auto model = small_classifier();
  expect_error([&] { model(Tensor()); }, "Vit: the images are an undefined tensor");
  expect_error(
      [&] {
        model(some_images({3, 8, 8}));
      },
      "Vit takes images [batch, 3, rows, columns], got shape [3, 8, 8]");
  expect_error(
      [&] {
        model(some_images({1, 1, 8, 8}));
      },
      "Vit takes images [batch, 3, rows, columns], got shape [1, 1, 8, 8]");
}

TEST("a classifier of images is saved and loaded with its labels") {
  const TestFolder folder;
  const auto model = small_classifier();
  expect_equal(model.labels, std::vector<std::string>{"cat", "dog", "bird"});
  write_text(folder.file("config.json"), small_vit_config());
  hub::save(model, folder.path, {.like = folder.path});
  const auto loaded = hub::load<models::VitClassifier>(folder.path);
  expect_equal(loaded.labels, model.labels);
  expect_equal(values(loaded(two_images())), values(model(two_images())));
  const auto body = hub::load<models::Vit>(folder.path);
  expect_equal(values(body(two_images())), values(model.vit(two_images())));
  expect_error([&] { body.pooled(body(two_images())); },
               "Vit: the model has no pooler; its files have no tensors of one");
  expect_equal(nn::clone(loaded).labels, model.labels);
}

TEST("labels without names are numbered as transformers does") {
  const std::string config = R"({"model_type": "vit", "hidden_size": 4, "num_hidden_layers": 0, "image_size": 4,
    "num_attention_heads": 1, "patch_size": [2, 4]})";
  const auto model = models::VitClassifier::from_config(hub::Config(config), models::LayerMaker());
  expect_equal(model.labels, std::vector<std::string>{"LABEL_0", "LABEL_1"});
  expect_equal(model.vit.embeddings.position_embeddings.shape(), Shape({1, 3, 4}));
}

TEST("configs of images that are not supported are refused") {
  const auto refuse = [](const std::string& config, std::string_view message) {
    expect_error([&] { models::VitClassifier::from_config(hub::Config(config), models::LayerMaker()); }, message);
  };
  refuse(R"({"model_type": "deit"})",
         "config.json: \"model_type\" is \"deit\", which is not supported; models::Vit has vit");
  refuse(small_vit_config(R"(, "hidden_act": "swiglu")"),
         "config.json: \"hidden_act\" is \"swiglu\", which is not supported; there are " + models::activation_names());
  refuse(small_vit_config(R"(, "problem_type": "ranking")"),
         "config.json: \"problem_type\" is \"ranking\", which is not supported; there are regression, "
         "single_label_classification and multi_label_classification");
  refuse(R"({"model_type": "vit", "patch_size": [1, 2, 3]})",
         "config.json: \"patch_size\" is of another kind, which is not supported; it must be one number, or rows and "
         "columns");
  refuse(R"({"model_type": "vit", "num_hidden_layers": 0, "id2label": {"1": "dog"}})",
         "config.json: \"id2label\" is of another kind, which is not supported; the label of class 0 is missing");
  refuse(R"({"model_type": "vit", "num_hidden_layers": 0, "num_labels": 0})",
         "config.json: \"num_labels\" is 0, which is not supported; a classifier needs a class");
  refuse(R"({"model_type": "vit", "hidden_size": 10, "num_attention_heads": 3})",
         "make_vit: width 10 must be a multiple of the heads 3");
  refuse(R"({"model_type": "vit", "image_size": 8, "patch_size": 16})",
         "an image of 8 x 8 pixels has no patch of 16 x 16");
}

TEST("the loss of classes is chosen by the labels or by name") {
  const Tensor logits = tensor({{1.0, -1.0}, {0.5, 0.0}});
  expect_near(models::image_classification_loss(logits, tensor({0, 1})).item<double>(), 0.550503, 1e-6);
  expect_near(models::image_classification_loss(logits, tensor({{1.0, 0.0}, {0.0, 1.0}})).item<double>(), 0.573437,
              1e-6);
  expect_near(models::image_classification_loss(logits, tensor({{1.0, 0.0}, {0.0, 1.0}}), "regression").item<double>(),
              0.5625, 1e-6);
  expect_near(models::image_classification_loss(tensor({{1.0}, {0.5}}), tensor({0.0, 1.0})).item<double>(), 0.625,
              1e-6);
  expect_error(
      [&] {
        models::image_classification_loss(logits, tensor({0, 1}), "ranking");
      },
      "the problem type \"ranking\" is not supported; there are single_label_classification, "
      "multi_label_classification and regression");
}

TEST("activations have the names of transformers") {
  const Tensor x = tensor({-2.0, -0.5, 0.0, 1.5});
  expect_near(values(models::activate(x, "quick_gelu")), {-0.0643396, -0.1496115, 0.0, 1.3916622}, 1e-5);
  expect_near(values(models::activate(x, "relu2")), {0.0, 0.0, 0.0, 2.25});
  expect_equal(values(models::activate(x, "gelu_new")), values(nn::gelu(x, "tanh")));
  expect_equal(values(models::activate(x, "swish")), values(nn::silu(x)));
  expect(models::has_activation("gelu") && !models::has_activation("Gelu"));
  expect_error([&] { models::activate(x, "Gelu"); },
               "the activation \"Gelu\" is not supported; there are " + models::activation_names());
}
