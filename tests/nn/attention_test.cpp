#include <cmath>
#include <limits>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// Expected values are PyTorch 2.15's.

TEST("attention of several heads and its weights") {
  nn::MultiheadAttention attention(4, 2, {.dtype = Dtype::f64});
  expect_equal(names_of(attention),
               std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"});
  fill(attention);
  const Tensor q = wave({3, 2, 4}), k = wave({2, 2, 4}, 1);
  const auto [y, w] = attention(q, k, k);
  expect_near(values(y(0)),
              {-0.3090835574, -0.09022401553, -0.4253587582, -0.73265708, 0.4287168094, -0.7869033326, 0.1496945087,
               -1.119633833},
              1e-9);
  expect_near(values(w(1)), {0.3673700654, 0.6326299346, 0.4021228086, 0.5978771914, 0.4886765995, 0.5113234005}, 1e-9);
  const auto [fused, none] = attention(q, k, k, {.need_weights = false});
  expect_near(values(fused), values(y), 1e-9);
  expect(!none.defined());
}

TEST("masks of attention") {
  nn::MultiheadAttention attention(4, 2, {.dtype = Dtype::f64});
  fill(attention);
  const Tensor q = wave({3, 2, 4});
  const Tensor padding = tensor({{false, false, true}, {false, false, false}});
  const Tensor later = triu(ones({3, 3}), 1).to(Dtype::boolean);
  const auto [y, w] =
      attention(q, q, q, {.key_padding_mask = padding, .attn_mask = later, .average_attn_weights = false});
  expect_near(values(y(2)),
              {-0.3565573783, -0.06999904548, -0.4159977745, -0.770522306, 0.1951957523, -0.5372859492, -0.08717458478,
               -0.9228845133},
              1e-9);
  expect_near(values(w(0, 1)), {1, 0, 0, 0.2747745497, 0.7252254503, 0, 0.3008976963, 0.6991023037, 0}, 1e-9);
  const auto [positional, same] = attention(q, q, q, padding, false, later);
  expect_near(values(positional), values(y), 1e-9);
  expect_near(values(std::get<0>(attention(q, q, q, {.is_causal = true}))),
              values(std::get<0>(attention(q, q, q, {.attn_mask = later}))), 1e-12);
}

TEST("attention to keys and values of other sizes, with biases and a zero") {
  nn::MultiheadAttention attention(
      4, 2,
      {.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .vdim = 5, .batch_first = true, .dtype = Dtype::f64});
  expect_equal(names_of(attention),
               std::vector<std::string>{"q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k",
                                        "bias_v", "out_proj.weight", "out_proj.bias"});
  fill(attention);
  const auto [y, w] = attention(wave({2, 3, 4}), wave({2, 2, 3}), wave({2, 2, 5}));
  expect_near(values(y(1)),
              {0.2318402594, 0.606598467, 0.3119254255, 0.2644508056, 0.3062612885, 0.4740974496, 0.4871952338,
               0.0666655648, 0.2728182039, 0.5317775765, 0.4119433101, 0.1507935253},
              1e-9);
  expect_near(values(w(0)),
              {0.2976196243, 0.1787257024, 0.266900848, 0.2567538252, 0.1688687025, 0.2802829266, 0.2983892309,
               0.25245914, 0.2680313439, 0.167111827, 0.2891679808, 0.2756888483},
              1e-9);
  expect_error([] { nn::MultiheadAttention(5, 2); }, "embed_dim = 5 is not a multiple of num_heads = 2");
  expect_error(
      [&] {
        attention(wave({3, 4}), wave({2, 2, 3}), wave({2, 5}));
      },
      "all have 2 or all have 3 dimensions; key is");
}

TEST("Transformer encoder layers") {
  nn::TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 6, .dropout = 0, .dtype = Dtype::f64});
  expect_equal(names_of(layer), std::vector<std::string>{
                                    "self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                                    "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight",
                                    "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"});
  fill(layer);
  const Tensor y = layer(wave({3, 2, 4}));
  sum(y(Slice(), Slice(), 0)).backward();
  expect_near(values(y(0)),
              {-0.6100078445, -0.8819190584, 0.6728498736, 0.2111175358, -0.9107644865, -0.3244935917, 0.5160986078,
               0.2743614839},
              1e-9);
  expect_near(values(layer.linear1.weight.grad()(0)), {0.1499045151, 0.07491736786, 0.1175685759, 0.2182520648}, 1e-8);
  nn::TransformerEncoderLayer other(4, 2,
                                    {.dim_feedforward = 6,
                                     .dropout = 0,
                                     .activation = "gelu",
                                     .batch_first = true,
                                     .norm_first = true,
                                     .dtype = Dtype::f64});
  fill(other);
  expect_near(values(other(wave({2, 3, 4}), nn::causal_mask(3))(0)),
              {0.7868206298, 0.74475612, 0.9967784565, 0.1848025752, 1.038724855, -0.02405063198, -1.045251348,
               -1.657684781, 0.1551703953, 0.1343967642, 0.6226437621, 0.3670626776},
              1e-9);
  const auto f = jit([&](const Tensor& x) { return layer(x); }, {.fullgraph = true});
  expect_near(values(f(wave({3, 2, 4}))), values(y), 1e-12);
  expect_error([] { nn::TransformerEncoderLayer(4, 2, {.activation = "tanh"}); }, "activation must be");
}

TEST("a Transformer encoder has layers of its own") {
  nn::TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 6, .dropout = 0, .dtype = Dtype::f64});
  nn::TransformerEncoder encoder(layer, 2, nn::LayerNorm(4, {.dtype = Dtype::f64}));
  expect_equal(names_of(encoder).back(), std::string("norm.bias"));
  expect_equal(names_of(encoder)[12], std::string("layers.1.self_attn.in_proj_weight"));
  fill(encoder);
  expect_near(
      values(encoder(wave({3, 2, 4}))(1)),
      {0.4764345928, 0.2249440681, 0.4094779002, 1.079670771, 0.1416396172, 0.5250704435, 0.5006143453, 1.080390838},
      1e-9);
  nn::eval(encoder);
  expect(!encoder.layers[1].self_attn.training);
  expect_error([&] { nn::TransformerEncoder(layer, 0); }, "num_layers must be at least 1");
}

TEST("a Transformer decoder layer") {
  nn::TransformerDecoderLayer layer(4, 2, {.dim_feedforward = 6, .dropout = 0, .dtype = Dtype::f64});
  fill(layer);
  expect_near(values(layer(wave({3, 1, 4}), wave({2, 1, 4}, 1))),
              {-0.3022087278, -0.8339246191, 0.1413418049, -0.2372767906, -0.3058766987, -1.060555688, 0.06548390798,
               0.007913863583, -0.281293514, -0.5291363615, -0.1154792737, -0.3585563764},
              1e-9);
  const nn::TransformerDecoder decoder(layer, 2);
  expect_equal(decoder(wave({3, 1, 4}), wave({2, 1, 4}, 1)).shape(), Shape({3, 1, 4}));
}

TEST("multi_head_attention_forward is the layer with given parameters") {
  nn::MultiheadAttention layer(8, 2, {.kdim = 4, .vdim = 6, .dtype = Dtype::f64});
  fill(layer);
  nn::MultiheadAttention one(8, 2, {.add_bias_kv = true, .add_zero_attn = true, .dtype = Dtype::f64});
  fill(one);
  const Tensor q = wave({3, 2, 8}), k = wave({5, 2, 4}), v = wave({5, 2, 6});
  const auto [y, weights] = nn::multi_head_attention_forward(q, k, v, 8, 2, {}, layer.in_proj_bias, {}, {}, false, 0.0,
                                                             layer.out_proj.weight, layer.out_proj.bias,
                                                             {.use_separate_proj_weight = true,
                                                              .q_proj_weight = layer.q_proj_weight,
                                                              .k_proj_weight = layer.k_proj_weight,
                                                              .v_proj_weight = layer.v_proj_weight});
  const auto [expected, expected_weights] = layer(q, k, v);
  expect_equal(values(y), values(expected));
  expect_equal(values(weights), values(expected_weights));
  const Tensor mask = triu(ones({3, 3}), 1).to(Dtype::boolean);
  const auto [masked, none] = nn::multi_head_attention_forward(
      q, q, q, 8, 2, one.in_proj_weight, one.in_proj_bias, one.bias_k, one.bias_v, true, 0.0, one.out_proj.weight,
      one.out_proj.bias, {.need_weights = false, .attn_mask = mask});
  expect_equal(values(masked), values(std::get<0>(one(q, q, q, {.need_weights = false, .attn_mask = mask}))));
  expect(!none.defined());
  expect_error(
      [&] {
        nn::multi_head_attention_forward(q, q, q, 6, 2, one.in_proj_weight, one.in_proj_bias, {}, {}, false, 0.0,
                                         one.out_proj.weight, one.out_proj.bias);
      },
      "multi_head_attention_forward: the query's last size must be embed_dim_to_check = 6, not cpu f64[3, 2, 8]");
}
