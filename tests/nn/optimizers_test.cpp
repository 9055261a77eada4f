#include <cmath>
#include <memory>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor start(Dtype dtype = Dtype::f64) {
  return linspace(-1, 1.5, 6, {.dtype = Dtype::f64}).reshape({2, 3}).to(dtype).requires_grad_();
}
Tensor loss_of(const Tensor& x) {
  const Tensor a = tensor({{0.5, -1.0, 2.0}, {0.0, 1.0, -2.0}}, {.dtype = x.dtype()});
  const Tensor w = tensor({{1.0, 2.0, 0.5}, {3.0, 0.1, 1.0}}, {.dtype = x.dtype()});
  const Tensor d = x - a;
  return sum(cos(x * 3) * 0.3 + d * d * w);
}
void steps(optim::Optimizer& optimizer, const Tensor& x, int count) {
  for (int i = 0; i < count; ++i) {
    optimizer.zero_grad();
    loss_of(x).backward();
    optimizer.step();
  }
}
std::vector<double> values(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }

/// 200 steps in f64 give PyTorch's values; so do steps with a save in the middle, steps of a jitted function, and f32
/// ones nearly.
template <class Make>
void compare(const Make& make, const std::vector<double>& expected, SourceLocation at = SourceLocation::here()) {
  const Tensor x = start();
  auto first = make(x);
  steps(*first, x, 120);
  auto second = make(x);
  second->load_state_dict(first->state_dict());
  steps(*second, x, 80);
  expect_near(values(x), expected, 1e-9, at);

  const Tensor y = start();
  auto jitted = make(y);
  const auto step = jit([&] {
    jitted->zero_grad();
    loss_of(y).backward();
    jitted->step();
  });
  for (int i = 0; i < 200; ++i) step();
  expect_near(values(y), expected, 1e-9, at);
  expect(cache_misses(step) <= 3, "the step is compiled again", at);

  const Tensor z = start(Dtype::f32);
  auto single = make(z);
  steps(*single, z, 200);
  expect_near(values(z), expected, 1e-2, at);  // as far as PyTorch's f32 is from its f64
}

using Parameters = std::vector<Tensor>;

}  // namespace

TEST("optimizers step as PyTorch's do") {
  // By a run of PyTorch 2.15
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::RMSprop>(Parameters{x}, optim::RMSpropOptions{.lr = 0.01});
      },
      {0.801501706694, -1.01900637037, 1.32772736634, 1.80716159773e-15, 1.0439424995, -1.10830335187});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::RMSprop>(
            Parameters{x},
            optim::RMSpropOptions{.lr = 0.01, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.5, .centered = true});
      },
      {0.781888013184, -1.01064804802, 1.28430143681, -0.0015363938647, 1.007784415, -1.48841740577});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::Adagrad>(
            Parameters{x},
            optim::AdagradOptions{.lr = 0.1, .lr_decay = 0.01, .weight_decay = 0.1, .initial_accumulator_value = 0.1});
      },
      {0.419010587978, -1.00398552423, 1.23427410715, 1.85811627326e-05, 1.00906968417, -0.0288065023127});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::Adadelta>(Parameters{x},
                                                 optim::AdadeltaOptions{.lr = 1, .rho = 0.8, .weight_decay = 0.01});
      },
      {-0.277253238716, -1.01740842897, 0.966484779271, 0.00107459846981, 1.04427473803, 0.641722043219});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::Adamax>(
            Parameters{x}, optim::AdamaxOptions{.lr = 0.01, .betas = {0.8, 0.99}, .weight_decay = 0.1});
      },
      {0.729690888001, -1.00398629784, 1.28199686641, 5.33701030331e-07, 1.00906968417, -0.529618684394});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::NAdam>(Parameters{x}, optim::NAdamOptions{.lr = 0.01, .weight_decay = 0.1});
      },
      {0.366001887494, -1.0039864899, 1.24469241728, -1.7412347698e-05, 1.00897686974, -0.062299489956});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::NAdam>(
            Parameters{x},
            optim::NAdamOptions{
                .lr = 0.01, .weight_decay = 0.1, .momentum_decay = 0.01, .decoupled_weight_decay = true});
      },
      {0.453844911002, -1.00270455175, 1.21545697332, -2.12294033058e-05, 1.0434349766, -0.189781882435});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::RAdam>(Parameters{x}, optim::RAdamOptions{.lr = 0.01, .weight_decay = 0.1});
      },
      {-0.527061272516, -0.922219322149, 0.517495080407, 0.119501850886, 1.00907017833, 0.744047528985});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::RAdam>(
            Parameters{x}, optim::RAdamOptions{.lr = 0.01, .betas = {0.9, 0.9}, .decoupled_weight_decay = true});
      },
      {0.834193282011, -1.01911346983, 1.32238975351, 0.000170100007093, 1.04354310759, -0.737791762953});
  compare(
      [](const Tensor& x) { return std::make_unique<optim::Rprop>(Parameters{x}, optim::RpropOptions{.lr = 0.01}); },
      {0.801981834664, -1.01900617547, 1.32813539866, -3.96986801915e-07, 1.04394307027, -1.55080886188});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::ASGD>(
            Parameters{x}, optim::ASGDOptions{.lr = 0.01, .lambd = 0.01, .t0 = 50, .weight_decay = 0.1});
      },
      {0.760004918543, -1.00250643189, 1.27815363349, 0.000448008882438, 1.00568191807, -1.4781131231});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::Adam>(Parameters{x},
                                             optim::AdamOptions{.lr = 0.01, .weight_decay = 0.1, .amsgrad = true});
      },
      {0.455575199593, -1.00401484959, 1.25968932909, 3.8632302047e-05, 1.00906963884, -0.123631717181});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::AdamW>(Parameters{x},
                                              optim::AdamWOptions{.lr = 0.01, .weight_decay = 0.1, .amsgrad = true});
      },
      {0.530967293937, -1.00352441702, 1.23033620705, 3.02034613038e-05, 1.0433463327, -0.244709564914});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::SGD>(Parameters{x},
                                            optim::SGDOptions{.lr = 0.001, .momentum = 0.5, .maximize = true});
      },
      {-2.90745973162, 1.56761998195, -0.672627052923, 4.6008106426, 0.907684072247, 5.73045236431});
}

TEST("Rprop and ASGD begin with the rate that a schedule has set") {
  const auto compare_warm = [](optim::Optimizer& optimizer, const Tensor& x, const std::vector<double>& expected) {
    optim::LinearLR schedule(optimizer, {.start_factor = 0.1, .total_iters = 10});
    for (int i = 0; i < 30; ++i) {
      steps(optimizer, x, 1);
      schedule.step();
    }
    expect_near(values(x), expected, 1e-8);  // PyTorch keeps ASGD's rate in f32
  };
  const Tensor x = start(), y = start();
  optim::Rprop rprop(Parameters{x}, {.lr = 0.05});
  compare_warm(rprop, x,
               {0.838207356329, -1.01708064708, 1.29074642941, -0.00105349288728, 1.04394916992, -1.27964876934});
  optim::ASGD asgd(Parameters{y}, {.lr = 0.05, .lambd = 0.01, .t0 = 10});
  compare_warm(asgd, y,
               {0.425507776597, -1.01744571183, 1.29566849769, 0.00580086558974, 1.03940055744, -1.47688675153});
}

TEST("Lion steps by signs") {
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::Lion>(Parameters{x}, optim::LionOptions{.lr = 0.01, .weight_decay = 0.1});
      },
      {0.9948628757350085, -1.0235989707037865, 1.8135117052136434, -0.004674813157121455, 1.0512483585374448,
       -0.5855384609956915});
}

TEST("Muon makes the step of a matrix orthogonal") {
  const Tensor x = start();
  optim::Muon optimizer(Parameters{x}, {.lr = 0.01});
  steps(optimizer, x, 20);
  expect_near(values(x),
              {-0.8538836559943536, -0.6518177994479363, -0.011836702662639987, 0.4858571824571066, 0.9378135232635915,
               1.3184091512865692},
              2e-3);
  const Tensor y = start(Dtype::f32);
  optim::Muon scaled(Parameters{y}, {.lr = 0.01, .adjust_lr_fn = "match_rms_adamw"});
  steps(scaled, y, 20);
  expect_near(values(y), {-0.9371509552, -0.5448503494, -0.0037346072, 0.4884111583, 0.9658641219, 1.4177418947}, 2e-3);
  expect_error([] { optim::Muon(Parameters{zeros({3}).requires_grad_()}); },
               "parameters have 2 dimensions, not cpu f32[3]");
}

TEST("LBFGS steps as PyTorch's does") {
  const auto run = [](const optim::LBFGSOptions& options, int count) {
    const Tensor x = start();
    optim::LBFGS optimizer(Parameters{x}, options);
    const auto closure = [&] {
      optimizer.zero_grad();
      Tensor loss = loss_of(x);
      loss.backward();
      return loss;
    };
    for (int i = 0; i < count; ++i) {
      const double before = loss_of(x).item<double>();
      expect_near(optimizer.step(closure).item<double>(), before);
    }
    return values(x);
  };
  const optim::LBFGSOptions fixed{.lr = 0.5, .max_iter = 4}, searched{.max_iter = 4, .line_search_fn = "strong_wolfe"};
  expect_near(run(fixed, 1),
              {-0.179957298869122, -0.9386176448178456, 1.6422241750837097, 0.11183744693955158, 1.0407552862000873,
               -1.665536312979256},
              1e-9);
  expect_near(run(fixed, 3),
              {0.7976879807124821, -1.0235217313296756, 1.3249204655939801, -0.006909201470829513, 1.0442045079655957,
               -1.555587360385631},
              1e-9);
  expect_near(run(searched, 1),
              {0.41714666777999754, -1.0058694325287987, 1.7792102321818717, 0.041973141232829136, 1.0425089836166062,
               -2.3822958451346166},
              1e-9);
  expect_near(run(searched, 2),
              {0.777017028954358, -1.0112706694587157, 1.2489069561352155, -0.009572385621705322, 1.0442528973422085,
               -1.8541598467158027},
              1e-9);
  expect_near(run(searched, 5),
              {0.8019803785647229, -1.0190062547586412, 1.3281358015149942, 9.493402003350851e-07, 1.0439425116076468,
               -1.5508090352737207},
              1e-8);
}

TEST("LBFGS continues from its state") {
  const Tensor x = start(), y = start();
  const auto closure_of = [](optim::Optimizer& optimizer, const Tensor& x) {
    return [&optimizer, x] {
      optimizer.zero_grad();
      Tensor loss = loss_of(x);
      loss.backward();
      return loss;
    };
  };
  optim::LBFGS first(Parameters{x}, {.max_iter = 4}), whole(Parameters{y}, {.max_iter = 4});
  for (int i = 0; i < 3; ++i) whole.step(closure_of(whole, y));
  first.step(closure_of(first, x));
  optim::LBFGS second(Parameters{x}, {.max_iter = 4});
  second.load_state_dict(first.state_dict());
  for (int i = 0; i < 2; ++i) second.step(closure_of(second, x));
  expect_equal(values(x), values(y));
  x.set_grad(ones({2, 3}, {.dtype = Dtype::f64}));
  expect_error([&] { static_cast<optim::Optimizer&>(second).step(); }, "optimizer.step(closure)");
}

TEST("settings of optimizers that make no sense are refused") {
  const Parameters x{zeros({2, 2}).requires_grad_()};
  expect_error([&] { optim::RMSprop(x, {.lr = -1}); }, "RMSprop: invalid learning rate lr: -1");
  expect_error([&] { optim::NAdam(x, {.betas = {0.9, 1}}); }, "NAdam: invalid beta parameter at index 1: 1");
  expect_error([&] { optim::Rprop(x, {.etas = {0.5, 1}}); }, "Rprop: invalid eta at index 1: 1.0; it must be above 1");
  expect_error([&] { optim::Adadelta(x, {.rho = 1}); }, "Adadelta: invalid rho value");
  expect_error([&] { optim::Muon(x, {.adjust_lr_fn = "none"}); }, "adjust_lr_fn must be");
  expect_error([&] { optim::LBFGS(x, {.line_search_fn = "armijo"}); }, "line_search_fn must be");
}

TEST("gradients are limited element by element") {
  const Tensor x = zeros({3}).requires_grad_();
  x.set_grad(tensor({-3.0, 0.5, 2.0}));
  optim::clip_grad_value_({x}, 1);
  expect_near(x.grad().to_vector<float>(), {-1, 0.5, 1});
}

TEST("Adafactor steps as PyTorch's does") {
  // By a run of PyTorch 2.15
  compare([](const Tensor& x) { return std::make_unique<optim::Adafactor>(Parameters{x}); },
          {0.801531176541, -1.01900637037, 1.11443595598, 0.00610109177234, 1.04394238155, 0.111685261684});
  compare(
      [](const Tensor& x) {
        return std::make_unique<optim::Adafactor>(
            Parameters{x},
            optim::AdafactorOptions{.lr = 0.05, .beta2_decay = -0.6, .eps = {1e-6, 1e-2}, .d = 2, .weight_decay = 0.1});
      },
      {0.827303402828, -0.988045944009, 1.32379221706, -6.29898219849e-60, 1.04120389708, -1.5477912471});
  const Tensor x = linspace(-1, 1.5, 6, {.dtype = Dtype::f64}).requires_grad_();
  optim::Adafactor optimizer({x});
  for (int i = 0; i < 50; ++i) {
    optimizer.zero_grad();
    loss_of(x.reshape({2, 3})).backward();
    optimizer.step();
  }
  expect_near(values(x), {-0.635130934943, -0.85105379895, 0.427226650837, 0.171181128489, 1.0439424995, 1.10130140645},
              1e-9);
  const Tensor matrix = zeros({4, 7}).requires_grad_();
  const auto state = optim::Adafactor({matrix}).state_dict();
  expect_equal(state.at("0.row_var").shape(), Shape{4, 1});
  expect_equal(state.at("0.col_var").shape(), Shape{1, 7});
  expect_error([&] { optim::Adafactor({matrix}, {.beta2_decay = 0.5}); },
               "Adafactor: invalid beta2_decay: 0.5; it must be at most 0");
  expect_error([&] { optim::Adafactor({matrix}, {.d = 0.5}); },
               "Adafactor: invalid clipping threshold d: 0.5; it must be at least 1");
  expect_error(
      [&] {
        optim::Adafactor({matrix}, {.eps = {-1.0, 1e-3}});
      },
      "Adafactor: invalid epsilon value eps.first: -1.0; it must be a finite number of at least 0");
}

TEST("a group that is added later trains with its own options") {
  const Tensor body = ones({2}).requires_grad_(), head = ones({2}).requires_grad_();
  optim::SGD sgd({head}, {.lr = 0.5});
  optim::AdamW adamw({head}, {.lr = 0.5, .weight_decay = 0});
  optim::RMSprop rmsprop({head});
  sgd.add_param_group({.parameters = {body}, .options = {.lr = 0.25}});
  adamw.add_param_group({{body}, {.lr = 0.125, .weight_decay = 0}});
  rmsprop.add_param_group({{body}, {.lr = 0.1}});
  expect_equal(sgd.group_count(), 2u);
  expect_equal(adamw.learning_rate(1), 0.125);
  expect_equal(rmsprop.parameters().size(), 2u);
  expect(sgd.parameters_of_group(1)[0].is_same(body));
  ((head + body) * 2).sum().backward();
  sgd.step();
  expect_equal(values(head), std::vector<double>{0, 0});
  expect_equal(values(body), std::vector<double>{0.5, 0.5});
  adamw.step();
  expect_near(values(body), {0.375, 0.375}, 1e-6);
  expect_error([&] { sgd.add_param_group({{body}, {}}); }, "the parameter cpu f32[2] was given to the optimizer twice");
  expect_error(
      [&] {
        sgd.add_param_group({{}, {.lr = -1}});
      },
      "SGD: invalid learning rate lr: -1.0; it must be a finite number of at least 0");
}
