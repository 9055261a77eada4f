#include <cmath>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "distributions/checks.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::distributions;

TEST("densities, moments and quantiles of power laws and gammas are PyTorch's") {
  check("Weibull", Weibull(s, b), {0.4, 0.9, 2.1},
        {.log_prob = {0.18670805235270718, -1.8304535753286477, -18.681944671903807},
         .mean = {0.6210846722521527, 4.985026455671764, 0.1847153443111956},
         .variance = {0.07063187767375496, 245.14951123625255, 0.02053122895487696},
         .entropy = {0.07336372312803219, 1.4559323426300201, -0.7385985619243145},
         .cdf = {0.21872958069059578, 0.5574461422919503, 0.9999999994148538},
         .icdf = {0.28455694853100544, 0.6000050582733182, 0.4651261571646648}});
  check("Pareto", Pareto(s, b), {0.8, 1.9, 2.1},
        {.log_prob = {0.805605801627058, -1.6527001292722416, -3.5363609145744075},
         .mean = {1.1666666666666667, INFINITY, 0.8666666666666666},
         .variance = {1.0888888888888888, INFINITY, INFINITY},
         .entropy = {0.12703432418711236, 4.82175583998232, -0.10257140767082218},
         .cdf = {0.2838233908128005, 0.09022276962489839, 0.9529614515812351},
         .icdf = {0.7301314170574428, 8.485281374238568, 2.003652026673906}});
  check("HalfCauchy", HalfCauchy(s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.377474733135733, -1.1645325131455797, -3.5539247139017043},
         .mean = {INFINITY, INFINITY, INFINITY},
         .variance = {INFINITY, INFINITY, INFINITY},
         .entropy = {1.481202122470613, 2.24334217451751, 0.22843915397524517},
         .cdf = {0.330498681077136, 0.34404173924526127, 0.9395518663221609},
         .icdf = {0.1108691082271755, 1.4999999999999998, 2.5412409472349395}});
  check("Chi2", Chi2(b), {0.4, 0.9, 2.1},
        {.log_prob = {-1.1972348222466571, -2.0284048460165125, -2.0857759259391493},
         .mean = {2.5, 0.4, 1.3},
         .variance = {5.0, 0.8, 2.6},
         .entropy = {1.9017387274821986, -1.8140209142830206, 1.1890770571728249},
         .cdf = {0.1057945917263557, 0.8664744251814256, 0.7949758395948017},
         .icdf = {}});
  check("InverseGamma", InverseGamma(b, c), {0.4, 0.9, 2.1},
        {.log_prob = {0.145270631671647, -3.543061513646916, -1.9981873734336089},
         .mean = {0.39999999999999997, INFINITY, 3.6666666666666665},
         .variance = {0.32, INFINITY, INFINITY},
         .entropy = {-0.18719099555142238, 5.881228468789055, 1.6762744146901047},
         .cdf = {0.6999858358786276, 0.00680795899922737, 0.7221199522365802},
         .icdf = {}});
  check("NegativeBinomial", NegativeBinomial(b, p), {0.0, 2.0, 5.0},
        {.log_prob = {-0.8916873598468309, -2.661133216094531, -2.892137242830815},
         .mean = {1.0714285714285712, 0.6, 11.700000000000003},
         .variance = {1.5306122448979587, 1.4999999999999998, 117.00000000000006},
         .entropy = {},
         .cdf = {},
         .icdf = {}});
}

TEST("counts of classes and relaxed draws have PyTorch's densities") {
  const Multinomial counts(6, m);
  expect_close(counts.log_prob(row({1, 3, 2, 0, 1, 5}).reshape({2, 3})), {-2.0024805005437063, -1.6265433803370386});
  expect_close(counts.mean(), {1.2, 3.0, 1.8, 0.6, 0.6, 4.8});
  expect_close(counts.variance(), {0.96, 1.5, 1.26, 0.54, 0.54, 0.96});
  expect_close(Multinomial(2, {.logits = log(row({0.0, 1.0}))}).log_prob(row({0, 2})), {0});
  expect_close(RelaxedBernoulli(0.7, p).log_prob(p), {-0.19843131376654854, -0.31954971514034436, 0.5582623261249255});
  expect_close(RelaxedBernoulli(0.7, Logits{a}).log_prob(p),
               {-0.46725742094249645, -0.8221511278035898, 0.6120962075418463});
  expect_close(RelaxedOneHotCategorical(0.7, m).log_prob(n), {-0.1147136343673929, -2.453373128824211});
  expect_error([] { Multinomial(-1, m); }, "distributions::Multinomial: total_count must be at least 0, not -1");
  expect_error([] { RelaxedOneHotCategorical(ones({2}), m); },
               "distributions::RelaxedOneHotCategorical: the temperature must be one number");
  expect_error([] { Weibull(s, 0.0); }, "distributions::Weibull: concentration must be above 0");
}

TEST("transformed distributions have PyTorch's densities") {
  const Normal normal(a, s);
  const Tensor inside = row({0.3, -0.6, 0.9}), positive = row({0.3, 0.6, 0.9});
  expect_close(TransformedDistribution(normal, TanhTransform()).log_prob(inside),
               {-0.5049761558997388, -0.9352053788120471, -1.1306727536463765});
  expect_close(TransformedDistribution(normal, AffineTransform(1.0, -2.0), ExpTransform()).log_prob(positive),
               {-0.42122125977455616, -2.3564228125237165, -26.081467736649955});
  expect_close(TransformedDistribution(normal, SigmoidTransform()).log_prob(p),
               {-0.8538724987603921, -0.4700691108621937, 2.6122258140631693});
  expect_close(TransformedDistribution(normal, SoftplusTransform()).log_prob(p),
               {-1.6642823138257536, -0.752594676780952, -31.667042726298487});
  expect_close(TransformedDistribution(Gamma(b, c), PowerTransform(2.0)).log_prob(p),
               {-2.884520846032425, -2.9655095915061422, -1.4677445846817885});
  expect_close(TransformedDistribution(Independent(normal, 1), TanhTransform()).log_prob(inside), {-2.570854288358162});
  expect_close(AffineTransform(a, s).log_abs_det_jacobian(a, a),
               {-0.35667494393873245, 0.4054651081081644, -1.6094379124341003});
  expect_error([] { TransformedDistribution(AnyDistribution(), {}); },
               "distributions::TransformedDistribution: the base is null");
  expect_error([&] { TransformedDistribution(std::make_shared<Normal>(normal), {AnyTransform()}); },
               "distributions::TransformedDistribution: a transform is null");
  expect_error([] { Independent(AnyDistribution(), 1); }, "distributions::Independent: the base is null");
  expect_error([] { MixtureSameFamily(Categorical(m(0)), AnyDistribution()); },
               "distributions::MixtureSameFamily: the components are null");
  expect_error([&] { TransformedDistribution(normal, TanhTransform()).mean(); },
               "distributions::TransformedDistribution has no mean()");
}

TEST("further draws have the moments of their distributions") {
  check_draws(Weibull(s, add(b, 1)));
  check_draws(Pareto(s, add(b, 9)));
  check_draws(Chi2(b));
  check_draws(InverseGamma(add(b, 9), c));
  check_draws(NegativeBinomial(b, row({0.3, 0.6, 0.5})));
  check_draws(Multinomial(6, m));
  const Tensor half = lt(HalfCauchy(2.0).sample({40000}, Generator(4)), 2.0).to(Dtype::f64);
  expect_near(mean(half).item<double>(), 0.5, 0.02);
  // A relaxed draw is nearest to the class that a Gumbel draw chooses.
  const Tensor chosen = argmax(RelaxedOneHotCategorical(0.5, m).sample({40000}, Generator(3)), -1);
  expect_near(mean(eq(chosen, 2).to(Dtype::f64), 0).to_vector<double>(), {0.3, 0.8}, 0.02);
  const Tensor positive = gt(RelaxedBernoulli(0.5, p).sample({40000}, Generator(3)), 0.5).to(Dtype::f64);
  expect_near(mean(positive, 0).to_vector<double>(), {0.3, 0.6, 0.9}, 0.02);
  const TransformedDistribution log_normal(Normal(a, s), ExpTransform());
  manual_seed(1);
  const Tensor drawn = log_normal.sample({5});
  manual_seed(1);
  expect_close(drawn, exp(Normal(a, s).sample({5})).contiguous().to_vector<double>());
}

TEST("draws of a squashed normal policy carry gradients, eager and jitted") {
  const auto loss = [](const Tensor& mean_of, const Tensor& scale) {
    const TransformedDistribution policy(Normal(mean_of, scale), TanhTransform(), AffineTransform(0.0, 2.0));
    const Tensor action = policy.rsample();
    return sum(policy.log_prob(action) + action);
  };
  Tensor loc = row({0.1, -0.3}).requires_grad_(), scale = row({0.5, 0.8}).requires_grad_();
  manual_seed(2);
  loss(loc, scale).backward();
  const std::vector<double> eager = loc.grad().to_vector<double>();
  loc.set_grad({});
  manual_seed(2);
  jit(loss)(loc, scale).backward();
  expect_near(loc.grad().to_vector<double>(), eager, 1e-9);
  expect_equal(RelaxedOneHotCategorical(0.5, m).rsample({4}).shape(), Shape({4, 2, 3}));
  expect_equal(Multinomial(3, m).sample({4, 5}).shape(), Shape({4, 5, 2, 3}));
  expect_equal(Multinomial(0, m).sample({4}).shape(), Shape({4, 2, 3}));
}
