// More kernels than one translation unit takes.
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("many different kernels of one trace are compiled beside one another") {
  const auto function = [](Tensor x) {
    const Tensor first = cumsum(tanh(x * 0.5) + 0.25, -1);
    const Tensor second = cumsum(sin(first * 0.1) - 0.5, -1);
    const Tensor third = cumsum(exp(tanh(second)) * 0.1, -1);
    const Tensor fourth = cumsum(abs(third) + cos(third), -1);
    const Tensor fifth = cumsum(sigmoid(fourth) * fourth, -1);
    const Tensor sixth = cumsum(sqrt(abs(fifth) + 1.0), -1);
    return erf(sixth * 0.01) / 3.0;
  };
  auto f = jit(function, {.executors = {"fuser"}});
  const Tensor x = randn({5, 19});
  expect_close(f(x), function(x), 1e-5);
  expect_equal(fusions_in(last_traces(f).back()), 7);
  auto again = jit(function, {.executors = {"fuser"}});
  expect_equal(again(x).to_vector<float>(), f(x).to_vector<float>());
}
