#include <map>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/llama.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

models::Llama small() {
  manual_seed(5);
  return models::make_llama(
      {.vocabulary = 13, .layers = 2, .heads = 4, .key_value_heads = 2, .width = 16, .hidden = 24, .block = 6});
}

}  // namespace

TEST("rotation keeps lengths, and dot products depend on the distance of positions alone") {
  const auto [cosines, sines] = models::rotary_tables(8, 6, 100.0);
  const Tensor feature = arange(1, 7, 1, {.dtype = Dtype::f32});
  const Tensor everywhere = expand(reshape(feature, {1, 1, 1, 6}), {1, 1, 8, 6});
  const Tensor rotated = models::rotate(everywhere, cosines, sines)(0, 0);
  const Tensor products = matmul(rotated, rotated.t());
  for (int64_t i = 0; i + 2 < 8; ++i) {
    expect_near(products(i, i).item<double>(), 91, 1e-4);
    expect_near(products(i, i + 2).item<double>(), products(0, 2).item<double>(), 1e-4);
  }
}

TEST("a LLaMA model trains in one jitted step") {
  const models::Llama model = small();
  const Tensor tokens = randint(0, 13, {3, 6}), targets = randint(0, 13, {3, 6});
  const auto loss = [](models::Llama llama, Tensor x, Tensor y) { return llama.loss(x, y); };
  expect_near(loss(model, tokens, targets).item<double>(), std::log(13.0), 0.1);
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
  const auto step = jit([&](Tensor x, Tensor y) {
    const auto [value, gradients] = value_and_grad<0>(loss)(model, x, y);
    std::map<std::string, Tensor> by_name;
    for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients)) by_name[name] = gradient;
    std::vector<Tensor> flat;  // the rotary frequencies have gradients too, and no part in this
    for (const auto& [name, parameter] : nn::named_parameters(model)) flat.push_back(by_name.at(name));
    optimizer.step(nn::parameters(model), flat);
    return value;
  });
  const NoGrad no_grad;
  double last = 0;
  for (int i = 0; i < 40; ++i) last = step(tokens, targets).item<double>();
  expect_less(last, 1.0);
}

TEST("positions look only at those before them, and grouped heads share keys and values") {
  const models::Llama model = small();
  const NoGrad no_grad;
  const Tensor tokens = tensor(std::vector<int64_t>{1, 2, 3, 4, 5, 6}).reshape({1, 6});
  const Tensor changed = tensor(std::vector<int64_t>{1, 2, 3, 9, 9, 9}).reshape({1, 6});
  const Tensor a = model(tokens)(0, Slice(0, 3)), b = model(changed)(0, Slice(0, 3));
  expect_less(max(abs(a - b)).item<double>(), 1e-6);
  expect_equal(model.model.layers[0].self_attn.k_proj.weight.shape(), Shape{8, 16});
  expect_error([] { models::make_llama({.heads = 3, .width = 16}); }, "must be a multiple of twice the heads 3");
}
