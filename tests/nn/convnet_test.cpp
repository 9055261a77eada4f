#include <fulgurite/fulgurite.h>
#include <fulgurite/models/convnet.h>

#include "support/line_images.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("a convolutional network learns where a line is, jitted, and its statistics follow") {
  manual_seed(2);
  const models::Convnet model = models::make_convnet({.width = 4, .classes = 2});
  const auto [images, classes] = line_images();
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
  const auto loss = jit([](models::Convnet convnet, Tensor x, Tensor y) { return convnet.loss(x, y); });
  double first = 0, last = 0;
  for (int i = 0; i < 41; ++i) {
    optimizer.zero_grad();
    const Tensor value = loss(model, images, classes);
    value.backward();
    optimizer.step();
    last = value.item<double>();
    if (i == 0) first = last;
  }
  expect_equal(cache_misses(loss), int64_t{1});
  const NoGrad no_grad;
  expect_greater(first, 0.4);
  expect_less(last, 0.1);
  expect_equal(model.first.norm.num_batches_tracked.item<int64_t>(), int64_t{41});
  models::Convnet evaluated = model;
  nn::eval(evaluated);
  expect_less(evaluated.loss(images, classes).item<double>(), 0.3);
}
