#include <cmath>

#include <fulgurite/fulgurite.h>

#include "hub/image_models.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void write_classifier(const TestFolder& folder, const std::string& more = "") {
  write_text(folder.file("config.json"), small_vit_config(more));
  write_text(folder.file("preprocessor_config.json"), R"({"image_processor_type": "ViTImageProcessor", "size": 8})");
  hub::save(image_model<models::VitClassifier>(small_vit_config(more)), folder.path, {.like = folder.path});
}

hub::Image striped(int64_t rows, int64_t columns) {
  hub::Image image{rows, columns, {}};
  for (int64_t i = 0; i < rows * columns * 3; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 91));
  return image;
}

}  // namespace

TEST("images are classified with the labels of the folder, the most probable class first") {
  const TestFolder folder;
  write_classifier(folder);
  const auto classifier = ImageClassifier::load(folder.path);
  expect_equal(classifier.labels(), std::vector<std::string>{"cat", "dog", "bird"});
  const std::vector<hub::Image> images = {striped(9, 13), striped(8, 8), striped(30, 5)};
  const auto all = classifier.classify(images);
  const auto prepare = hub::ImageProcessor::load(folder.path);
  const auto model = hub::load<models::VitClassifier>(folder.path);
  for (size_t i = 0; i < images.size(); ++i) {
    const std::vector<double> wanted = values(softmax(model(prepare(images[i])), 1));
    expect_equal(all[i].size(), size_t{3});
    expect(all[i][0].score >= all[i][1].score && all[i][1].score >= all[i][2].score);
    for (const ImageClass& one : all[i]) {
      expect_near(one.score, wanted[static_cast<size_t>(one.index)], 1e-6);
      expect_equal(one.label, model.labels[static_cast<size_t>(one.index)]);
    }
  }
  const auto some = classifier.classify(images, {.classes = 1, .batch_size = 2});
  expect_equal(some.size(), size_t{3});
  expect_equal(some[2].size(), size_t{1});
  expect_equal(some[2][0].index, all[2][0].index);
  expect(classifier.classify({}).empty());
}

TEST("classes of a model of several labels have probabilities of their own") {
  const TestFolder folder;
  write_classifier(folder, R"(, "problem_type": "multi_label_classification")");
  const auto classes = ImageClassifier::load(folder.path).classify({striped(8, 8)}).front();
  const auto prepare = hub::ImageProcessor::load(folder.path);
  const auto logits = values(hub::load<models::VitClassifier>(folder.path)(prepare(striped(8, 8))));
  for (const ImageClass& one : classes)
    expect_near(one.score, 1 / (1 + std::exp(-logits[static_cast<size_t>(one.index)])), 1e-6);
}

TEST("classifiers of images refuse other models and wrong options") {
  const TestFolder folder;
  write_classifier(folder);
  const auto classifier = ImageClassifier::load(folder.path);
  expect_error([&] { classifier.classify({striped(8, 8)}, {.classes = 0}); },
               "ImageClassifier: classes must be positive");
  expect_error([&] { classifier.classify({striped(8, 8)}, {.batch_size = 0}); },
               "ImageClassifier: batch_size must be positive");
  write_text(folder.file("config.json"), small_clip_config());
  expect_error([&] { ImageClassifier::load(folder.path); },
               folder.file("config.json") +
                   ": \"model_type\" is \"clip\", which is not supported; images are classified "
                   "by the families vit and resnet");
}
