// Errors of composite pointwise operators and losses for arguments that they reject.
#include <fulgurite/fulgurite.h>

#include "support/cases/wrong_calls.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("errors that depend on elements name the call and the user's line in each mode") {
  const Tensor far = whole({1}) + 13, numbers = whole({2}), zero = whole({2});
  const int line = __LINE__ + 1;
  const auto take_far = [&](Tensor x) { return take(x, far); };
  const auto divide = [&](Tensor x) { return x + div(numbers, zero, "floor"); };
  const std::string place = "\n  at errors_of_compositions_test.cpp:";
  const std::string complaint =
      "take(cpu f32[3, 4], cpu i64[1]): an index tensor holds 13, which is out of range for a dimension of size 12";
  for (const bool has_gradient : {false, true}) {
    const Tensor x = reals({3, 4}).requires_grad_(has_gradient);
    expect_error([&] { take_far(x); }, complaint);
    expect_error([&] { take_far(x); }, place + std::to_string(line));
    expect_error([&] { jit(take_far)(x); },
                 complaint + " (in index(cpu f32[12], [cpu i64[1]]))" + place + std::to_string(line));
    expect_error([&] { jit(divide)(reals({2}).requires_grad_(has_gradient)); },
                 "div(cpu i64[2], cpu i64[2], rounding_mode='floor'): division of integers by zero" + place +
                     std::to_string(line + 1));
  }
  expect_error([&] { divide(reals({2})); },
               "div(cpu i64[2], cpu i64[2], rounding_mode='floor'): division of integers by zero" + place);
}

TEST("a size that does not fit is an error") {
  const Tensor x = reals({2, 3});
  const int64_t much = int64_t{1} << 40;
  expect_error(
      [&] {
        x.repeat({much, much});
      },
      "repeat(cpu f32[2, 3], [1099511627776, 1099511627776]): a size or a count of elements does not fit 64 bits");
  expect_error(
      [&] {
        reals({1}).expand({much, much});
      },
      "expand(cpu f32[1], [1099511627776, 1099511627776]): a size or a count of elements does not fit 64 bits");
  expect_error(
      [&] {
        full({much, much}, 1);
      },
      "full([1099511627776, 1099511627776], 1): a tensor of sizes [1099511627776, 1099511627776] is too large");
  expect_error([&] { jit([&](Tensor t) { return t.repeat({much, much}); })(x); }, "repeat(cpu f32[2, 3]");
}

TEST("activations say what they cannot take") {
  std::vector<OperatorCase> calls;
  for (const char* name : {"hardsigmoid", "hardswish", "hardshrink", "softshrink", "leaky_relu", "elu", "celu", "selu",
                           "softplus", "mish", "logsigmoid", "glu"})
    calls.push_back({functional(name), {whole({2})}});
  for (const char* name : {"hardtanh", "relu6"}) calls.push_back({functional(name), {flags({2})}});
  calls.push_back({functional("threshold"), {flags({2}), 0, 0}});
  calls.push_back({functional("hardtanh"), {reals({2}), 1, 0}});
  calls.push_back({functional("softshrink"), {reals({2}), -1}});
  calls.push_back({functional("celu"), {reals({2}), 0}});
  calls.push_back({functional("glu"), {reals({3})}});
  calls.push_back({functional("glu"), {reals({2}), 1}});
  calls.push_back({functional("glu"), {reals({})}});
  calls.push_back({functional("prelu"), {whole({2}), whole({})}});
  calls.push_back({functional("prelu"), {reals({2, 3}), reals({2})}});
  calls.push_back({functional("prelu"), {reals({2, 3}), reals({1, 3})}});
  calls.push_back({functional("threshold"), {reals({2})}});
  expect_text(messages(calls), R"(
hardsigmoid(cpu i64[2]): needs a floating dtype, not i64
hardswish(cpu i64[2]): needs a floating dtype, not i64
hardshrink(cpu i64[2]): needs a floating dtype, not i64
softshrink(cpu i64[2]): needs a floating dtype, not i64
leaky_relu(cpu i64[2]): needs a floating dtype, not i64
elu(cpu i64[2]): needs a floating dtype, not i64
celu(cpu i64[2]): needs a floating dtype, not i64
selu(cpu i64[2]): needs a floating dtype, not i64
softplus(cpu i64[2]): needs a floating dtype, not i64
mish(cpu i64[2]): needs a floating dtype, not i64
logsigmoid(cpu i64[2]): needs a floating dtype, not i64
glu(cpu i64[2]): needs a floating dtype, not i64
hardtanh(cpu bool[2]): not defined for booleans
relu6(cpu bool[2]): not defined for booleans
threshold(cpu bool[2], 0.0, 0.0): not defined for booleans
hardtanh(cpu f32[2], 1.0, 0.0): min_val must not be above max_val: 1.0 and 0.0
softshrink(cpu f32[2], -1.0): lambd must not be negative: -1.0
celu(cpu f32[2], 0.0): alpha must not be 0
glu(cpu f32[3]): the size of dimension 0 must be even, not 3
glu(cpu f32[2], 1): dim 1 is out of range for 1 dimension
glu(cpu f32[]): needs at least 1 dimension
prelu(cpu i64[2], cpu i64[]): needs a floating dtype, not i64
prelu(cpu f32[2, 3], cpu f32[2]): weight has 2 elements, the input 3 channels
prelu(cpu f32[2, 3], cpu f32[1, 3]): weight must have at most 1 dimension, got shape [1, 3]
torch.nn.functional.threshold: argument 'threshold' is missing; its signature is torch.nn.functional.threshold(Tensor input, float threshold, float value, bool inplace=False) -> Tensor
)");
}

TEST("pointwise compositions say what they cannot take") {
  const std::string said = messages({
      {"torch.polygamma", {-1, reals({2})}},
      {"torch.frac", {whole({2})}},
      {"torch.heaviside", {reals({2}), whole({2})}},
      {"torch.hypot", {whole({2}), whole({2})}},
      {"torch.hypot", {reals({2}), reals({3})}},
      {"torch.logaddexp", {whole({2}), whole({2})}},
      {"torch.fmax", {reals({2}), reals({3})}},
      {"torch.isclose", {reals({2}), reals({3})}},
      {"torch.copysign", {reals({2}), reals({3})}},
      {"torch.xlogy", {reals({2}), reals({3})}},
      {"torch.bitwise_left_shift", {flags({2}), flags({2})}},
      {"torch.bitwise_left_shift", {reals({2}), 1}},
      {"torch.bitwise_right_shift", {whole({2}), 1.5}},
      {"torch.floor_divide", {whole({2}), 0}},
      {"torch.floor_divide", {whole({2}), whole({2})}},
  });
  expect_text(said, R"(
polygamma(-1, cpu f32[2]): n must not be negative: -1
frac(cpu i64[2]): needs a floating dtype, not i64
heaviside(cpu f32[2], cpu i64[2]): input is f32, values i64; they must be of one dtype
hypot(cpu i64[2], cpu i64[2]): needs a floating dtype, not i64
hypot(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ
logaddexp(cpu i64[2], cpu i64[2]): needs a floating dtype, not i64
fmax(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ (in ge(cpu f32[2], cpu f32[3]))
isclose(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ (in eq(cpu f32[2], cpu f32[3]))
copysign(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ
xlogy(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ
bitwise_left_shift(cpu bool[2], cpu bool[2]): not defined for booleans
bitwise_left_shift(cpu f32[2], 1): needs integers or booleans, not f32
bitwise_right_shift(cpu i64[2], 1.5): needs integers or booleans, not f32
floor_divide(cpu i64[2], 0): division of integers by zero (in div(cpu i64[2], 0, rounding_mode='floor'))
floor_divide(cpu i64[2], cpu i64[2]): division of integers by zero (in div(cpu i64[2], cpu i64[2], rounding_mode='floor'))
)");
}

TEST("losses say what they cannot take") {
  std::vector<OperatorCase> calls;
  for (const char* name : {"smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "hinge_embedding_loss",
                           "binary_cross_entropy", "binary_cross_entropy_with_logits"}) {
    calls.push_back({functional(name), {reals({2}), reals({2})}, {{"reduction", "median"}}});
    calls.push_back({functional(name), {reals({2}), reals({3})}});
  }
  for (const char* name : {"gaussian_nll_loss", "margin_ranking_loss", "triplet_margin_loss"})
    calls.push_back({functional(name), {reals({2}), reals({2}), reals({2})}, {{"reduction", "median"}}});
  calls.push_back({functional("smooth_l1_loss"), {reals({2}), reals({2})}, {{"beta", -1}}});
  calls.push_back({functional("huber_loss"), {reals({2}), reals({2})}, {{"delta", 0}}});
  calls.push_back({functional("gaussian_nll_loss"), {reals({2, 3}), reals({2, 3}), reals({3})}});
  calls.push_back({functional("gaussian_nll_loss"), {reals({2}), reals({2}), reals({2})}, {{"eps", 0}}});
  calls.push_back({functional("margin_ranking_loss"), {reals({2}), reals({2}), reals({2, 2})}});
  calls.push_back({functional("triplet_margin_loss"), {reals({2}), reals({2}), reals({2})}, {{"margin", 0}}});
  calls.push_back({functional("triplet_margin_loss"), {reals({2, 3}), reals({2, 4}), reals({2, 3})}});
  calls.push_back({functional("pairwise_distance"), {reals({2, 3}), reals({2, 4})}});
  calls.push_back({functional("cosine_similarity"), {reals({2, 3}), reals({2, 4})}});
  calls.push_back({functional("cosine_similarity"), {reals({2, 3}), reals({2, 3}), 2}});
  calls.push_back({functional("normalize"), {reals({2, 3}), 2.0, 2}});
  calls.push_back({functional("normalize"), {whole({2, 3})}});
  calls.push_back({"torch.norm", {whole({2})}});
  calls.push_back({"torch.norm", {reals({2}), 2.0, 1}});
  expect_text(messages(calls), R"(
smooth_l1_loss(cpu f32[2], cpu f32[2], reduction='median'): reduction must be "mean", "sum" or "none", got "median"
smooth_l1_loss(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ (in sub(cpu f32[2], cpu f32[3]))
huber_loss(cpu f32[2], cpu f32[2], 'median'): reduction must be "mean", "sum" or "none", got "median"
huber_loss(cpu f32[2], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ (in sub(cpu f32[2], cpu f32[3]))
kl_div(cpu f32[2], cpu f32[2], reduction='median'): reduction must be "mean", "sum" or "none", got "median"
kl_div(cpu f32[2], cpu f32[3]): shapes [3] and [2] do not broadcast: sizes 3 and 2 differ (in mul(cpu f32[3], cpu f32[2]))
poisson_nll_loss(cpu f32[2], cpu f32[2], eps=1e-08, reduction='median'): reduction must be "mean", "sum" or "none", got "median"
poisson_nll_loss(cpu f32[2], cpu f32[3], eps=1e-08): shapes [3] and [2] do not broadcast: sizes 3 and 2 differ (in mul(cpu f32[3], cpu f32[2]))
hinge_embedding_loss(cpu f32[2], cpu f32[2], reduction='median'): reduction must be "mean", "sum" or "none", got "median"
hinge_embedding_loss(cpu f32[2], cpu f32[3]): shapes [3] and [2] do not broadcast: sizes 3 and 2 differ (in where(cpu bool[3], cpu f32[2], 0.0))
binary_cross_entropy(cpu f32[2], cpu f32[2], reduction='median'): reduction must be "mean", "sum" or "none", got "median"
binary_cross_entropy(cpu f32[2], cpu f32[3]): target has shape [3], the input [2]
binary_cross_entropy_with_logits(cpu f32[2], cpu f32[2], reduction='median'): reduction must be "mean", "sum" or "none", got "median"
binary_cross_entropy_with_logits(cpu f32[2], cpu f32[3]): target has shape [3], the input [2]
gaussian_nll_loss(cpu f32[2], cpu f32[2], cpu f32[2], eps=1e-06, reduction='median'): reduction must be "mean", "sum" or "none", got "median"
margin_ranking_loss(cpu f32[2], cpu f32[2], cpu f32[2], reduction='median'): reduction must be "mean", "sum" or "none", got "median"
triplet_margin_loss(cpu f32[2], cpu f32[2], cpu f32[2], eps=1e-06, reduction='median'): reduction must be "mean", "sum" or "none", got "median"
smooth_l1_loss(cpu f32[2], cpu f32[2], beta=-1.0): beta must not be negative: -1.0
huber_loss(cpu f32[2], cpu f32[2], delta=0.0): delta must be positive, not 0.0
gaussian_nll_loss(cpu f32[2, 3], cpu f32[2, 3], cpu f32[3], eps=1e-06): var has shape [3], the input [2, 3]; it must be that shape, or that shape without its last size or with 1 in its place
gaussian_nll_loss(cpu f32[2], cpu f32[2], cpu f32[2], eps=0.0): eps must be positive, not 0.0
margin_ranking_loss(cpu f32[2], cpu f32[2], cpu f32[2, 2]): input1, input2 and target must have the same number of dimensions
triplet_margin_loss(cpu f32[2], cpu f32[2], cpu f32[2], 0.0, eps=1e-06): margin must be positive, not 0.0
triplet_margin_loss(cpu f32[2, 3], cpu f32[2, 4], cpu f32[2, 3], eps=1e-06): shapes [2, 3] and [2, 4] do not broadcast: sizes 3 and 4 differ (in sub(cpu f32[2, 3], cpu f32[2, 4]))
pairwise_distance(cpu f32[2, 3], cpu f32[2, 4], eps=1e-06): shapes [2, 3] and [2, 4] do not broadcast: sizes 3 and 4 differ (in sub(cpu f32[2, 3], cpu f32[2, 4]))
cosine_similarity(cpu f32[2, 3], cpu f32[2, 4], eps=1e-08): shapes [2, 3] and [2, 4] do not broadcast: sizes 3 and 4 differ
cosine_similarity(cpu f32[2, 3], cpu f32[2, 3], 2, 1e-08): dim 2 is out of range for 2 dimensions
normalize(cpu f32[2, 3], dim=2): dim 2 is out of range for 2 dimensions (in vector_norm(cpu f32[2, 3], 2.0, [2], True))
normalize(cpu i64[2, 3]): needs a floating dtype, not i64
norm(cpu i64[2]): needs a floating dtype, not i64 (in vector_norm(cpu i64[2], 2.0))
norm(cpu f32[2], dim=[1]): dim 1 is out of range for 1 dimension (in vector_norm(cpu f32[2], 2.0, [1]))
)");
}
