#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// Expected values are PyTorch 2.15's.

TEST("activation layers apply the operators of their names") {
  const Tensor x = linspace(-3, 3, 8).reshape({2, 4});
  const auto same = [&](const Tensor& a, const Tensor& b, SourceLocation at = SourceLocation::here()) {
    expect(values(a) == values(b), at);
  };
  same(nn::ReLU()(x), relu(x));
  same(nn::ReLU6()(x), nn::relu6(x));
  same(nn::GELU()(x), gelu(x));
  same(nn::GELU("tanh")(x), gelu(x, "tanh"));
  same(nn::GELU({.approximate = "tanh"})(x), gelu(x, "tanh"));
  same(nn::SiLU()(x), silu(x));
  same(nn::Mish()(x), nn::mish(x));
  same(nn::Sigmoid()(x), sigmoid(x));
  same(nn::Tanh()(x), tanh(x));
  same(nn::SELU()(x), nn::selu(x));
  same(nn::Softsign()(x), nn::softsign(x));
  same(nn::Tanhshrink()(x), nn::tanhshrink(x));
  same(nn::LogSigmoid()(x), nn::logsigmoid(x));
  same(nn::Hardswish()(x), nn::hardswish(x));
  same(nn::Hardsigmoid()(x), nn::hardsigmoid(x));
  same(nn::LeakyReLU()(x), nn::leaky_relu(x));
  same(nn::LeakyReLU(0.2)(x), nn::leaky_relu(x, 0.2));
  same(nn::LeakyReLU({.negative_slope = 0.2})(x), nn::leaky_relu(x, 0.2));
  same(nn::ELU(0.5)(x), nn::elu(x, 0.5));
  same(nn::CELU({.alpha = 0.5})(x), nn::celu(x, 0.5));
  same(nn::Softplus(2)(x), nn::softplus(x, 2.0));
  same(nn::Softshrink()(x), nn::softshrink(x));
  same(nn::Hardshrink(0.2)(x), nn::hardshrink(x, 0.2));
  same(nn::Hardtanh({.min_val = -2})(x), nn::hardtanh(x, -2.0));
  same(nn::Threshold(0.1, 20)(x), nn::threshold(x, 0.1, 20.0));
  same(nn::Softmax(0)(x), softmax(x, 0));
  same(nn::Softmax({.dim = 1})(x), softmax(x, 1));
  same(nn::LogSoftmax(-1)(x), log_softmax(x, -1));
  same(nn::Softmin(1)(x), nn::softmin(x, 1));
  same(nn::GLU()(x), nn::glu(x));
  same(nn::Identity()(x), x);
  same(nn::Dropout({.p = 0})(x), x);
  expect(nn::Dropout({.p = 0.25}).p == 0.25 && nn::Dropout(0.75).p == 0.75);
}

TEST("layers that change shapes") {
  const Tensor x = wave({2, 4, 2, 2});
  expect_equal(nn::Flatten()(x).shape(), Shape({2, 16}));
  expect_equal(nn::Flatten({.start_dim = 2})(x).shape(), Shape({2, 4, 4}));
  expect_equal(nn::Unflatten(1, {2, 2})(x).shape(), Shape({2, 2, 2, 2, 2}));
  expect_equal(nn::PixelShuffle(2)(x).shape(), Shape({2, 1, 4, 4}));
  expect_equal(nn::PixelUnshuffle(2)(x).shape(), Shape({2, 16, 1, 1}));
  expect_equal(nn::ChannelShuffle(2)(x).shape(), x.shape());
  expect_near(
      values(nn::Upsample({.scale_factor = {2.0}, .mode = "bilinear", .align_corners = true})(wave({1, 1, 2, 2}))),
      {0, 0.2147392291, 0.4294784582, 0.6442176872, 0.3284832433, 0.4580604668, 0.5876376902, 0.7172149137,
       0.6569664867, 0.7013817045, 0.7457969223, 0.7902121402, 0.98544973, 0.9447029422, 0.9039561544, 0.8632093666},
      1e-9);
  expect_near(sum(nn::Softmax2d()(x)).item<double>(), 8, 1e-9);
}

TEST("layers that normalize, and bilinear ones") {
  nn::GroupNorm group(2, 4, {.dtype = Dtype::f64});
  fill(group);
  expect_near(
      values(group(wave({1, 4, 2}))),
      {0.4207354924, 0.4207354924, 0.8028551302, 0.6992455061, 1.096507651, 0.4480550557, -0.3139367045, -0.4057744868},
      1e-9);
  expect_error([] { nn::GroupNorm(3, 4); }, "num_channels = 4 is not a multiple of num_groups = 3");
  nn::InstanceNorm1d instance(2, {.affine = true, .track_running_stats = true, .dtype = Dtype::f64});
  const Tensor x = wave({2, 2, 3});
  expect_near(values(instance(x)(1)),
              {-0.2942678776, -1.050512506, 1.344780384, -1.332285753, 0.2554498827, 1.076835871}, 1e-9);
  expect_near(values(instance.running_mean), {-0.01426046009, 0.04182305037}, 1e-9);
  expect_near(values(instance.running_var), {0.9141328387, 0.9307175805}, 1e-9);
  nn::eval(instance);
  expect_near(values(instance(x)(0)),
              {0.01491511159, 0.6887067445, 1.045603644, 0.8514049518, 0.3038792012, -0.4069545872}, 1e-9);
  expect_equal(nn::InstanceNorm2d(3)(ones({3, 2, 2})).shape(), Shape({3, 2, 2}));
  nn::Bilinear bilinear(2, 3, 2, {.dtype = Dtype::f64});
  fill(bilinear);
  expect_near(values(bilinear(wave({1, 2}), wave({1, 3}))), {0.3789019459, 0.9458289304}, 1e-9);
  nn::PReLU slopes(2);
  nn::to(slopes, Dtype::f64);
  fill(slopes);
  expect_near(values(slopes(wave({1, 2, 2}, 3))), {0.1411200081, 0, -0.3065194436, -0.2982130967}, 1e-9);
}

TEST("losses as layers") {
  const Tensor a = wave({2, 3}), b = wave({2, 3}, 1), is_positive = (b > 0).to(Dtype::f64);
  const auto weights = tensor({1.0, 2.0, 3.0}, {.dtype = Dtype::f64});
  expect_near(values(nn::CosineEmbeddingLoss({.margin = 0.1, .reduction = "none"})(a, b, tensor({1, -1}))),
              {0.2439549252, 0.05213307541}, 1e-9);
  expect_near(values(nn::SoftMarginLoss()(a, sign(b))), {0.5319958399}, 1e-9);
  expect_near(values(nn::MultiLabelSoftMarginLoss({.weight = weights})(a, is_positive)), {1.031521509}, 1e-9);
  expect_near(values(nn::CrossEntropyLoss({.weight = weights, .label_smoothing = 0.1})(a, tensor({0, 2}))),
              {1.756411898}, 1e-9);
  expect_near(values(nn::HuberLoss({.delta = 0.2})(a, b)), {0.1098042098}, 1e-9);
  expect_near(values(nn::BCEWithLogitsLoss({.pos_weight = tensor(2.0, {.dtype = Dtype::f64})})(a, is_positive)),
              {0.829381389}, 1e-9);
  expect_near(values(nn::GaussianNLLLoss({.full = true})(a, b, b * b + 0.1)), {1.449088845}, 1e-9);
  expect_near(values(nn::TripletMarginLoss({.swap = true})(a, b, a - b)), {0.8718962275}, 1e-9);
  expect_near(values(nn::MSELoss({.reduction = "sum"})(a, b)), values(nn::mse_loss(a, b, {.reduction = "sum"})));
  expect_near(values(nn::L1Loss()(a, b)), values(nn::l1_loss(a, b)));
  expect_near(values(nn::SmoothL1Loss({.beta = 0.5})(a, b)), values(nn::smooth_l1_loss(a, b, {.beta = 0.5})));
  expect_near(values(nn::NLLLoss()(log_softmax(a, 1), tensor({0, 2}))), values(nn::cross_entropy(a, tensor({0, 2}))));
  expect_near(values(nn::BCELoss()(sigmoid(a), is_positive)),
              values(nn::binary_cross_entropy_with_logits(a, is_positive)), 1e-9);
  expect_near(values(nn::KLDivLoss({.reduction = "batchmean"})(log_softmax(a, 1), softmax(b, 1))),
              values(nn::kl_div(log_softmax(a, 1), softmax(b, 1), {.reduction = "batchmean"})));
  expect_near(values(nn::PoissonNLLLoss()(a, is_positive)), values(nn::poisson_nll_loss(a, is_positive)));
  expect_near(values(nn::HingeEmbeddingLoss()(a, sign(b))), values(nn::hinge_embedding_loss(a, sign(b))));
  expect_near(values(nn::MarginRankingLoss({.margin = 0.1})(a, b, sign(b))),
              values(nn::margin_ranking_loss(a, b, sign(b), 0.1)));
  expect_error([&] { nn::SoftMarginLoss({.reduction = "max"})(a, b); },
               "reduction must be \"mean\", \"sum\" or \"none\", not \"max\"");
}

TEST("initial values have their distributions") {
  manual_seed(0);
  const auto spread = [](const Tensor& x) { return x.detach().std().item<double>(); };
  const Tensor w = empty({200, 100}).requires_grad_();
  expect_near(spread(nn::init::kaiming_normal_(w, 0, "fan_in", "relu")), std::sqrt(2.0 / 100), 2e-3);
  expect_near(spread(nn::init::kaiming_uniform_(w, std::sqrt(5.0))), 1 / std::sqrt(300.0), 1e-3);
  expect_near(amax(abs(nn::init::xavier_uniform_(w).detach())).item<double>(), std::sqrt(6.0 / 300), 1e-3);
  expect_near(spread(nn::init::xavier_normal_(w, 2)), 2 * std::sqrt(2.0 / 300), 2e-3);
  const Tensor narrow = nn::init::trunc_normal_(w, 1, 0.5, 0.5, 2).detach();
  expect(amin(narrow).item<double>() >= 0.5 && amax(narrow).item<double>() <= 2);
  expect_near(mean(narrow).item<double>(), 1.115, 0.02);
  expect_near(mean((nn::init::sparse_(w, 0.25).detach() == 0).to(Dtype::f64)).item<double>(), 0.25, 1e-9);
  expect(w.requires_grad() && w.is_leaf());
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 2, 2}}) {
    const Tensor q = nn::init::orthogonal_(empty(Dims(shape), {.dtype = Dtype::f64}), 2).reshape({shape[0], -1});
    const Tensor gram = q.size(0) <= q.size(1) ? matmul(q, q.t()) : matmul(q.t(), q);
    expect_less(amax(abs(gram - eye(gram.size(0), {}, {.dtype = Dtype::f64}) * 4)).item<double>(), 1e-12);
  }
  expect_equal(values(nn::init::eye_(empty({2, 3}))), std::vector<double>{1, 0, 0, 0, 1, 0});
  expect_equal(values(nn::init::dirac_(empty({2, 2, 3}))), std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  expect_equal(values(nn::init::constant_(empty({2}), 3)), std::vector<double>{3, 3});
  Generator g(1), same(1);
  expect_equal(values(nn::init::normal_(empty({4}), 0, 1, g)), values(nn::init::normal_(empty({4}), 0, 1, same)));
  expect_error([] { nn::init::xavier_uniform_(empty({3})); },
               "xavier_uniform_: the tensor must have at least 2 dimensions, not cpu f32[3]");
  expect_error([&] { nn::init::kaiming_normal_(w, 0, "fan"); }, "mode must be");
  expect_error([] { nn::init::calculate_gain("swish"); }, "unknown nonlinearity \"swish\"");
}
