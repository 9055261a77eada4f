#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.
namespace {

Tensor scores() { return (wave({6, 3, 4}) * 2).detach().requires_grad_(); }
Tensor targets() { return tensor({{1, 2, 2}, {3, 1, 0}, {2, 3, 1}}); }
Tensor steps() { return tensor({6, 5, 4}); }
Tensor lengths() { return tensor({3, 2, 3}); }

}  // namespace

TEST("ctc_loss has PyTorch's values and gradients") {
  const Tensor x = scores(), log_probs = log_softmax(x, 2);
  log_probs.retain_grad();
  const Tensor loss = nn::ctc_loss(log_probs, targets(), steps(), lengths(), {.reduction = "none"});
  expect_near(values(loss), {5.595790927, 4.135275964, 5.169200238}, 1e-9);
  sum(loss * wave({3}, 0.4)).backward();
  expect_near(values(x.grad().select(1, 0)),
              {-0.02212820224, -0.2638807432,  0.160398838,    0.1256101075,   0.02206479571, -0.03520709571,
               0.004835445262, 0.008306854729, -0.07302363314, -0.01203333416, -0.1659616833, 0.2510186506,
               -0.01086482572, 0.08821514027,  -0.1924852821,  0.1151349676,   -0.1140065081, 0.0877773526,
               0.01767766572,  0.008551489814, 0.02807171266,  0.03005580894,  -0.3167223317, 0.2585948101},
              1e-9);
  expect_near(values(log_probs.grad().select(1, 1)),
              {-0.1981663907,
               0.1597996329,
               0.05639247043,
               -0.01802571264,
               0.01551789327,
               0.04619426529,
               0.1792780678,
               -0.2409902264,
               -0.1508907741,
               -0.02606010324,
               0.2595629831,
               -0.08261210583,
               0.04694587919,
               -0.1480748242,
               0.05943899174,
               0.04168995329,
               -0.2826996769,
               -0.5375614233,
               0.1848804324,
               0.6353806678,
               0,
               0,
               0,
               0},
              1e-9);
}

TEST("ctc_loss takes vectors of targets, other blanks, one sequence, and empty targets") {
  const Tensor log_probs = log_softmax(scores(), 2);
  const Tensor flat = tensor({1, 2, 2, 3, 1, 2, 3, 1});
  const nn::CTCLossOptions each{.reduction = "none"};
  expect_near(values(nn::ctc_loss(log_probs, flat, {6, 5, 4}, {3, 2, 3}, each)),
              {5.595790927, 4.135275964, 5.169200238}, 1e-9);
  const Tensor without_three = tensor({{1, 2, 2}, {0, 1, 0}, {2, 0, 1}});
  expect_near(values(nn::CTCLoss({.blank = 3, .reduction = "none"})(log_probs, without_three, steps(), lengths())),
              {7.016654366, 3.001993824, 3.531914696}, 1e-9);
  const Tensor first = log_probs.select(1, 0);
  expect_near(nn::ctc_loss(first, targets()(0), tensor(6), tensor(3)).item<double>(), 1.865263642, 1e-9);
  const Tensor single = nn::ctc_loss(first, targets()(0), {6}, {3}, each);
  expect_equal(single.dim(), 0);
  expect_near(single.item<double>(), 5.595790927, 1e-9);
  const Tensor some_empty = tensor({0, 2, 1});
  expect_near(values(nn::ctc_loss(log_probs, targets(), steps(), some_empty, each)),
              {11.13174945, 4.135275964, 5.155391025}, 1e-9);
  expect_near(nn::ctc_loss(log_probs, targets(), steps(), some_empty).item<double>(), 6.118259484, 1e-9);
  const Tensor none = empty({3, 0}, {.dtype = Dtype::i64});
  expect_near(values(nn::ctc_loss(log_probs, none, steps(), zeros_like(lengths()), each))[0], 11.13174945, 1e-9);
}

TEST("ctc_loss is the mean of losses per symbol, or the sum") {
  const Tensor log_probs = log_softmax(scores(), 2);
  expect_near(nn::ctc_loss(log_probs, targets(), steps(), lengths()).item<double>(), 1.88532279, 1e-9);
  expect_near(nn::ctc_loss(log_probs, targets(), steps(), lengths(), {.reduction = "sum"}).item<double>(), 14.90026713,
              1e-9);
}

TEST("impossible targets are infinite, or zero without a gradient") {
  const Tensor x = scores(), log_probs = log_softmax(x, 2), short_steps = tensor({3, 5, 4});
  const Tensor losses = nn::ctc_loss(log_probs, targets(), short_steps, lengths(), {.reduction = "none"});
  expect_near(values(losses), {INFINITY, 4.135275964, 5.169200238}, 1e-9);
  const Tensor loss = nn::ctc_loss(log_probs, targets(), short_steps, lengths(), {.zero_infinity = true});
  expect_near(loss.item<double>(), 1.263568243, 1e-9);
  loss.backward();
  expect_equal(values(x.grad().select(1, 0)), std::vector<double>(24, 0.0));
  expect_near(values(x.grad().select(1, 1)),
              {-0.0370595366,
               0.02988448406,
               0.01054608107,
               -0.003371028533,
               0.002902035666,
               0.008638892092,
               0.03352718941,
               -0.04506811717,
               -0.0282184186,
               -0.004873557753,
               0.04854144964,
               -0.01544947329,
               0.008779453075,
               -0.02769180157,
               0.01111581779,
               0.007796530706,
               -0.0528682941,
               -0.100530555,
               0.03457490004,
               0.1188239491,
               0,
               0,
               0,
               0},
              1e-9);
  const Tensor no_steps = tensor({0, 5, 4});
  expect_near(values(nn::ctc_loss(log_probs, targets(), no_steps, tensor({0, 2, 3}), {.reduction = "none"})),
              {0, 4.135275964, 5.169200238}, 1e-9);
  expect_near(values(nn::ctc_loss(log_probs, targets(), no_steps, tensor({1, 2, 3}), {.reduction = "none"}))[0],
              INFINITY, 1e-9);
}

TEST("ctc_loss of log_softmax passes gradcheck of both orders") {
  const auto loss = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{
        nn::ctc_loss(log_softmax(x[0], 2), targets(), steps(), lengths(), {.reduction = "none"})};
  };
  expect_equal(gradcheck(loss, {scores()}), "");
  expect_equal(gradcheck(loss, {(wave({4, 3, 6}) * 2).permute({2, 1, 0}).detach().requires_grad_()}), "");
}

TEST("ctc_loss has the eager values in jit, and takes f32 and bf16") {
  const Tensor x = scores();
  const auto loss = [](const Tensor& s, const Tensor& t, const Tensor& a, const Tensor& b) {
    return nn::ctc_loss(log_softmax(s, 2), t, a, b);
  };
  const auto jitted = jit(loss);
  expect_near(jitted(x, targets(), steps(), lengths()).item<double>(), 1.88532279, 1e-9);
  jitted(x, targets(), steps(), lengths()).backward();
  const Tensor again = scores();
  loss(again, targets(), steps(), lengths()).backward();
  expect_near(values(x.grad()), values(again.grad()), 1e-9);
  expect_near(loss(x.to(Dtype::f32), targets(), steps(), lengths()).item<double>(), 1.88532279, 1e-5);
  const Tensor rounded = loss(x.to(Dtype::bf16), targets().to(Dtype::i32), steps(), lengths());
  expect_equal(rounded.dtype(), Dtype::bf16);
  expect_near(rounded.item<double>(), 1.88532279, 2e-2);
}

TEST("ctc_loss's errors say what is wrong") {
  const Tensor log_probs = log_softmax(scores(), 2);
  expect_error(
      [&] {
        nn::ctc_loss(log_probs, targets(), tensor({7, 5, 4}), lengths());
      },
      "ctc_loss: input_lengths must be from 0 to 6, not 7");
  expect_error(
      [&] {
        nn::ctc_loss(log_probs, targets(), steps(), tensor({3, 4, 3}));
      },
      "ctc_loss: target_lengths must be from 0 to 3, not 4");
  expect_error(
      [&] {
        nn::ctc_loss(log_probs, targets(), {6, 5}, {3, 2, 3});
      },
      "ctc_loss: input_lengths must have one length for each of 3 sequences, not cpu i64[2]");
  expect_error(
      [&] {
        nn::ctc_loss(log_probs, tensor({1, 2, 3}), {6, 5, 4}, {1, 1, 2});
      },
      "ctc_loss: the target lengths sum to 4, the vector of targets has 3");
  expect_error([&] { nn::ctc_loss(log_probs, targets(), steps(), lengths(), {.blank = 4}); },
               "ctc_loss: blank must be one of the 4 labels, not 4");
  expect_error([&] { nn::ctc_loss(log_probs, targets(), steps(), lengths(), {.reduction = "max"}); },
               "ctc_loss: reduction must be \"mean\", \"sum\" or \"none\", not \"max\"");
  expect_error([&] { nn::ctc_loss(log_probs, scores(), steps(), lengths()); },
               "ctc_loss: targets must hold integers, not cpu f64[6, 3, 4]");
  expect_error([&] { nn::ctc_loss(log_probs, targets()(Slice(0, 2)), steps(), lengths()); },
               "ctc_loss: there are 2 targets and 3 sequences");
  expect_error([&] { nn::ctc_loss(tensor({1.0}), targets(), steps(), lengths()); },
               "ctc_loss: log_probs must be floating, [steps, batch, labels] or [steps, labels]");
}
