#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::data::transforms;

namespace {

const Tensor image = arange(18, {.dtype = Dtype::f32}).reshape({2, 3, 3});

}  // namespace

TEST("fixed changes of images") {
  expect_equal(Normalize({0, 9}, {1, 3})(image)(Slice(), 0, 0).to_vector<float>(), std::vector<float>{0, 0});
  expect_equal(Normalize({1}, {2})(image)(1, 2, 2).item<float>(), 8.0f);
  expect_equal(CenterCrop({1, 1})(image).to_vector<float>(), std::vector<float>{4, 13});
  expect_equal(CenterCrop({5, 3})(image)(0).to_vector<float>(),
               std::vector<float>{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0});
  expect_equal(Resize({6, 2})(image).shape(), Shape({2, 6, 2}));
  expect_equal(Resize({3, 3})(image).to_vector<float>(), image.to_vector<float>());
  const Tensor colors = tensor({1.0f, 0.5f, 0.25f}).reshape({3, 1, 1});
  expect_near(Grayscale()(colors).item<double>(), 0.2989 + 0.587 * 0.5 + 0.114 * 0.25, 1e-6);
  expect_equal(Grayscale(3)(stack({colors, colors})).shape(), Shape({2, 3, 1, 1}));
}

TEST("random changes draw from the generator, and from the default one without one") {
  expect_equal(RandomHorizontalFlip(1)(image)(0, 0).to_vector<float>(), std::vector<float>{2, 1, 0});
  expect_equal(RandomVerticalFlip(1)(image)(0, Slice(), 0).to_vector<float>(), std::vector<float>{6, 3, 0});
  expect_equal(RandomHorizontalFlip(0)(image).to_vector<float>(), image.to_vector<float>());
  const Compose all({RandomCrop({3, 3}, {.padding = 2}), RandomHorizontalFlip(), RandomResizedCrop({4, 4})});
  Generator one(5), other(5), third(6);
  const Tensor first = all(image, one);
  expect_equal(first.shape(), Shape({2, 4, 4}));
  expect_equal(equal(all(image, other), first), true);
  expect_equal(equal(all(image, third), first), false);
  manual_seed(4);
  const Tensor drawn = all(image);
  manual_seed(4);
  expect_equal(equal(all(image), drawn), true);
}

TEST("every position of a random crop occurs, evenly") {
  std::map<float, int> found;
  Generator g(2);
  for (int i = 0; i < 900; ++i) ++found[RandomCrop({1, 1})(image, g)(0, 0, 0).item<float>()];
  expect_equal(found.size(), size_t{9});
  for (const auto& [place, count] : found) expect(count > 60 && count < 140, "place " + std::to_string(place));
}

TEST("colors stay within 0 and 1 and change by their factors") {
  Generator g(3);
  const Tensor colors = rand({3, 8, 8}, {.generator = g});
  const Tensor jittered = ColorJitter({.brightness = 0.5, .contrast = 0.5, .saturation = 0.5})(colors, g);
  expect(jittered.min().item<double>() >= 0 && jittered.max().item<double>() <= 1);
  expect(!equal(jittered, colors), "the image changed");
  const Tensor dim = ColorJitter({.brightness = 0.4})(colors * 0.5f, g) / (colors * 0.5f);
  const double factor = dim.min().item<double>();
  expect_near(dim.max().item<double>(), factor, 1e-4);
  expect(factor >= 0.6 && factor <= 1.4, "the factor is " + std::to_string(factor));
}

TEST("images and settings that cannot be are refused") {
  expect_error([] { Normalize({0.5}, {0}); }, "Normalize: there are a mean and a std above 0 for each channel");
  expect_error([] { Normalize({0, 0, 0}, {1})(image); }, "Normalize: 3 numbers for 2 channels");
  expect_error(
      [] {
        RandomCrop({4, 4})(image);
      },
      "RandomCrop: a part of 4 x 4 of an image of 3 x 3; give more padding");
  expect_error([] { RandomHorizontalFlip(2); }, "RandomHorizontalFlip: p is from 0 to 1, not 2");
  expect_error([] { Resize({0, 3}); }, "Resize: rows and columns must be at least 1, not 0 and 3");
  expect_error([] { Grayscale()(image); }, "Grayscale: an image has 3 channels, not 2");
  expect_error([] { Grayscale(2); }, "Grayscale: the result has 1 or 3 channels, not 2");
  expect_error([] { ColorJitter({.contrast = -1}); }, "ColorJitter: changes must not be negative: -1");
  expect_error(
      [] {
        CenterCrop({1, 1})(arange(4));
      },
      "CenterCrop: an image is a floating tensor [channels, rows, columns], not cpu i64[4]");
  expect_error(
      [] {
        RandomResizedCrop({2, 2}, {.scale = {0, 1}});
      },
      "RandomResizedCrop: scale is a range within 0 to 1, ratio a range above 0");
}
