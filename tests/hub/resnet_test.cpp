#include <fulgurite/fulgurite.h>

#include "hub/image_models.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::string basic = R"(, "layer_type": "basic")";

models::ResnetClassifier small_resnet(const std::string& more = "", Dtype dtype = Dtype::f32) {
  return image_model<models::ResnetClassifier>(small_resnet_config(more), dtype);
}

Tensor two_images() { return some_images({2, 3, 32, 32}); }

}  // namespace

// The numbers of this file are those of transformers.
TEST("a residual network of basic layers gives the scores of transformers") {
  const auto model = small_resnet(basic);
  const Tensor logits = model(two_images());
  expect_near(values(logits), {-1.16974, -0.432344, 0.184643, -1.05638, -0.309415, 0.278753}, 1e-5);
  const auto compiled = jit([](const models::ResnetClassifier& m, const Tensor& x) { return m(x); });
  expect_near(values(compiled(model, two_images())), values(logits), 1e-5);
  expect_near(values(small_resnet(basic, Dtype::f64)(two_images())), values(logits), 1e-5);
  expect_near(values(small_resnet(basic, Dtype::bf16)(two_images())), values(logits), 0.05);
}

TEST("a residual network of bottlenecks gives the scores of transformers") {
  const auto model = small_resnet();
  expect_near(values(model(two_images())), {-1.07794, -0.0109739, 0.803989, -1.07701, -0.0104681, 0.803914}, 1e-5);
  expect_equal(model.resnet(two_images()).shape(), Shape({2, 12, 4, 4}));
}

TEST("a residual network in training uses the statistics of the batch and updates its own") {
  auto model = small_resnet();
  nn::train(model);
  const auto loss =
      jit([](const models::ResnetClassifier& m, const Tensor& x, const Tensor& y) { return m.loss(x, y); });
  expect_near(loss(model, two_images(), tensor({1, 2})).item<double>(), 0.852619, 1e-5);
  const nn::BatchNorm2d& norm = model.resnet.embedder.embedder.normalization;
  expect_near(values(norm.running_mean), {-0.16572, -0.433366, -0.319971, 0.0942132}, 1e-5);
  expect_near(values(norm.running_var), {2.76894, 2.46786, 2.53755, 3.38567}, 1e-4);
  expect_equal(norm.num_batches_tracked.item<int64_t>(), int64_t{1});
  nn::eval(model);
  model(two_images());
  expect_equal(norm.num_batches_tracked.item<int64_t>(), int64_t{1});
}

TEST("a residual network has the names of its files") {
  const TestFolder folder;
  const auto model = small_resnet();
  write_text(folder.file("config.json"), small_resnet_config());
  hub::save(model, folder.path, {.like = folder.path});
  const TensorMap saved = load_safetensors(folder.file("model.safetensors"));
  for (const char* name : {"classifier.1.weight", "resnet.embedder.embedder.normalization.num_batches_tracked",
                           "resnet.encoder.stages.1.layers.0.shortcut.convolution.weight"})
    expect(saved.contains(name));
  expect(!saved.contains("resnet.encoder.stages.1.layers.1.shortcut.convolution.weight"));
  const auto loaded = hub::load<models::ResnetClassifier>(folder.path);
  expect(!loaded.resnet.embedder.embedder.normalization.training);
  expect_equal(values(loaded(two_images())), values(model(two_images())));
  const auto body = hub::load<models::Resnet>(folder.path);
  expect_equal(values(body.pooled(body(two_images()))), values(model.resnet.pooled(model.resnet(two_images()))));
}

TEST("residual networks that are not supported are refused") {
  const auto refuse = [](const std::string& config, std::string_view message) {
    expect_error([&] { models::Resnet::from_config(hub::Config(config), models::LayerMaker()); }, message);
  };
  refuse(small_vit_config(),
         "config.json: \"model_type\" is \"vit\", which is not supported; models::Resnet has resnet");
  refuse(small_resnet_config(R"(, "layer_type": "wide")"),
         "config.json: \"layer_type\" is \"wide\", which is not supported; there are basic and bottleneck");
  refuse(R"({"model_type": "resnet", "depths": [1]})",
         "make_resnet: there are 4 widths of stages and 1 depths; they must be as many, at least one");
  refuse(R"({"model_type": "resnet", "depths": [1, 0, 1, 1]})", "make_resnet: a stage needs a layer, its depth is 0");
  const auto model = small_resnet();
  expect_error(
      [&] {
        model(some_images({1, 1, 32, 32}));
      },
      "Resnet takes images [batch, 3, rows, columns], got shape [1, 1, 32, 32]");
}
