#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/models/gemma.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

void check(const GemmaOptions& o) {
  if (o.heads < 1 || o.key_value_heads < 1 || o.heads % o.key_value_heads != 0)
    throw UserError(
        text::cat("make_gemma: the heads ", o.heads, " must be a multiple of key_value_heads ", o.key_value_heads));
  if (!o.is_windowed.empty() && static_cast<int64_t>(o.is_windowed.size()) != o.layers)
    throw UserError(text::cat("make_gemma: is_windowed needs an entry for each of ", o.layers,
                              " layers, or none; it has ", o.is_windowed.size()));
}

GemmaNorm make_norm(int64_t width, double eps, const LayerMaker& make) { return {make.parameter({width}, 0), eps}; }

CausalHeads heads_of(const GemmaOptions& o, int64_t layer) {
  const bool is_windowed = o.is_windowed.empty() || o.is_windowed[static_cast<size_t>(layer)];
  return {.count = o.heads,
          .key_value_count = o.key_value_heads,
          .width = o.head_width,
          .window = is_windowed ? o.window : 0,
          .scale = o.attention_scale != 0 ? o.attention_scale : 1 / std::sqrt(static_cast<double>(o.head_width)),
          .score_cap = o.score_cap};
}

GemmaAttention make_attention(const GemmaOptions& o, int64_t layer, const LayerMaker& make, double residual) {
  const int64_t all = o.heads * o.head_width, shared = o.key_value_heads * o.head_width;
  GemmaAttention attention;
  attention.q_proj = make.linear(o.width, all, o.attention_bias);
  attention.k_proj = make.linear(o.width, shared, o.attention_bias);
  attention.v_proj = make.linear(o.width, shared, o.attention_bias);
  attention.o_proj = make.linear(all, o.width, o.attention_bias, residual);
  attention.heads = heads_of(o, layer);
  attention.has_head_norms = o.head_norms;
  if (o.head_norms) {
    attention.q_norm = make_norm(o.head_width, o.eps, make);
    attention.k_norm = make_norm(o.head_width, o.eps, make);
  }
  return attention;
}

GemmaBlock make_block(const GemmaOptions& o, int64_t layer, const LayerMaker& make) {
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers));
  GemmaBlock block;
  block.self_attn = make_attention(o, layer, make, residual);
  block.mlp.gate_proj = make.linear(o.width, o.hidden);
  block.mlp.up_proj = make.linear(o.width, o.hidden);
  block.mlp.down_proj = make.linear(o.hidden, o.width, false, residual);
  block.mlp.activation = o.activation;
  block.input_layernorm = make_norm(o.width, o.eps, make);
  block.post_attention_layernorm = make_norm(o.width, o.eps, make);
  block.has_branch_norms = o.branch_norms;
  if (o.branch_norms) {
    block.pre_feedforward_layernorm = make_norm(o.width, o.eps, make);
    block.post_feedforward_layernorm = make_norm(o.width, o.eps, make);
  }
  return block;
}

}  // namespace

Gemma make_gemma(const GemmaOptions& o, const LayerMaker& make) {
  check(o);
  Gemma gemma;
  gemma.model.embed_tokens = make.embedding(o.vocabulary, o.width);
  gemma.model.embed_tokens.padding_idx = o.padding;
  for (int64_t i = 0; i < o.layers; ++i) gemma.model.layers.push_back(make_block(o, i, make));
  gemma.model.norm = make_norm(o.width, o.eps, make);
  gemma.model.rotary_emb = make_rotary(o.head_width, o.rotary_base, o.rotary_scaling);
  gemma.model.has_local_rotary = o.local_rotary_base != 0;
  if (gemma.model.has_local_rotary)
    gemma.model.local_rotary_emb = make_rotary(o.head_width, o.local_rotary_base, o.local_rotary_scaling);
  gemma.model.embedding_scale = std::sqrt(static_cast<double>(o.width));
  if (o.tied) gemma.lm_head.weight = gemma.model.embed_tokens.weight;
  else gemma.lm_head = make.linear(o.width, o.vocabulary);
  gemma.logits_cap = o.logits_cap;
  return gemma;
}

KeyValueCache make_cache(const Gemma& model, int64_t capacity, int64_t batch) {
  if (model.model.layers.empty()) return {};
  const GemmaAttention& attention = model.model.layers.front().self_attn;
  const std::array<int64_t, 4> sizes{batch, attention.heads.key_value_count, capacity, attention.heads.width};
  const Tensor& weight = model.model.embed_tokens.weight;
  return make_key_value_cache(model.model.layers.size(), sizes, {.dtype = weight.dtype(), .device = weight.device()},
                              model.long_length() != 0);
}

}  // namespace fulgurite::models
