#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("a GPT with a cache scores token after token what it scores of all at once") {
  manual_seed(3);
  models::Gpt model =
      models::make_gpt({.vocabulary = 11, .layers = 2, .heads = 2, .width = 16, .block = 6, .bias = true});
  nn::eval(model);
  const NoGrad no_grad;
  const std::vector<int64_t> tokens{3, 1, 4, 1, 5, 9};
  const Tensor all = model(tensor(tokens).reshape({1, 6}));
  const models::GptCache cache = models::make_cache(model), eager_cache = models::make_cache(model);
  const auto step = jit([](models::Gpt gpt, models::GptCache kept, Tensor token, Tensor position) {
    return gpt.step(token, position, kept);
  });
  for (int64_t i = 0; i < 6; ++i) {
    const Tensor token = tensor(std::vector<int64_t>{tokens[static_cast<size_t>(i)]});
    const Tensor position = tensor(std::vector<int64_t>{i});
    const std::vector<float> expected = all(0, i).contiguous().to_vector<float>();
    expect_near(step(model, cache, token, position).to_vector<float>(),
                std::vector<double>(expected.begin(), expected.end()), 1e-5);
    expect_near(model.step(token, position, eager_cache).to_vector<float>(),
                std::vector<double>(expected.begin(), expected.end()), 1e-5);
  }
  expect_equal(cache_misses(step), int64_t{1});
}
