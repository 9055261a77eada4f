// Calls of operators that are made of others at their bends and bounds, with what PyTorch answers there for a cotangent
// of ones.
#include <cmath>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

Tensor fixed(std::vector<double> numbers) { return tensor(numbers); }
Tensor leaf(std::vector<double> numbers) { return tensor(numbers).requires_grad_(); }
Tensor rows(int64_t count, std::vector<double> numbers) {
  return tensor(numbers).reshape({count, -1}).requires_grad_();
}

}  // namespace

void add_composition_kink_cases(std::vector<OperatorCase>& out) {
  using Gradients = std::vector<std::vector<double>>;
  const auto at = [&](const char* op, std::vector<Arg> args, Gradients gradients, OperatorCase::Keywords kwargs = {}) {
    out.push_back(OperatorCase(op, std::move(args), std::move(kwargs)).with_gradients(std::move(gradients)));
  };
  at("torch.nn.functional.hardtanh", {leaf({-2, -1, 0, 1, 2})}, {{0, 0, 1, 0, 0}});
  at("torch.nn.functional.relu6", {leaf({-1, 0, 3, 6, 7})}, {{0, 0, 1, 0, 0}});
  at("torch.nn.functional.hardsigmoid", {leaf({-4, -3, 0, 3, 4})}, {{0, 0, 1.0 / 6, 0, 0}});
  at("torch.nn.functional.hardswish", {leaf({-4, -3, -2.25, 0, 2.25, 3, 4})}, {{0, 0, -0.25, 0.5, 1.25, 1, 1}});
  at("torch.nn.functional.hardshrink", {leaf({-1, -0.5, 0, 0.5, 1})}, {{1, 0, 0, 0, 1}});
  at("torch.nn.functional.softshrink", {leaf({-1, -0.5, 0, 0.5, 1})}, {{1, 0, 0, 0, 1}});
  at("torch.nn.functional.threshold", {leaf({0, 0.5, 1}), 0.5, 2.0}, {{0, 0, 1}});
  at("torch.nn.functional.leaky_relu", {leaf({-1, 0, 1}), 0.1}, {{0.1, 0.1, 1}});
  at("torch.nn.functional.prelu", {leaf({-1, 0, 1}), leaf({0.25})}, {{0.25, 0.25, 1}, {-1}});
  at("torch.nn.functional.elu", {leaf({-1, 0, 1}), 0.5}, {{0.18393972058572117, 0.5, 1}});
  at("torch.nn.functional.celu", {leaf({-1, 0, 1}), 0.5}, {{0.1353352832366127, 1, 1}});
  at("torch.nn.functional.selu", {leaf({-1, 0, 1})}, {{0.646768603034814, 1.7580993408473766, 1.0507009873554805}});
  at("torch.nn.functional.softplus", {leaf({0.5, 1, 2}), 1.0, 1.0}, {{0.6224593312018546, 0.7310585786300049, 1}});
  at("torch.nn.functional.softsign", {leaf({-1, 0, 1})}, {{0.25, 1, 0.25}});
  at("torch.nn.functional.logsigmoid", {leaf({-1000, 0, 1000})}, {{1, 0.5, 0}});
  at("torch.fmax", {leaf({0, 1, 2, NAN, 3}), leaf({1, 1, 1, 1, NAN})}, {{0, 0.5, 1, 0, 1}, {1, 0.5, 0, 1, 0}});
  at("torch.fmin", {leaf({0, 1, 2, NAN, 3}), leaf({1, 1, 1, 1, NAN})}, {{1, 0.5, 0, 0, 1}, {0, 0.5, 1, 1, 0}});
  at("torch.copysign", {leaf({-1, 0, 2}), fixed({1, -1, -1})}, {{-1, 0, -1}});
  at("torch.xlogy", {leaf({0, 0, 0, 2, 2}), leaf({0, 0.5, 2, 0, 3})},
     {{0, -0.6931471805599453, 0.6931471805599453, -HUGE_VAL, 1.0986122886681098},
      {NAN, 0, 0, HUGE_VAL, 0.6666666666666666}});
  at("torch.sinc", {leaf({0, 1})}, {{0, -1}});
  at("torch.xlogy", {leaf({0, 2, -1}), 0}, {{0, -HUGE_VAL, -HUGE_VAL}});
  at("torch.xlogy", {leaf({0, 2}), 0.5}, {{-0.6931471805599453, -0.6931471805599453}});
  at("torch.logit", {leaf({0.1, 0.2, 0.5, 0.8, 0.9}), 0.2}, {{0, 6.25, 4, 6.25, 0}});
  at("torch.logit", {leaf({-0.5, 0.5, 1.5})}, {{NAN, 4, NAN}});
  at("torch.logit", {leaf({-0.5, 0.5, 1.5}), -1.0}, {{NAN, 4, NAN}});
  at("torch.nan_to_num", {leaf({NAN, HUGE_VAL, -HUGE_VAL, 2})}, {{0, 0, 0, 1}});
  at("torch.nn.functional.smooth_l1_loss", {leaf({-2, -1, 0, 0.5, 1, 2}), fixed({0, 0, 0, 0, 0, 0})},
     {{-1, -1, 0, 0.5, 1, 1}}, {{"reduction", "sum"}});
  at("torch.nn.functional.smooth_l1_loss", {leaf({-1, 0, 1}), fixed({0, 0, 0})}, {{-1, 0, 1}},
     {{"reduction", "sum"}, {"beta", 0.0}});
  at("torch.nn.functional.huber_loss", {leaf({-2, -1, 0, 0.5, 1, 2}), fixed({0, 0, 0, 0, 0, 0})},
     {{-1, -1, 0, 0.5, 1, 1}}, {{"reduction", "sum"}});
  at("torch.nn.functional.hinge_embedding_loss", {leaf({-1, 0.5, 1, 1.5}), fixed({-1, -1, -1, 1})}, {{-1, -1, 0, 1}},
     {{"reduction", "sum"}});
  at("torch.nn.functional.hinge_embedding_loss", {leaf({-1, 2}), fixed({0, 0})}, {{0, 1}}, {{"reduction", "sum"}});
  at("torch.nn.functional.margin_ranking_loss", {leaf({1, 1, 1}), leaf({0, 1, 2}), fixed({1, 1, 1})},
     {{0, 0, -1}, {0, 0, 1}}, {{"reduction", "sum"}});
  at("torch.nn.functional.binary_cross_entropy", {leaf({0, 0, 1, 1, 0.3}), fixed({0, 1, 0, 1, 1})},
     {{0, -1e12, 1e12, 0, -3.333333333333333}}, {{"reduction", "sum"}});
  at("torch.nn.functional.normalize", {rows(3, {0, 0, 3, 4, 1e-13, 0})}, {{1e12, 1e12, 0.032, -0.024, 1e12, 1e12}});
  at("torch.nn.functional.normalize", {rows(3, {0, 0, 3, 4, 1e-13, 0}), 1.0}, {{1e12, 1e12, 0, 0, 1e12, 1e12}});
  at("torch.nn.functional.normalize", {rows(3, {0, 0, 3, 4, 1e-13, 0}), HUGE_VAL},
     {{1e12, 1e12, 0.25, -0.1875, 1e12, 1e12}});
  at("torch.nn.functional.cosine_similarity", {rows(2, {0, 0, 3, 4}), rows(2, {1, 2, 3, -4})},
     {{44721359.549995795, 89442719.09999159, 0.1536, -0.1152}, {0, 0, 0.1536, 0.1152}});
  at("torch.nn.functional.pairwise_distance", {rows(2, {1, 2, 3, 4}), rows(2, {1, 2, 3, -4})},
     {{0, 0, 0, 1}, {0, 0, 0, -1}}, {{"eps", 0.0}});
  at("torch.nn.functional.gaussian_nll_loss", {leaf({1, 2}), fixed({0, 0}), leaf({0, 1})}, {{2, 2}, {-1, -1.5}},
     {{"reduction", "sum"}, {"eps", 0.5}});
  at("torch.norm", {leaf({0, 0})}, {{0, 0}});
  at("torch.nn.functional.kl_div", {leaf({1, 2, 3}), leaf({0, 1, -1})}, {{0, -1, 1}, {NAN, -1, NAN}},
     {{"reduction", "sum"}});
  at("torch.nn.functional.poisson_nll_loss", {leaf({0, 1, 2}), fixed({0, 1, 2})},
     {{1, 1.718281828459045, 5.38905609893065}}, {{"full", true}, {"reduction", "sum"}});
  at("torch.frac", {leaf({-1, 0, 1.5})}, {{1, 1, 1}});
  at("torch.nn.functional.glu", {leaf({0, 0})}, {{0.5, 0}});
  at("torch.nn.functional.binary_cross_entropy", {leaf({0, 0, 1, 1, 0.3}), fixed({0, 1, 0, 1, 1})},
     {{0, -200000000799.16058, 200000000799.16058, 0, -0.6666666666666666}}, {{"reduction", "mean"}});
  at("torch.nn.functional.binary_cross_entropy",
     {leaf({0, 0, 1, 1, 0.3}), fixed({0, 1, 0, 1, 1}), fixed({1, 2, 3, 4, 5})},
     {{0, -400000001598.32117, 600000002397.4817, 0, -3.333333333333333}}, {{"reduction", "mean"}});
  at("torch.nn.functional.binary_cross_entropy", {leaf({0, 0, 1, 1, 0.3}), fixed({0, 1, 0, 1, 1})},
     {{0, -1e12, 1e12, 0, -3.333333333333333}}, {{"reduction", "none"}});
  at("torch.nn.functional.binary_cross_entropy",
     {leaf({0, 0, 1, 1, 0.3}), fixed({0, 1, 0, 1, 1}), fixed({1, 2, 3, 4, 5})},
     {{0, -2000000007991.6057, 3000000011987.4087, 0, -16.666666666666664}}, {{"reduction", "none"}});
  at("torch.nn.functional.margin_ranking_loss", {leaf({1, 1, 1}), leaf({0, 1, 2}), fixed({1, 1, 1})},
     {{0, 0, -0.3333333333333333}, {0, 0, 0.3333333333333333}}, {{"reduction", "mean"}});
  at("torch.nn.functional.margin_ranking_loss", {leaf({1, 1, 1}), leaf({0, 1, 2}), fixed({1, 1, 1})},
     {{0, 0, -1}, {0, 0, 1}}, {{"reduction", "none"}});
  at("torch.nn.functional.hinge_embedding_loss", {leaf({-1, 0.5, 1, 1.5}), fixed({-1, -1, -1, 1})},
     {{-0.25, -0.25, 0, 0.25}}, {{"reduction", "mean"}});
  at("torch.nn.functional.hinge_embedding_loss", {leaf({-1, 0.5, 1, 1.5}), fixed({-1, -1, -1, 1})}, {{-1, -1, 0, 1}},
     {{"reduction", "none"}});
  at("torch.nn.functional.kl_div", {leaf({1, 2, 3}), leaf({0, 1, -1})},
     {{0, -0.3333333333333333, 0.3333333333333333}, {NAN, -0.3333333333333333, NAN}}, {{"reduction", "mean"}});
  at("torch.nn.functional.kl_div", {leaf({1, 2, 3}), leaf({0, 1, -1})}, {{0, -1, 1}, {NAN, -1, NAN}},
     {{"reduction", "none"}});
  at("torch.norm", {rows(3, {0, 0, 0, 0, -1, 0, 4, 0, 1}), 3.0, 1, true},
     {{0, 0, 0, 0, -1, 0, 0.9897171098065373, 0, 0.06185731936290858}});
  at("torch.nn.functional.normalize", {rows(3, {0, 4, 1, 3, 2, -1}), 3.0, 0},
     {{0.4807498567691361, -0.009631107303978925, 0.32049990451275745, 0.09149551938779979, -0.16024995225637867,
       0.23596212894748364}});
  at("torch.nn.functional.normalize", {rows(2, {0, 0, 0, 3}), 3.0, 1}, {{1e12, 1e12, 0.3333333333333333, 0}});
  at("torch.nn.functional.cosine_similarity", {rows(2, {3, 4, 3, 4}), rows(2, {0, 0, 3, -4})},
     {{0, 0, 0.1536, -0.1152}, {60000000.0, 80000000.0, 0.1536, 0.1152}});
  at("torch.nn.functional.triplet_margin_loss",
     {rows(4, {0, 0, 0, 0, 0, 0, 0, 0}), rows(4, {0, 0, 0, 1, 0, 0, 0, 0}), rows(4, {0, 1, 0, 0.5, 0, 0.5, 0, 0})},
     {{0, 0, 0, 0, 0, 0.25, 0, 0}, {0, 0, 0, 0.25, 0, 0, 0, 0}, {0, 0, 0, -0.25, 0, -0.25, 0, 0}},
     {{"reduction", "mean"}, {"eps", 0.0}});
  at("torch.nn.functional.triplet_margin_loss",
     {rows(4, {0, 0, 0, 0, 0, 0, 0, 0}), rows(4, {0, 0, 0, 1, 0, 0, 0, 0}), rows(4, {0, 1, 0, 0.5, 0, 0.5, 0, 0})},
     {{0, 0, 0, 0, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0}, {0, 0, 0, -1, 0, -1, 0, 0}},
     {{"reduction", "sum"}, {"eps", 0.0}});
  at("torch.nn.functional.triplet_margin_loss",
     {rows(4, {0, 0, 0, 0, 0, 0, 0, 0}), rows(4, {0, 0, 0, 1, 0, 0, 0, 0}), rows(4, {0, 1, 0, 0.5, 0, 0.5, 0, 0})},
     {{0, 0, 0, 0, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0}, {0, 0, 0, -1, 0, -1, 0, 0}},
     {{"reduction", "none"}, {"eps", 0.0}});
  at("torch.nn.functional.triplet_margin_loss",
     {rows(4, {0, 0, 0, 0, 0, 0, 0, 0}), rows(4, {0, 0, 0, 1, 1, -1, 0, 0}), rows(4, {0, 1, 0, 0.5, -1, 1, 0, 0})},
     {{0, 0, 0, -0.125, -0.31498026247371824, 0.31498026247371824, 0, 0},
      {0, 0, 0, 0.125, 0.15749013123685912, -0.15749013123685912, 0, 0},
      {0, 0, 0, 0, 0.15749013123685912, -0.15749013123685912, 0, 0}},
     {{"swap", true}, {"p", 3.0}, {"eps", 0.0}});
}

}  // namespace fulgurite::test
