// Methods with names that the standard library has too.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("max and min are methods: of all elements, along a dimension, and of two tensors") {
  const Tensor x = tensor({{1.0, 5.0}, {7.0, 3.0}});
  expect_equal(x.max().item<double>(), 7.0);
  expect_equal(x.min().item<double>(), 1.0);
  expect_near(std::get<0>(x.max(1)).to_vector<float>(), {5, 7});
  expect_near(x.min(tensor({{2.0, 2.0}, {2.0, 2.0}})).to_vector<float>(), {1, 2, 2, 2});
}
