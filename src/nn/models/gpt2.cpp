#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/models/gpt2.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

Conv1D make_conv1d(int64_t in, int64_t out, const LayerMaker& make, double deviation) {
  return {make.parameter({in, out}, deviation), make.parameter({out}, 0)};
}

Gpt2Block make_block(const Gpt2Options& o, int64_t layer, const LayerMaker& make) {
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers));
  const int64_t hidden = o.hidden != 0 ? o.hidden : 4 * o.width;
  Gpt2Block block;
  block.ln_1 = make.layer_norm(o.width, o.eps);
  block.attn.c_attn = make_conv1d(o.width, 3 * o.width, make, 0.02);
  block.attn.c_proj = make_conv1d(o.width, o.width, make, residual);
  block.attn.heads = o.heads;
  block.attn.scale = 1 / std::sqrt(static_cast<double>(o.width) / static_cast<double>(o.heads));
  if (o.scales_by_layer) block.attn.scale /= static_cast<double>(layer + 1);
  block.ln_2 = make.layer_norm(o.width, o.eps);
  block.mlp.c_fc = make_conv1d(o.width, hidden, make, 0.02);
  block.mlp.c_proj = make_conv1d(hidden, o.width, make, residual);
  block.mlp.activation = o.activation;
  return block;
}

}  // namespace

Gpt2 make_gpt2(const Gpt2Options& o, const LayerMaker& make) {
  if (o.heads < 1 || o.width % o.heads != 0)
    throw UserError(text::cat("make_gpt2: width ", o.width, " must be a multiple of the heads ", o.heads));
  Gpt2 model;
  model.transformer.wte = make.embedding(o.vocabulary, o.width);
  model.transformer.wpe = make.embedding(o.block, o.width);
  for (int64_t i = 0; i < o.layers; ++i) model.transformer.h.push_back(make_block(o, i, make));
  model.transformer.ln_f = make.layer_norm(o.width, o.eps);
  if (o.tied) model.lm_head.weight = model.transformer.wte.weight;
  else model.lm_head = make.linear(o.width, o.vocabulary);
  return model;
}

KeyValueCache make_cache(const Gpt2& model, int64_t capacity, int64_t batch) {
  if (model.transformer.h.empty()) return {};
  const Tensor& weight = model.transformer.wte.weight;
  const int64_t heads = model.transformer.h.front().attn.heads;
  const std::array<int64_t, 4> sizes{batch, heads, capacity, weight.size(1) / heads};
  return make_key_value_cache(model.transformer.h.size(), sizes, {.dtype = weight.dtype(), .device = weight.device()});
}

}  // namespace fulgurite::models
