#include <cmath>
#include <string_view>

#include <fulgurite/error.h>
#include <fulgurite/models/phi.h>
#include <fulgurite/models/phi3.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

template <class Options>
CausalHeads heads_of(const Options& o, std::string_view function) {
  const bool fits = o.heads >= 1 && o.key_value_heads >= 1 && o.heads % o.key_value_heads == 0;
  if (!fits || (o.head_width == 0 && o.width % o.heads != 0))
    throw UserError(text::cat(function, ": width ", o.width, " must be a multiple of the heads ", o.heads,
                              ", and the heads one of key_value_heads ", o.key_value_heads));
  const int64_t width = o.head_width != 0 ? o.head_width : o.width / o.heads;
  return {.count = o.heads,
          .key_value_count = o.key_value_heads,
          .width = width,
          .scale = 1 / std::sqrt(static_cast<double>(width))};
}

int64_t rotated_features(int64_t head_width, double share) {
  return static_cast<int64_t>(static_cast<double>(head_width) * share);
}

double residual_deviation(int64_t layers) { return 0.02 / std::sqrt(2.0 * static_cast<double>(layers)); }

PhiBlock make_block(const PhiOptions& o, const CausalHeads& heads, const LayerMaker& make) {
  const double residual = residual_deviation(o.layers);
  const int64_t all = heads.count * heads.width, shared = heads.key_value_count * heads.width;
  PhiBlock block;
  PhiAttention& attention = block.self_attn;
  attention.q_proj = make.linear(o.width, all, true);
  attention.k_proj = make.linear(o.width, shared, true);
  attention.v_proj = make.linear(o.width, shared, true);
  attention.dense = make.linear(all, o.width, true, residual);
  attention.heads = heads;
  attention.has_head_norms = o.head_norms;
  if (o.head_norms) {
    attention.q_layernorm = make.layer_norm(heads.width, o.eps);
    attention.k_layernorm = make.layer_norm(heads.width, o.eps);
  }
  block.mlp.fc1 = make.linear(o.width, o.hidden, true);
  block.mlp.fc2 = make.linear(o.hidden, o.width, true, residual);
  block.mlp.activation = o.activation;
  block.input_layernorm = make.layer_norm(o.width, o.eps);
  return block;
}

Phi3Block make_block(const Phi3Options& o, const CausalHeads& heads, const LayerMaker& make) {
  const double residual = residual_deviation(o.layers);
  Phi3Block block;
  block.self_attn.qkv_proj = make.linear(o.width, (heads.count + 2 * heads.key_value_count) * heads.width);
  block.self_attn.o_proj = make.linear(heads.count * heads.width, o.width, false, residual);
  block.self_attn.heads = heads;
  block.mlp.gate_up_proj = make.linear(o.width, 2 * o.hidden);
  block.mlp.down_proj = make.linear(o.hidden, o.width, false, residual);
  block.mlp.activation = o.activation;
  block.input_layernorm = make.rms_norm(o.width, o.eps);
  block.post_attention_layernorm = make.rms_norm(o.width, o.eps);
  return block;
}

template <class Model>
KeyValueCache cache_of(const Model& model, int64_t capacity, int64_t batch) {
  if (model.model.layers.empty()) return {};
  const CausalHeads& heads = model.model.layers.front().self_attn.heads;
  const Tensor& weight = model.model.embed_tokens.weight;
  return make_key_value_cache(model.model.layers.size(), {batch, heads.key_value_count, capacity, heads.width},
                              {.dtype = weight.dtype(), .device = weight.device()}, model.long_length() != 0);
}

}  // namespace

Phi make_phi(const PhiOptions& o, const LayerMaker& make) {
  const CausalHeads heads = heads_of(o, "make_phi");
  Phi phi;
  phi.model.embed_tokens = make.embedding(o.vocabulary, o.width);
  phi.model.embed_tokens.padding_idx = o.padding;
  for (int64_t i = 0; i < o.layers; ++i) phi.model.layers.push_back(make_block(o, heads, make));
  phi.model.final_layernorm = make.layer_norm(o.width, o.eps);
  phi.model.rotary_emb = make_rotary(rotated_features(heads.width, o.rotary_share), o.rotary_base, o.rotary_scaling);
  phi.lm_head = make.linear(o.width, o.vocabulary, true);
  if (o.tied) phi.lm_head.weight = phi.model.embed_tokens.weight;
  return phi;
}

Phi3 make_phi3(const Phi3Options& o, const LayerMaker& make) {
  CausalHeads heads = heads_of(o, "make_phi3");
  heads.window = o.window;
  Phi3 phi;
  phi.model.embed_tokens = make.embedding(o.vocabulary, o.width);
  phi.model.embed_tokens.padding_idx = o.padding;
  for (int64_t i = 0; i < o.layers; ++i) phi.model.layers.push_back(make_block(o, heads, make));
  phi.model.norm = make.rms_norm(o.width, o.eps);
  phi.model.rotary_emb = make_rotary(rotated_features(heads.width, o.rotary_share), o.rotary_base, o.rotary_scaling);
  if (o.tied) phi.lm_head.weight = phi.model.embed_tokens.weight;
  else phi.lm_head = make.linear(o.width, o.vocabulary);
  return phi;
}

KeyValueCache make_cache(const Phi& model, int64_t capacity, int64_t batch) { return cache_of(model, capacity, batch); }

KeyValueCache make_cache(const Phi3& model, int64_t capacity, int64_t batch) {
  return cache_of(model, capacity, batch);
}

}  // namespace fulgurite::models
