#include <fulgurite/fulgurite.h>

#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.
namespace {

const nn::TransformerLayerOptions small{.dim_feedforward = 16, .dropout = 0, .dtype = Dtype::f64};

Tensor source_padding() { return tensor({{false, false, true}, {false, false, false}}); }

}  // namespace

TEST("Transformer has PyTorch's state names") {
  const nn::Transformer model(8, 2, 1, 2, small);
  const std::vector<std::string> expected{"encoder.layers.0.self_attn.in_proj_weight",
                                          "encoder.layers.0.self_attn.in_proj_bias",
                                          "encoder.layers.0.self_attn.out_proj.weight",
                                          "encoder.layers.0.self_attn.out_proj.bias",
                                          "encoder.layers.0.linear1.weight",
                                          "encoder.layers.0.linear1.bias",
                                          "encoder.layers.0.linear2.weight",
                                          "encoder.layers.0.linear2.bias",
                                          "encoder.layers.0.norm1.weight",
                                          "encoder.layers.0.norm1.bias",
                                          "encoder.layers.0.norm2.weight",
                                          "encoder.layers.0.norm2.bias",
                                          "encoder.norm.weight",
                                          "encoder.norm.bias",
                                          "decoder.layers.0.self_attn.in_proj_weight",
                                          "decoder.layers.0.self_attn.in_proj_bias",
                                          "decoder.layers.0.self_attn.out_proj.weight",
                                          "decoder.layers.0.self_attn.out_proj.bias",
                                          "decoder.layers.0.multihead_attn.in_proj_weight",
                                          "decoder.layers.0.multihead_attn.in_proj_bias",
                                          "decoder.layers.0.multihead_attn.out_proj.weight",
                                          "decoder.layers.0.multihead_attn.out_proj.bias",
                                          "decoder.layers.0.linear1.weight",
                                          "decoder.layers.0.linear1.bias",
                                          "decoder.layers.0.linear2.weight",
                                          "decoder.layers.0.linear2.bias",
                                          "decoder.layers.0.norm1.weight",
                                          "decoder.layers.0.norm1.bias",
                                          "decoder.layers.0.norm2.weight",
                                          "decoder.layers.0.norm2.bias",
                                          "decoder.layers.0.norm3.weight",
                                          "decoder.layers.0.norm3.bias",
                                          "decoder.layers.1.self_attn.in_proj_weight",
                                          "decoder.layers.1.self_attn.in_proj_bias",
                                          "decoder.layers.1.self_attn.out_proj.weight",
                                          "decoder.layers.1.self_attn.out_proj.bias",
                                          "decoder.layers.1.multihead_attn.in_proj_weight",
                                          "decoder.layers.1.multihead_attn.in_proj_bias",
                                          "decoder.layers.1.multihead_attn.out_proj.weight",
                                          "decoder.layers.1.multihead_attn.out_proj.bias",
                                          "decoder.layers.1.linear1.weight",
                                          "decoder.layers.1.linear1.bias",
                                          "decoder.layers.1.linear2.weight",
                                          "decoder.layers.1.linear2.bias",
                                          "decoder.layers.1.norm1.weight",
                                          "decoder.layers.1.norm1.bias",
                                          "decoder.layers.1.norm2.weight",
                                          "decoder.layers.1.norm2.bias",
                                          "decoder.layers.1.norm3.weight",
                                          "decoder.layers.1.norm3.bias",
                                          "decoder.norm.weight",
                                          "decoder.norm.bias"};
  expect_equal(names_of(model), expected);
  for (const auto& [name, parameter] : nn::named_parameters(model))
    if (parameter.dim() > 1) {
      const double bound = std::sqrt(6.0 / static_cast<double>(parameter.size(0).hint() + parameter.size(1).hint()));
      expect(max(abs(parameter)).item<double>() <= bound, name);
    }
}

TEST("Transformer has PyTorch's values, with masks and padding") {
  const nn::Transformer model(8, 2, 1, 2, small);
  fill(model);
  const Tensor mask = nn::Transformer::generate_square_subsequent_mask(4);
  const nn::TransformerArguments arguments{
      .tgt_mask = mask, .src_key_padding_mask = source_padding(), .memory_key_padding_mask = source_padding()};
  const Tensor out = model(wave({3, 2, 8}), wave({4, 2, 8}, 0.4), arguments);
  const std::vector<double> expected{
      0.4271062116,  0.14888808,    0.2405199829,  0.5030401965,  -0.1716598097, -0.5029484108, -0.9870042652,
      0.05770439095, 0.4276937155,  0.1489696836,  0.2437666959,  0.5022431258,  -0.171039513,  -0.503116628,
      -0.9855869168, 0.05932147996, 0.4271128024,  0.1488891455,  0.2405558442,  0.5030312589,  -0.1716528725,
      -0.5029512774, -0.9869816035, 0.05772329792, 0.4276008676,  0.1489154204,  0.2432318287,  0.5024260812,
      -0.1710837013, -0.5030534978, -0.9859945692, 0.05896132197, 0.4270873049,  0.1488648695,  0.2402750044,
      0.5031615753,  -0.1716476775, -0.5029082546, -0.9872379765, 0.05749394978, 0.4275609537,  0.148900785,
      0.2430576112,  0.5024664475,  -0.1711167518, -0.503038726,  -0.9861057526, 0.0588674929,  0.4271024076,
      0.1488631518,  0.2403634275,  0.5031427399,  -0.1716214785, -0.5029149173, -0.9871760055, 0.05754095775,
      0.4273849071,  0.1488170091,  0.2424419936,  0.5025870336,  -0.1712273656, -0.50298816,   -0.9864699594,
      0.05855845162};
  expect_near(values(out), expected, 1e-8);
  const auto jitted = jit([](const nn::Transformer& m, const Tensor& src, const Tensor& tgt) { return m(src, tgt); });
  expect_near(values(jitted(model, wave({3, 2, 8}), wave({4, 2, 8}, 0.4))),
              values(model(wave({3, 2, 8}), wave({4, 2, 8}, 0.4))), 1e-9);
}

TEST("Transformer's options are PyTorch's") {
  const nn::Transformer model({.d_model = 8,
                               .nhead = 2,
                               .num_encoder_layers = 1,
                               .num_decoder_layers = 2,
                               .dim_feedforward = 16,
                               .dropout = 0,
                               .activation = "gelu",
                               .batch_first = true,
                               .norm_first = true,
                               .bias = false,
                               .dtype = Dtype::f64});
  fill(model);
  const Tensor causal = triu(ones({4, 4}, {.dtype = Dtype::boolean}), 1);
  const Tensor out = model(
      wave({2, 3, 8}), wave({2, 4, 8}, 0.4),
      {.tgt_mask = causal, .src_key_padding_mask = source_padding(), .memory_key_padding_mask = source_padding()});
  const std::vector<double> expected{
      -0.04464934199, 0.3325530599,    0.5771502302,   0.2851675829,   -0.05960969618, 0.1161766919,  0.545142112,
      0.5374135141,   -0.008581619894, 0.253492392,    0.606893629,    0.4517218246,   0.04674140921, 0.07999334099,
      0.5474406781,   0.720890248,     0.03731230682,  0.08651860328,  0.5429290663,   0.6289643767,  0.1745144694,
      0.03419277156,  0.4786894463,    0.7589228892,   0.08657484386,  -0.1757774663,  0.3854498911,  0.7702903784,
      0.2526803721,   0.009365047841,  0.289186762,    0.4065415613,   0.06269542832,  -0.3567123194, -0.5284164021,
      -0.1808817313,  0.1155611415,    -0.1319940823,  -0.5188526747,  -0.3945284376,  0.01425316598, -0.268672715,
      -0.6225256572,  -0.4354802273,   -0.01805298541, -0.09499692127, -0.5534805711,  -0.6534463181, -0.0459375361,
      -0.06711010769, -0.5456579666,   -0.6454672885,  -0.1809418984,  -0.03033850985, -0.4563818487, -0.7376316626,
      -0.1020228748,  0.1994119399,    -0.2794818428,  -0.6567772519,  -0.2784570109,  0.04396062664, -0.1525745412,
      -0.4773576238};
  expect_near(values(out), expected, 1e-8);
  const nn::Transformer standard;
  expect_equal(nn::TransformerOptions().d_model, 512);
}

TEST("Transformer's errors say what does not fit") {
  const nn::Transformer model(8, 2, 1, 1, small);
  expect_error(
      [&] {
        model(wave({3, 2, 4}), wave({4, 2, 8}));
      },
      "Transformer: src must have 2 or 3 dimensions, the last of size 8, not cpu f64[3, 2, 4]");
  expect_error(
      [&] {
        model(wave({3, 2, 8}), wave({4, 3, 8}));
      },
      "Transformer: src and tgt must have one batch, they are cpu f64[3, 2, 8] and cpu f64[4, 3, 8]");
  expect_error([&] { model(Tensor(), wave({4, 3, 8})); }, "Transformer: src is an undefined tensor");
}
