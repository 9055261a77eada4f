#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::data::transforms;

namespace {

const Tensor image = arange(30, {.dtype = Dtype::f32}).reshape({1, 5, 6});
std::vector<float> floats(const Tensor& x) { return x.contiguous().reshape({-1}).to_vector<float>(); }

}  // namespace

// Numbers of torchvision.transforms.functional.
TEST("rotations and blurs of images are torchvision's") {
  expect_equal(floats(RandomRotation({30, 30})(image)),
               std::vector<float>{0,  2,  3,  10, 11, 0,  1,  2,  9,  9, 16, 17, 6,  7,  14,
                                  15, 22, 23, 12, 13, 20, 20, 27, 28, 0, 18, 19, 26, 27, 0});
  const std::vector<float> blurred = {
      3.34592f, 3.86793f,  4.86793f,  5.86793f,  6.86793f,  7.38994f,  6.47799f,  7,         8,         9,
      10,       10.52201f, 12.47799f, 13,        14,        15,        16,        16.52201f, 18.47799f, 19,
      20,       21,        22,        22.52201f, 21.61006f, 22.13207f, 23.13207f, 24.13207f, 25.13207f, 25.65408f};
  expect_near(floats(GaussianBlur(3, {0.8, 0.8})(image)), blurred, 1e-4);
  const Tensor batch = stack({image, image + 1});
  expect_near(floats(GaussianBlur(3, {0.8, 0.8})(batch)(0)), blurred, 1e-4);
  expect_equal(floats(RandomRotation({30, 30})(batch)(0)), floats(RandomRotation({30, 30})(image)));
}

TEST("rows and columns around images") {
  const Tensor small = tensor({{{1.f, 2.f}, {3.f, 4.f}}});
  expect_equal(Pad({1, 0, 2, 3})(small).shape(), Shape({1, 5, 5}));
  expect_equal(floats(Pad({1, 0, 0, 0}, {.fill = 9})(small)), std::vector<float>{9, 1, 2, 9, 3, 4});
  expect_equal(floats(Pad({1, 0, 0, 0}, {.mode = "reflect"})(small)), std::vector<float>{2, 1, 2, 4, 3, 4});
  expect_equal(Pad(1)(stack({small, small})).shape(), Shape({2, 1, 4, 4}));
}

TEST("a rectangle is erased, others applied, with a probability") {
  const Tensor ones_of = ones({1, 20, 20});
  Generator g(1);
  const Tensor erased = RandomErasing({.p = 1, .scale = {0.1, 0.2}, .value = 5})(ones_of, g);
  const double share = mean(eq(erased, 5).to(Dtype::f32)).item<double>();
  expect(share > 0.05 && share < 0.25, "share " + std::to_string(share));
  expect_equal(equal(ones_of, ones({1, 20, 20})), true);
  expect_equal(equal(RandomErasing({.p = 0})(ones_of, g), ones_of), true);
  const std::vector<data::transforms::Transform> doubled{[](const Tensor& x) { return x * 2; }};
  expect_equal(floats(RandomApply(doubled, 1)(image))[1], 2.f);
  expect_equal(floats(RandomApply(doubled, 0)(image))[1], 1.f);
  expect_equal(floats(Compose({[](const Tensor& x) { return x + 1; }, CenterCrop({1, 1})})(image)),
               std::vector<float>{15});
  const Tensor colors = rand({3, 2, 2});
  const Tensor gray = RandomGrayscale(1)(colors);
  expect_equal(equal(gray(0), gray(2)), true);
  expect_equal(equal(RandomGrayscale(0)(colors), colors), true);
}

TEST("changes of images that there cannot be") {
  expect_error([] { Pad(-1); }, "Pad: a number of rows or columns is negative: -1");
  expect_error([] { RandomRotation({2, 1}); }, "RandomRotation: angles ascend, not 2.0 to 1.0");
  expect_error([] { GaussianBlur(4); }, "GaussianBlur: the size of the kernel is odd, not 4");
  expect_error([] { GaussianBlur(3, {0, 1}); }, "GaussianBlur: a range ascends from above 0.0, not 0.0 to 1.0");
  expect_error([] { RandomErasing({.p = 2}); }, "RandomErasing: p is from 0 to 1, not 2.0");
  expect_error(
      [] {
        RandomErasing({.ratio = {-1, 1}});
      },
      "RandomErasing: a range ascends from above 0.0, not -1.0 to 1.0");
  expect_error([] { Pad(1)(zeros({2})); },
               "Pad: an image is a floating tensor [channels, rows, columns], not cpu f32[2]");
}
