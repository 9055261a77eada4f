#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/models/llama.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

int64_t head_width_of(const LlamaOptions& o) { return o.head_width != 0 ? o.head_width : o.width / o.heads; }

void check(const LlamaOptions& o) {
  if (o.heads < 1 || o.key_value_heads < 1 || (o.head_width == 0 && o.width % (2 * o.heads) != 0) ||
      o.heads % o.key_value_heads != 0)
    throw UserError(text::cat("make_llama_block: width ", o.width, " must be a multiple of twice the heads ", o.heads,
                              ", and the heads one of key_value_heads ", o.key_value_heads));
  if (o.head_norms && o.width_norms) throw UserError("make_llama_block: head_norms and width_norms exclude each other");
  for (const auto* layers : {&o.is_rotated, &o.is_windowed})
    if (!layers->empty() && static_cast<int64_t>(layers->size()) != o.layers)
      throw UserError(text::cat("make_llama_block: is_rotated and is_windowed need an entry for each of ", o.layers,
                                " layers, or none; one has ", layers->size()));
}

bool holds_for(const std::vector<bool>& layers, int64_t layer) {
  return layers.empty() || layers[static_cast<size_t>(layer)];
}

LlamaAttention make_attention(const LlamaOptions& o, int64_t layer, const LayerMaker& make, double residual) {
  const int64_t head = head_width_of(o), all = o.heads * head, shared = o.key_value_heads * head;
  LlamaAttention attention;
  attention.q_proj = make.linear(o.width, all, o.query_bias);
  attention.k_proj = make.linear(o.width, shared, o.query_bias);
  attention.v_proj = make.linear(o.width, shared, o.query_bias);
  attention.o_proj = make.linear(all, o.width, o.output_bias, residual);
  if (o.head_norms || o.width_norms) {
    attention.q_norm = make.rms_norm(o.head_norms ? head : all, o.eps);
    attention.k_norm = make.rms_norm(o.head_norms ? head : shared, o.eps);
  }
  attention.has_head_norms = o.head_norms;
  attention.has_width_norms = o.width_norms;
  attention.heads = o.heads;
  attention.key_value_heads = o.key_value_heads;
  attention.head_width = head;
  attention.window = holds_for(o.is_windowed, layer) ? o.window : 0;
  attention.is_rotated = holds_for(o.is_rotated, layer);
  attention.scale = o.attention_scale != 0 ? o.attention_scale : 1 / std::sqrt(static_cast<double>(head));
  return attention;
}

}  // namespace

LlamaBlock make_llama_block(const LlamaOptions& o, int64_t layer, const LayerMaker& make) {
  check(o);
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers));
  LlamaBlock block;
  block.self_attn = make_attention(o, layer, make, residual);
  block.mlp.gate_proj = make.linear(o.width, o.hidden, o.mlp_bias);
  block.mlp.up_proj = make.linear(o.width, o.hidden, o.mlp_bias);
  block.mlp.down_proj = make.linear(o.hidden, o.width, o.mlp_bias, residual);
  block.mlp.activation = o.activation;
  block.norms_after = o.norms_after;
  block.residual_scale = o.residual_scale;
  (o.norms_after ? block.post_feedforward_layernorm : block.input_layernorm) = make.rms_norm(o.width, o.eps);
  block.post_attention_layernorm = make.rms_norm(o.width, o.eps);
  return block;
}

Llama make_llama(const LlamaOptions& o, const LayerMaker& make) {
  check(o);
  Llama llama;
  llama.model.embed_tokens = make.embedding(o.vocabulary, o.width);
  llama.model.embed_tokens.padding_idx = o.padding;
  for (int64_t i = 0; i < o.layers; ++i) llama.model.layers.push_back(make_llama_block(o, i, make));
  llama.model.norm = make.rms_norm(o.width, o.eps);
  const auto rotated = static_cast<int64_t>(static_cast<double>(head_width_of(o)) * o.rotary_share);
  llama.model.rotary_emb = make_rotary(rotated, o.rotary_base, o.rotary_scaling);
  llama.model.embedding_scale = o.embedding_scale;
  if (o.tied) llama.lm_head.weight = llama.model.embed_tokens.weight;
  else llama.lm_head = make.linear(o.width, o.vocabulary);
  llama.logits_scale = o.logits_scale;
  return llama;
}

KeyValueCache make_cache(const Llama& model, int64_t capacity, int64_t batch) {
  if (model.model.layers.empty()) return {};
  const LlamaAttention& attention = model.model.layers.front().self_attn;
  const std::array<int64_t, 4> sizes{batch, attention.key_value_heads, capacity, attention.head_width};
  const Tensor& weight = model.model.embed_tokens.weight;
  return make_key_value_cache(model.model.layers.size(), sizes, {.dtype = weight.dtype(), .device = weight.device()},
                              model.long_length() != 0);
}

}  // namespace fulgurite::models
