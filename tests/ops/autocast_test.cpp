// Result dtypes of operators inside an autocast scope: PyTorch's on CPU, which these lists were read from.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor reals(const Shape& sizes, Dtype dtype) { return (rand(sizes) * 0.8 + 0.1).to(dtype); }

/// "matmul bf16" and so on, a line each, for operands of a dtype.
std::string results(Dtype dtype) {
  manual_seed(4);
  const Tensor m = reals({4, 4}, dtype), v = reals({4}, dtype), batch = reals({2, 4, 4}, dtype);
  const Tensor image = reals({2, 3, 8, 8}, dtype), volume = reals({1, 2, 4, 4, 4}, dtype),
               row = reals({1, 2, 8}, dtype);
  const Tensor filters = reals({3, 3, 2, 2}, dtype), places = tensor({0, 1, 2, 3});
  const auto scope = autocast(Dtype::bf16);
  const std::pair<const char*, Tensor> lines[] = {
      {"addbmm", addbmm(m, batch, batch)},
      {"addmm", addmm(m, m, m)},
      {"baddbmm", baddbmm(batch, batch, batch)},
      {"bmm", bmm(batch, batch)},
      {"conv1d", nn::conv1d(row, reals({2, 2, 3}, dtype))},
      {"conv2d", nn::conv2d(image, filters)},
      {"conv3d", nn::conv3d(volume, reals({1, 2, 2, 2, 2}, dtype))},
      {"conv_transpose2d", nn::conv_transpose2d(image, filters)},
      {"linear", nn::linear(m, m, v)},
      {"matmul", matmul(m, v)},
      {"mm", mm(m, m)},
      {"attention", nn::scaled_dot_product_attention(batch, batch, batch)},
      {"einsum of a product", einsum("ij,jk->ik", {m, m})},
      {"inner", inner(m, m)},
      {"tensordot", tensordot(m, m, 1)},
      {"mv", mv(m, v)},
      {"dot", dot(v, v)},
      {"addmv", addmv(v, m, v)},
      {"outer", outer(v, v)},
      {"bilinear", nn::bilinear(m, m, reals({2, 4, 4}, dtype))},
      {"prod", prod(m)},
      {"trace", trace(m)},
      {"mse_loss", nn::mse_loss(m, m)},
      {"cross_entropy", nn::cross_entropy(m, places)},
      {"nll_loss", nn::nll_loss(m, places)},
      {"binary_cross_entropy", nn::binary_cross_entropy(v, v)},
      {"huber_loss", nn::huber_loss(v, v)},
      {"kl_div", nn::kl_div(v, v)},
      {"reflect", nn::pad(image, {1, 1, 1, 1}, "reflect")},
      {"replicate", nn::pad(image, {1, 1, 1, 1}, "replicate")},
      {"circular", nn::pad(image, {1, 1, 1, 1}, "circular")},
      {"constant", nn::pad(image, {1, 1, 1, 1})},
      {"max_pool2d", nn::max_pool2d(image, {2})},
      {"max_pool3d", nn::max_pool3d(volume, {2})},
      {"avg_pool3d", nn::avg_pool3d(volume, {2})},
      {"grid_sample", nn::grid_sample(image, reals({2, 2, 2, 2}, dtype))},
      {"gaussian_nll_loss", nn::gaussian_nll_loss(v, v, v)},
      {"softmax", softmax(m, 0)},
      {"layer_norm", nn::layer_norm(m, {4})},
      {"embedding", nn::embedding(places, m)},
      {"gelu", nn::gelu(m)},
      {"sum", sum(m)},
      {"add", m + m},
  };
  std::string text = "\n";
  for (const auto& [what, result] : lines) text += std::string(what) + " " + std::string(name(result.dtype())) + "\n";
  return text;
}

}  // namespace

TEST("matmuls are narrow, losses wide, and other dtypes stay, as in PyTorch") {
  expect_text(results(Dtype::f32), R"(

addbmm bf16
addmm bf16
baddbmm bf16
bmm bf16
conv1d bf16
conv2d bf16
conv3d bf16
conv_transpose2d bf16
linear bf16
matmul bf16
mm bf16
attention bf16
einsum of a product bf16
inner bf16
tensordot bf16
mv f32
dot f32
addmv f32
outer f32
bilinear f32
prod f32
trace f32
mse_loss f32
cross_entropy f32
nll_loss f32
binary_cross_entropy f32
huber_loss f32
kl_div f32
reflect f32
replicate f32
circular f32
constant f32
max_pool2d f32
max_pool3d f32
avg_pool3d f32
grid_sample f32
gaussian_nll_loss f32
softmax f32
layer_norm f32
embedding f32
gelu f32
sum f32
add f32
)");
  expect_text(results(Dtype::bf16), R"(

addbmm bf16
addmm bf16
baddbmm bf16
bmm bf16
conv1d bf16
conv2d bf16
conv3d bf16
conv_transpose2d bf16
linear bf16
matmul bf16
mm bf16
attention bf16
einsum of a product bf16
inner bf16
tensordot bf16
mv bf16
dot bf16
addmv bf16
outer bf16
bilinear bf16
prod f32
trace f32
mse_loss f32
cross_entropy f32
nll_loss f32
binary_cross_entropy f32
huber_loss f32
kl_div f32
reflect f32
replicate f32
circular bf16
constant bf16
max_pool2d bf16
max_pool3d f32
avg_pool3d f32
grid_sample f32
gaussian_nll_loss bf16
softmax bf16
layer_norm bf16
embedding bf16
gelu bf16
sum bf16
add bf16
)");
  const std::string doubles = results(Dtype::f64);
  expect(doubles.find("f32") == std::string::npos && doubles.find("bf16") == std::string::npos);
}

TEST("operands of one operator get one dtype") {
  const Tensor wide = ones({2, 2}), narrow = wide.to(Dtype::bf16), half = wide.to(Dtype::f16);
  expect_equal(matmul(wide, wide).dtype(), Dtype::f32);
  {
    const auto scope = autocast(Dtype::bf16);
    expect_equal(matmul(wide, narrow).dtype(), Dtype::bf16);
    expect_equal(matmul(half, wide).dtype(), Dtype::bf16);
    expect_equal(cat({narrow, wide}, 0).dtype(), Dtype::f32);
    expect_equal(cat({narrow, narrow}, 0).dtype(), Dtype::bf16);
    expect_equal(stack({narrow, wide}).dtype(), Dtype::f32);
    expect_equal(index_copy(narrow, 0, tensor({1}), wide.narrow(0, 0, 1)).dtype(), Dtype::f32);
    {
      const auto halves = autocast(Dtype::f16);
      expect_equal(matmul(wide, wide).dtype(), Dtype::f16);
      const auto off = autocast({});
      expect_equal(matmul(wide, wide).dtype(), Dtype::f32);
    }
    expect_equal(matmul(wide, wide).dtype(), Dtype::bf16);
  }
  expect_equal(matmul(wide, wide).dtype(), Dtype::f32);
  expect_error([] { auto scope = autocast(Dtype::f64); }, "autocast: it converts to bf16 or f16, not to f64");
}

TEST("gradients of what was converted have the original's dtype") {
  const Tensor x = randn({3, 4}), weight = randn({5, 4}).requires_grad_();
  Tensor loss;
  {
    const auto scope = autocast(Dtype::bf16);
    const Tensor y = nn::linear(x, weight);
    expect_equal(y.dtype(), Dtype::bf16);
    loss = nn::mse_loss(y, zeros({3, 5}));
    expect_equal(loss.dtype(), Dtype::f32);
  }
  loss.backward();
  expect_equal(weight.grad().dtype(), Dtype::f32);
  const Tensor again = weight.detach().requires_grad_();
  const Tensor y = nn::linear(x.to(Dtype::bf16), again.to(Dtype::bf16));
  nn::mse_loss(y.to(Dtype::f32), zeros({3, 5})).backward();
  expect_equal(weight.grad().to_vector<float>(), again.grad().to_vector<float>());
}

TEST("an operator that stands for others is autocast the same eagerly and recorded") {
  // A kernel of its own would pass over the operators that it stands for.
  const Tensor m = rand({4, 4});
  const auto both = [&](auto&& run) {
    const auto scope = autocast(Dtype::bf16);
    expect_equal(run(m).dtype(), jit(run)(m).dtype());
    const Tensor leaf = m.detach().requires_grad_();
    expect_equal(run(leaf).dtype(), jit(run)(leaf).dtype());
  };
  both([](Tensor x) { return einsum("ij,jk->ik", {x, x}); });
  both([](Tensor x) { return inner(x, x); });
  both([](Tensor x) { return tensordot(x, x, 1); });
  both([](Tensor x) { return linalg::multi_dot({x, x, x}); });
  both([](Tensor x) { return nn::bilinear(x, x, rand({2, 4, 4})); });
}
