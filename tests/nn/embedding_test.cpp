#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("an Embedding divides the gradient of a row by how often it is taken, where that is asked for") {
  const Tensor places = tensor({0, 2, 2, 2});
  for (const bool compiled : {false, true})
    for (const bool scaled : {false, true}) {
      nn::Embedding layer(3, 2, {.scale_grad_by_freq = scaled});
      expect_equal(layer.scale_grad_by_freq, scaled);
      const auto loss = [places](const nn::Embedding& model) { return sum(model(places)); };
      if (compiled) jit(loss)(layer).backward();
      else loss(layer).backward();
      const float often = scaled ? 1 : 3;
      expect_near(layer.weight.grad().to_vector<float>(), {1, 1, 0, 0, often, often});
    }
  expect(!nn::Embedding(3, 2).scale_grad_by_freq);
}
