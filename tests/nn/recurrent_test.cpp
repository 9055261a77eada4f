#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// Expected values are PyTorch 2.15's.

TEST("an LSTM of two layers and directions") {
  nn::LSTM lstm(2, 3, {.num_layers = 2, .batch_first = true, .bidirectional = true, .dtype = Dtype::f64});
  expect_equal(names_of(lstm), std::vector<std::string>{
                                   "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                                   "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                                   "weight_hh_l1", "bias_ih_l1", "bias_hh_l1", "weight_ih_l1_reverse",
                                   "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse"});
  fill(lstm);
  const auto [y, state] = lstm(wave({2, 3, 2}));
  const auto [h, c] = state;
  sum(y).backward();
  expect_near(values(y(Slice(), 1)),
              {0.218030806, 0.006154244336, -0.08485103746, -0.1475080392, 0.04605732393, 0.3424795229, 0.2321729492,
               -0.0002041132622, -0.0823990913, -0.1407917029, 0.04845831001, 0.3415437348},
              1e-9);
  expect_near(values(h(3)), {-0.1505045599, 0.03116788271, 0.3909664551, -0.1796113198, 0.0646794634, 0.3979193714},
              1e-9);
  expect_near(values(c(2)), {0.7577729882, 0.01100831431, -0.3491466193, 0.7027373645, 0.03462078785, -0.3444021043},
              1e-9);
  expect_near(values(lstm.weights[5].second.grad()(0)), {-0.003804811472, -0.003839655199, -0.00430683552}, 1e-9);
  const auto f = jit(std::ref(lstm), {.fullgraph = true});
  expect_near(values(std::get<0>(f(wave({2, 3, 2})))), values(y), 1e-12);
}

TEST("an LSTM with a projection, without a batch, from a state") {
  nn::LSTM lstm(2, 3, {.bias = false, .proj_size = 2, .dtype = Dtype::f64});
  fill(lstm);
  const auto [y, state] = lstm(wave({3, 2}), {wave({1, 2}), wave({1, 3})});
  expect_near(values(y), {-0.03503391941, -0.07756391732, 0.02093154285, 0.0282348616, 0.02599012243, -0.007379856496},
              1e-9);
  expect_near(values(std::get<1>(state)), {0.1746627899, -0.1063851635, 0.001607146599}, 1e-9);
  expect_equal(y.shape(), Shape({3, 2}));
}

TEST("a GRU and plain recurrent layers") {
  nn::GRU gru(2, 3, {.num_layers = 2, .dtype = Dtype::f64});
  fill(gru);
  const auto [y, h] = gru(wave({3, 2, 2}), wave({2, 2, 3}));
  expect_near(values(y(2)), {-0.7563139682, -0.6572819132, -0.07512111483, -0.6102020961, -0.2624076665, -0.118341711},
              1e-9);
  expect_near(values(h(0)), {0.45968831, 0.386433016, 0.6478015375, 0.7384795849, -0.08987642179, 0.311738344}, 1e-9);
  nn::RNN relus(2, 3, {.nonlinearity = "relu", .dtype = Dtype::f64});
  fill(relus);
  expect_near(values(std::get<0>(relus(wave({3, 1, 2})))),
              {0.7327169317, 0.2268192406, 0, 1.224000437, 0.7527355168, 0, 1.300429426, 0, 0}, 1e-9);
  nn::RNN both(2, 3, {.bidirectional = true, .dtype = Dtype::f64});
  fill(both);
  expect_near(values(std::get<0>(both(wave({3, 1, 2})))(1)),
              {0.7482845449, 0.7826357692, -0.7629870159, -0.6839870867, 0.6930617426, 0.8086698541}, 1e-9);
}

TEST("cells take one step") {
  nn::LSTMCell lstm(2, 3, {.dtype = Dtype::f64});
  fill(lstm);
  const auto [h, c] = lstm(wave({1, 2}));
  expect_near(values(cat({h, c})),
              {0.1899620116, 0.1399588022, 0.06014493509, 0.2894181077, 0.2594790905, 0.1880463335}, 1e-9);
  nn::GRUCell gru(2, 3, {.dtype = Dtype::f64});
  fill(gru);
  expect_near(values(gru(wave({1, 2}), wave({1, 3}))), {0.4497069833, 0.07156887177, 0.7117594848}, 1e-9);
  nn::RNNCell plain(2, 3, {.dtype = Dtype::f64});
  fill(plain);
  expect_near(values(plain(wave({1, 2}))), {0.6247247269, 0.2230079327, -0.614775189}, 1e-9);
}

TEST("recurrent layers drop out between layers while training") {
  manual_seed(1);
  nn::GRU gru(2, 8, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = ones({3, 1, 2});
  const auto run = [&] { return values(std::get<0>(gru(x))); };
  expect_different(run(), run());
  nn::eval(gru);
  expect_equal(run(), run());
}

TEST("recurrent layers refuse what does not fit") {
  const nn::LSTM lstm(2, 3);
  expect_error([&] { lstm(ones({4, 5})); }, "LSTM: the input's last size must be input_size = 2, not cpu f32[4, 5]");
  expect_error([&] { lstm(ones({4})); }, "LSTM: the input has 2 or 3 dimensions");
  expect_error([&] { lstm(ones({0, 1, 2})); }, "the sequence has no steps");
  expect_error(
      [&] {
        lstm(ones({4, 1, 2}), {ones({1, 2, 3}), ones({1, 1, 3})});
      },
      "the hidden state must have shape [1, 1, 3], not cpu f32[1, 2, 3]");
  expect_error([] { nn::RNN(2, 3, {.nonlinearity = "gelu"}); }, "nonlinearity must be");
  expect_error([] { nn::GRU(2, 0); }, "must be positive");
}
