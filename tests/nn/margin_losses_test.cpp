#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.
namespace {

Tensor waves(const Shape& shape) { return sin(arange(12).to(Dtype::f64) * 0.7 + 0.3).reshape(shape).detach(); }
std::vector<double> list(const Tensor& t) { return t.to_vector<double>(); }

}  // namespace

TEST("multi_margin_loss has PyTorch's values and gradients") {
  const Tensor x = waves({4, 3}).requires_grad_(), target = tensor({0, 2, 1, 1});
  const Tensor weight = tensor({0.5, 2.0, 1.0}, {.dtype = Dtype::f64});
  expect_near(list(nn::multi_margin_loss(x, target, {.margin = 0.5, .reduction = "none"})),
              {0.7473651273, 0.9802532083, 0.4718341763, 0.2129738753}, 1e-9);
  expect_near(list(nn::MultiMarginLoss({.p = 2, .weight = weight})(x, target)), {1.651475164}, 1e-9);
  nn::multi_margin_loss(x, target, {.p = 2, .margin = 0.7, .weight = weight}).backward();
  expect_near(list(x.grad()),
              {-0.2201746152, 0.1038292315, 0.1163453836, 0.3312201786, 0.2255730922, -0.5567932708, 0.201974846,
               -0.6051675096, 0.4031926636, 0.05370158096, -0.333342123, 0.279640542},
              1e-9);
  expect_near(list(nn::multi_margin_loss(x(1), target(1), {.reduction = "sum"})), {1.313586542}, 1e-9);
  expect_error([&] { nn::multi_margin_loss(x, target, {.p = 3}); }, "multi_margin_loss: p must be 1 or 2, it is 3");
  expect_error(
      [&] { nn::multi_margin_loss(x, x); },
      "multi_margin_loss: input must be [batch, classes] or [classes] and target [batch] or [], they have 2 and "
      "2 dimensions");
}

TEST("multilabel_margin_loss counts the targets before the first -1") {
  const Tensor x = waves({3, 4}).requires_grad_();
  const Tensor target = tensor(std::vector<std::vector<int64_t>>{{3, 0, -1, 1}, {1, -1, 0, 0}, {0, 1, 2, 3}});
  expect_near(list(nn::multilabel_margin_loss(x, target, "none")), {1.431076204, 0.7540423905, 0}, 1e-9);
  nn::MultiLabelMarginLoss()(x, target).backward();
  const double sixth = 1.0 / 6, twelfth = 1.0 / 12;
  expect_near(list(x.grad()), {-sixth, sixth, sixth, -sixth, twelfth, -0.25, twelfth, twelfth, 0, 0, 0, 0}, 1e-9);
  expect_near(list(nn::multilabel_margin_loss(x(0), target(0))), {1.431076204}, 1e-9);
  expect_error([&] { nn::multilabel_margin_loss(x, target, "max"); },
               "multilabel_margin_loss: reduction must be \"mean\", \"sum\" or \"none\", not \"max\"");
}

TEST("functions of losses that are layers give the layers' values") {
  const Tensor a = waves({4, 3}), b = (a * 0.5 + 0.1).detach(), target = tensor({1, -1, 1, -1});
  expect_equal(list(nn::cosine_embedding_loss(a, b, target, {.margin = 0.2})),
               list(nn::CosineEmbeddingLoss({.margin = 0.2})(a, b, target)));
  expect_equal(list(nn::soft_margin_loss(a, sign(b), "sum")),
               list(nn::SoftMarginLoss({.reduction = "sum"})(a, sign(b))));
  const Tensor present = (b > 0).to(Dtype::f64);
  expect_equal(list(nn::multilabel_soft_margin_loss(a, present)), list(nn::MultiLabelSoftMarginLoss()(a, present)));
}

TEST("triplet_margin_with_distance_loss takes a distance") {
  const Tensor a = waves({3, 4}).detach().requires_grad_(), p = waves({3, 4}) * 0.5, n = waves({3, 4}) - 0.25;
  expect_near(list(nn::triplet_margin_with_distance_loss(a, p, n, {.margin = 0.7, .reduction = "none"})),
              list(nn::triplet_margin_loss(a, p, n, 0.7, 2.0, 1e-6, false, {}, {}, "none")), 1e-12);
  expect_near(list(nn::triplet_margin_with_distance_loss(a, p, n, {.swap = true})),
              list(nn::triplet_margin_loss(a, p, n, 1.0, 2.0, 1e-6, true)), 1e-12);
  const Tensor x = test::wave({3, 4}).detach().requires_grad_();
  const auto squares = [](const Tensor& first, const Tensor& second) { return sum(square(first - second), -1); };
  const nn::TripletMarginWithDistanceLoss loss({.distance_function = squares, .margin = 2});
  const Tensor value = loss(x, test::wave({3, 4}, 0.5), test::wave({3, 4}, 1.0));
  expect_near(value.item<double>(), 0.7846999665, 1e-9);
  value.backward();
  expect_near(list(x.grad()),
              {0.2413636308, 0.03975048299, -0.1805579381, -0.3159471396, -0.3027414645, -0.1471517482, 0.07764573456,
               0.2659252152, 0.3291359119, 0.2375488463, 0.03423884657, -0.1851742177},
              1e-9);
  expect_error([&] { nn::triplet_margin_with_distance_loss(a, p, n, {.margin = 0}); },
               "triplet_margin_with_distance_loss: margin must be greater than 0, not 0");
}

TEST("margin losses have the eager values in jit") {
  const Tensor x = waves({3, 4}), labels = tensor({0, 2, 1});
  const Tensor many = tensor(std::vector<std::vector<int64_t>>{{3, 0, -1, 1}, {1, -1, 0, 0}, {0, 1, 2, 3}});
  const auto both = jit([](const Tensor& scores, const Tensor& one, const Tensor& several) {
    const Tensor first = nn::multi_margin_loss(scores, one);
    return first + nn::multilabel_margin_loss(scores, several);
  });
  expect_near(list(both(x, labels, many)), list(nn::multi_margin_loss(x, labels) + nn::multilabel_margin_loss(x, many)),
              1e-12);
}
