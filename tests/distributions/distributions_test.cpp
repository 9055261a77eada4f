#include <cmath>
#include <vector>

#include <fulgurite/distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>
#include <fulgurite/jit.h>

#include "distributions/checks.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::distributions;

// Expected numbers are those of torch.distributions in f64.

TEST("densities, moments, entropies and quantiles are PyTorch's") {
  check("Normal", Normal(a, s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.5724676708985933, -2.3044036413128373, 0.5654993792294274},
         .mean = {0.5, -1.2, 2.0},
         .variance = {0.48999999999999994, 2.25, 0.04000000000000001},
         .entropy = {1.0622635892659402, 1.824403641312837, -0.1904993792294276},
         .cdf = {0.4432015031835318, 0.9192433407662289, 0.6914624612740132},
         .icdf = {-0.39708609588122046, -1.2, 2.3289707253902945}});
  check("LogNormal", LogNormal(a, s), {0.4, 0.9, 2.1},
        {.log_prob = {-1.6927886096291629, -1.4853177035840996, -19.835458522832067},
         .mean = {2.1064414349807272, 0.927743486328553, 7.538324933661922},
         .variance = {2.805647466157347, 7.305461936142594, 2.319127044413242},
         .entropy = {1.5622635892659402, 0.6244036413128371, 1.8095006207705724},
         .cdf = {0.021522531588970828, 0.7672314456109837, 1.584129494247577e-10},
         .icdf = {0.6722761429340126, 0.30119421191220214, 10.267368151173656}});
  check("HalfNormal", HalfNormal(s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.032381714828443986, -0.8112564607528917, -53.74135344021062},
         .mean = {0.5585191925620058, 1.1968268412042982, 0.1595769121605731},
         .variance = {0.1780563115398851, 0.8176055121729419, 0.014535209105296747},
         .entropy = {0.36911640870599494, 1.1312564607528919, -0.8836465597893729},
         .cdf = {0.43229083380264743, 0.4514937644998529, 1.0},
         .icdf = {0.08796294279855191, 1.0117346252941228, 0.3919927969080108}});
  check("Uniform", Uniform(a, add(a, s)), {0.4, 0.9, 2.1},
        {.log_prob = {-INFINITY, -INFINITY, 1.6094379124340994},
         .mean = {0.85, -0.44999999999999996, 2.1},
         .variance = {0.040833333333333326, 0.1875, 0.003333333333333339},
         .entropy = {-0.35667494393873245, 0.4054651081081644, -1.6094379124340994},
         .cdf = {0.0, 1.0, 0.5},
         .icdf = {0.57, -0.44999999999999996, 2.1900000000000004}});
  check("Exponential", Exponential(s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.6366749439387325, -0.9445348918918357, -2.0294379124341004},
         .mean = {1.4285714285714286, 0.6666666666666666, 5.0},
         .variance = {2.0408163265306127, 0.4444444444444444, 24.999999999999996},
         .entropy = {1.3566749439387324, 0.5945348918918356, 2.6094379124341005},
         .cdf = {0.24421625854427453, 0.7407597393541085, 0.34295318018494325},
         .icdf = {0.15051502236832331, 0.46209812037329684, 14.978661367769948}});
  check("Laplace", Laplace(a, s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.47932937947835574, -2.49861228866811, 0.41629073187415455},
         .mean = {0.5, -1.2, 2.0},
         .variance = {0.9799999999999999, 4.5, 0.08000000000000002},
         .entropy = {1.336472236621213, 2.09861228866811, 0.083709268125845},
         .cdf = {0.4334389498750908, 0.8767015180291968, 0.6967346701436834},
         .icdf = {-0.6266065387038702, -1.2, 2.460517018598809}});
  check("Cauchy", Cauchy(a, s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.8082576492281872, -2.6353842622935337, 0.24156447527049},
         .mean = {NAN, NAN, NAN},
         .variance = {INFINITY, INFINITY, INFINITY},
         .entropy = {2.1743493030305583, 2.9364893550774553, 0.9215863345351905},
         .cdf = {0.4548327646991335, 0.8025684567112534, 0.6475836176504334},
         .icdf = {-1.6543784760226767, -1.2, 3.2627503029350065}});
  check("Gumbel", Gumbel(a, s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.6540329080992324, -2.052062072049771, 0.5029072527214666},
         .mean = {0.904050965431073, -0.3341765026477006, 2.1154431329803067},
         .variance = {0.8060176927556308, 3.7011016504085092, 0.06579736267392905},
         .entropy = {1.2205407209628003, 1.9826807730096971, -0.03222224753256753},
         .cdf = {0.3155099706219133, 0.7814555848495637, 0.5452392118926053},
         .icdf = {-0.08382271167356925, -0.6502306191275039, 2.594039049808432}});
  check("Gamma", Gamma(b, c), {0.4, 0.9, 2.1},
        {.log_prob = {-3.1761830276991287, -2.994016592839844, -1.8553407533277044},
         .mean = {4.166666666666667, 0.13333333333333333, 1.1818181818181817},
         .variance = {6.944444444444445, 0.044444444444444446, 1.0743801652892562},
         .entropy = {2.240773533271045, -1.438765197717395, 1.1472722773478545},
         .cdf = {0.007162682386705814, 0.9858014069488739, 0.8428631648924549},
         .icdf = {}});
  check("Beta", Beta(b, c), {0.3, 0.6, 0.9},
        {.log_prob = {-1.558830874181703, -1.923583027947703, 0.11303990921978943},
         .mean = {0.8064516129032258, 0.11764705882352942, 0.5416666666666666},
         .variance = {0.03807009974366132, 0.023592324630386918, 0.07301879084967318},
         .entropy = {-0.7177619118995102, -1.4875074875748449, -0.020613344635154837},
         .cdf = {},
         .icdf = {}});
  check("StudentT", StudentT(b, a, s), {0.4, 0.9, 2.1},
        {.log_prob = {-0.6741923701674055, -3.025347906633077, 0.3087581742514908},
         .mean = {0.5, NAN, 2.0},
         .variance = {2.4499999999999997, NAN, INFINITY},
         .entropy = {1.4910851266371892, 4.631192701020882, 0.6573937596513646},
         .cdf = {},
         .icdf = {}});
  check("Bernoulli", Bernoulli(p), {0.0, 1.0, 1.0},
        {.log_prob = {-0.35667494393873234, -0.5108256237659907, -0.10536051565782628},
         .mean = {0.3, 0.6, 0.9},
         .variance = {0.21, 0.24, 0.08999999999999998},
         .entropy = {0.6108643020548935, 0.6730116670092564, 0.3250829733914482},
         .cdf = {},
         .icdf = {}});
  check("Bernoulli of logits", Bernoulli(Logits{a}), {0.0, 1.0, 1.0},
        {.log_prob = {-0.9740769841801067, -1.4632824673380311, -0.1269280110429725},
         .mean = {0.6224593312018546, 0.23147521650098238, 0.8807970779778823},
         .variance = {0.2350037122015945, 0.1778944406468057, 0.10499358540350662},
         .entropy = {0.6628473185791794, 0.54105272713921, 0.36533385508720784},
         .cdf = {},
         .icdf = {}});
  check("Geometric", Geometric(p), {0.0, 2.0, 5.0},
        {.log_prob = {-1.2039728043259361, -2.3434070875143007, -11.618285980628057},
         .mean = {2.3333333333333335, 0.6666666666666667, 0.11111111111111116},
         .variance = {7.777777777777779, 1.1111111111111114, 0.12345679012345684},
         .entropy = {2.0362143401829784, 1.121686111682094, 0.36120330376827575},
         .cdf = {},
         .icdf = {}});
  check("Poisson", Poisson(b), {0.0, 2.0, 5.0},
        {.log_prob = {-2.5, -2.9257286443082555, -4.775670420444591},
         .mean = {2.5, 0.4, 1.3},
         .variance = {2.5, 0.4, 1.3},
         .entropy = {},
         .cdf = {},
         .icdf = {}});
  check("Binomial", Binomial(7, p), {0.0, 2.0, 5.0},
        {.log_prob = {-2.4967246075711262, -2.558582469179333, -2.0874503265537987},
         .mean = {2.1, 4.2, 6.3},
         .variance = {1.47, 1.6800000000000002, 0.6299999999999999},
         .entropy = {1.59269725532191, 1.6720354911697493, 1.0829108591909926},
         .cdf = {},
         .icdf = {}});
}

TEST("divergences are PyTorch's") {
  expect_close(kl_divergence(Normal(a, s), Normal(b, c)),
               {5.5819604312838536, 0.46036940278216754, 1.4237563567012352});
  expect_close(kl_divergence(LogNormal(a, s), LogNormal(b, c)),
               {5.5819604312838536, 0.46036940278216754, 1.4237563567012352});
  expect_close(kl_divergence(Exponential(s), Exponential(c)),
               {0.01129353697011548, 0.3068528194400546, 2.7952519077615747});
  expect_close(kl_divergence(Laplace(a, s), Laplace(b, c)),
               {2.2461873759849618, 0.39855740732598477, 1.3466021619515738});
  expect_close(kl_divergence(Uniform(0.0, s), Uniform(-0.5, c)), {INFINITY, 0.8472978603872037, 2.0794415416798357});
  expect_close(kl_divergence(Uniform(0.0, s), Normal(a, c)), {0.8527508163403773, 1.8337523804312845, 4.1167995731015});
  expect_close(kl_divergence(Gamma(b, c), Gamma(c, s)), {1.773724863592589, 8.435510720459298, 0.8360507283005649});
  expect_close(kl_divergence(Beta(b, c), Beta(c, s)), {0.6310462066891958, 6.941432372196262, 0.8238638530813599});
  expect_close(kl_divergence(Bernoulli(p), Bernoulli(q)),
               {0.1536635868037986, 0.02013551355068885, 0.020654218912746262});
  expect_close(kl_divergence(Geometric(p), Geometric(q)),
               {0.5122119560126617, 0.0335591892511482, 0.02294913212527394});
  expect_close(kl_divergence(Poisson(b), Poisson(c)), {1.6677908891003645, 1.7940387917830942, 0.017170310062116});
  expect_close(kl_divergence(Categorical(m), Categorical(n)), {0.09458187197756504, 1.3745160575542523});
  expect_close(kl_divergence(OneHotCategorical(m), OneHotCategorical(n)), {0.09458187197756504, 1.3745160575542523});
  expect_close(kl_divergence(Dirichlet(m), Dirichlet(n)), {0.4363972521570739, 5.710381984346721});
  expect_close(
      kl_divergence(MultivariateNormal::from_scale_tril(mu, lower), MultivariateNormal::from_scale_tril(mu2, lower2)),
      {0.7625040359569992});
  expect_close(kl_divergence(Independent(Normal(a, s), 1), Independent(Normal(b, c), 1)), {7.466086190767257});
  expect_error([] { kl_divergence(Normal(a, s), Laplace(a, s)); },
               "distributions::kl_divergence: there is no formula for Normal and Laplace; the mean of p.log_prob(x) - "
               "q.log_prob(x) over samples x of p is an estimate");
}

TEST("classes and vectors have PyTorch's densities and moments") {
  const Categorical classes(m);
  expect_close(classes.log_prob(tensor({1, 2})), {-0.6931471805599453, -0.2231435513142097});
  expect_close(classes.log_prob(tensor({2})), {std::log(0.3), std::log(0.8)});
  expect_close(classes.entropy(), {1.0296530140645737, 0.639031859650177});
  expect_close(Categorical(Logits{log(m)}).entropy(), {1.0296530140645737, 0.639031859650177});
  expect_close(OneHotCategorical(m).log_prob(nn::one_hot(tensor({1, 2}), 3)),
               {-0.6931471805599453, -0.2231435513142097});
  const Dirichlet dirichlet(mul(m, 4));
  expect_close(dirichlet.log_prob(n), {0.6701537128453893, -4.723809141062166});
  expect_close(dirichlet.variance(), {0.032, 0.05, 0.042, 0.018, 0.018, 0.032});
  expect_close(dirichlet.entropy(), {-1.0269342815209899, -3.327988352570435});
  const MultivariateNormal normal = MultivariateNormal::from_scale_tril(mu, lower);
  const Tensor z = row({0.1, 0.2, 1.0, -1.0, 0, 0}).reshape({3, 2});
  expect_close(normal.log_prob(z), {-2.0175460150951356, -2.5648116400951357, -1.8960616400951356});
  expect_close(normal.variance(), {1.0, 0.89});
  expect_close(normal.entropy(), {2.6147335150951356});
  expect_close(MultivariateNormal(mu, normal.covariance_matrix()).log_prob(z),
               {-2.0175460150951356, -2.5648116400951357, -1.8960616400951356});
  const MixtureSameFamily mixture(Categorical(m(0)), Normal(a, s));
  expect_close(mixture.log_prob(row({0.4, 0.9, 2.1})), {-1.6707074632815329, -1.9192087370913753, -0.6009586230023809});
  expect_close(mixture.mean(), {0.1});
  expect_close(mixture.variance(), {3.195});
  const MixtureSameFamily pairs(Categorical(m(0, Slice({}, 2))),
                                Independent(Normal(z(Slice({}, 2)), row({0.5, 0.6, 0.7, 0.8}).reshape({2, 2})), 1));
  expect_close(pairs.log_prob(z), {-1.7125003301327362, -1.57473040422786, -1.74843352322454});
  expect_close(pairs.mean(), {0.7428571428571429, -0.6571428571428571});
  expect_close(pairs.variance(), {0.5867346938775511, 0.8538775510204083});
}

TEST("draws have the moments of their distributions") {
  check_draws(Normal(a, s));
  check_draws(LogNormal(a, mul(s, 0.3)));
  check_draws(HalfNormal(s));
  check_draws(Uniform(a, add(a, s)));
  check_draws(Exponential(s));
  check_draws(Laplace(a, s));
  check_draws(Gumbel(a, s));
  check_draws(Gamma(b, c));
  check_draws(Beta(b, c));
  check_draws(StudentT(add(b, 9), a, s));
  check_draws(Bernoulli(p));
  check_draws(Geometric(p));
  check_draws(Poisson(b));
  check_draws(Binomial(7, p));
  check_draws(Binomial(1000, p));
  check_draws(OneHotCategorical(m));
  check_draws(Dirichlet(mul(m, 4)));
  check_draws(MultivariateNormal::from_scale_tril(mu, lower));
  check_draws(Independent(Normal(a, s), 1));
  check_draws(MixtureSameFamily(Categorical(m(0)), Normal(a, s)));
  check_draws(Normal(a.to(Dtype::f32), s.to(Dtype::f32)));
  const Tensor drawn = Categorical(m).sample({40000}, Generator(3));
  expect_equal(drawn.dtype(), Dtype::i64);
  expect_near(mean(eq(drawn, 2).to(Dtype::f64), 0).to_vector<double>(), {0.3, 0.8}, 0.02);
  // Half of Cauchy's numbers are within the scale of its location.
  const Tensor cauchy = Cauchy(0.0, 2.0).sample({40000}, Generator(4));
  expect_near(mean(lt(abs(cauchy), 2.0).to(Dtype::f64)).item<double>(), 0.5, 0.02);
}

TEST("samples have the shapes of PyTorch, and a seed gives them again") {
  expect_equal(Normal(zeros({2, 1}), ones({3})).sample({5}).shape(), Shape({5, 2, 3}));
  expect_equal(Normal(0.0, 1.0).sample().shape(), Shape());
  expect_equal(Categorical(m).sample({4, 5}).shape(), Shape({4, 5, 2}));
  expect_equal(Dirichlet(m).sample({4}).shape(), Shape({4, 2, 3}));
  expect_equal(Independent(Normal(zeros({2, 3}), 1.0), 1).log_prob(zeros({2, 3})).shape(), Shape({2}));
  expect_equal(Categorical(m).sample({0}).shape(), Shape({0, 2}));
  expect_equal(Gamma(b, c).sample({0}).shape(), Shape({0, 3}));
  manual_seed(5);
  const Tensor first = Gamma(b, c).sample({7});
  manual_seed(5);
  expect_equal(equal(Gamma(b, c).sample({7}), first), true);
  const Generator g(5);
  expect_equal(equal(Gamma(b, c).sample({7}, g), first), true);
}

TEST("draws and densities have gradients to the parameters") {
  const Tensor loc = row({0.5, -1.2}).requires_grad_(), scale = row({0.7, 1.5}).requires_grad_();
  const Normal normal(loc, scale);
  const Tensor drawn = normal.rsample({}, Generator(1));
  drawn.sum().backward();
  expect_near(loc.grad().to_vector<double>(), {1, 1});
  expect_near(scale.grad().to_vector<double>(),
              div(sub(drawn.detach(), loc.detach()), scale.detach()).to_vector<double>(), 1e-12);
  const Tensor logits = zeros({3}, {.dtype = Dtype::f64, .requires_grad = true});
  Categorical(Logits{logits}).log_prob(tensor(1)).backward();
  expect_near(logits.grad().to_vector<double>(), {-1.0 / 3, 2.0 / 3, -1.0 / 3}, 1e-12);
  const Tensor rate = row({0.4}).requires_grad_();
  kl_divergence(Exponential(rate), Exponential(1.0)).sum().backward();
  expect_near(rate.grad().to_vector<double>(), {1 / 0.4 - 1 / 0.16}, 1e-9);
  expect_error(
      [&] { Bernoulli(p).rsample(); },
      "distributions::Bernoulli has no rsample(): its draws have no gradients; use sample(), and log_prob() for an "
      "estimate of the gradient");
}

TEST("a jitted function draws and scores as the eager one") {
  const auto score = [](const Tensor& loc, const Tensor& x) {
    const Normal normal(loc, 0.5);
    return add(normal.log_prob(x), normal.rsample());
  };
  const auto compiled = jit(score);
  manual_seed(3);
  const Tensor eager = score(a, p);
  manual_seed(3);
  expect_equal(equal(compiled(a, p), eager), true);
}

TEST("parameters out of range are refused with the distribution and the parameter") {
  expect_error([] { Normal(0.0, 0.0); }, "distributions::Normal: scale must be above 0");
  expect_error([] { Normal(NAN, 1.0); }, "distributions::Normal: loc must be a number");
  expect_error([] { Normal(Tensor(), 1.0); }, "distributions::Normal: loc is an undefined tensor");
  expect_error([] { Bernoulli(1.5); }, "distributions::Bernoulli: probs must be from 0 to 1");
  expect_error([] { Poisson(-1.0); }, "distributions::Poisson: rate must be at least 0");
  expect_error([] { Uniform(1.0, 1.0); }, "distributions::Uniform: low must be below high");
  expect_error([] { Binomial(-1, 0.5); }, "distributions::Binomial: total_count must be at least 0, not -1");
  expect_error(
      [] {
        Categorical(tensor({0.5, -0.1}));
      },
      "distributions::Categorical: probs must be finite, at least 0, and not all 0");
  expect_error([] { Categorical(zeros({3})); }, "distributions::Categorical: probs must be finite");
  expect_error([] { Categorical(tensor(0.5)); },
               "distributions::Categorical: probs must be a floating tensor of at least one dimension");
  expect_error([] { Categorical(m).log_prob(tensor({0.5})); },
               "distributions::Categorical: log_prob() takes integers, the indices of classes");
  expect_error([] { Dirichlet(tensor({1.0, 0.0})); }, "distributions::Dirichlet: concentration must be above 0");
  expect_error(
      [] {
        MultivariateNormal(mu, ones({3, 3}, {.dtype = Dtype::f64}));
      },
      "distributions::MultivariateNormal: loc is floating [..., n] and covariance_matrix [..., n, n] of its "
      "dtype, not cpu f64[2] and cpu f64[3, 3]");
  expect_error([] { Independent(Normal(a, s), 2); },
               "distributions::Independent: 2 dimensions of a batch of shape [3]");
  expect_error([] { MixtureSameFamily(Categorical(m(0)), Normal(mu, 1.0)); },
               "distributions::MixtureSameFamily: 3 classes for components of the batch shape [2]");
}

TEST("gamma numbers move with their shape as the same probability does") {
  const Tensor shape = row({0.3, 1.5, 20.0}).requires_grad_();
  const Tensor drawn = Gamma(shape, 2.0).rsample({}, Generator(3));
  drawn.sum().backward();
  const Tensor moved = add(shape.detach(), 1e-6);
  // P(shape + h, z + h dz/dshape) = P(shape, z)
  const Tensor before = Gamma(shape.detach(), 2.0).cdf(drawn.detach());
  const Tensor after = Gamma(moved, 2.0).cdf(add(drawn.detach(), shape.grad(), 1e-6));
  expect(sub(after, before).abs().max().item<double>() < 1e-10, "the probability stays");
  const Tensor weights = row({0.7, 2.0, 0.4}).requires_grad_();
  Dirichlet(weights).rsample({}, Generator(4))(0).backward();
  expect(weights.grad().defined() && !isnan(weights.grad()).any().item<bool>());
  // The mean of draws has the derivative of the mean.
  const Tensor a1 = row({2.0}).requires_grad_();
  Beta(a1, 3.0).rsample({20000}, Generator(5)).mean().backward();
  expect_near(a1.grad().item<double>(), 3.0 / 25, 0.01);
}
