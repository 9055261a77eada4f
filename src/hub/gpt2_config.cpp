#include <fulgurite/hub/config.h>
#include <fulgurite/models/gpt2.h>

#include "hub/activation.h"

namespace fulgurite::models {

Gpt2 Gpt2::from_config(const hub::Config& config, const LayerMaker& make) {
  if (config.model_type() != "gpt2") config.refuse("model_type", "models::Gpt2 has gpt2");
  if (!config.boolean("scale_attn_weights", true))
    config.refuse("scale_attn_weights", "attention is scaled by the heads' width");
  Gpt2Options o;
  o.vocabulary = config.integer("vocab_size");
  o.layers = config.integer("n_layer");
  o.heads = config.integer("n_head");
  o.width = config.integer("n_embd");
  o.block = config.integer("n_positions", 1024);
  o.hidden = config.integer("n_inner", 0);
  o.eps = config.number("layer_norm_epsilon", 1e-5);
  o.activation = hub::activation_of(config, "activation_function", "gelu_new");
  o.tied = config.boolean("tie_word_embeddings", true);
  o.scales_by_layer = config.boolean("scale_attn_by_inverse_layer_idx", false);
  return make_gpt2(o, make);
}

}  // namespace fulgurite::models
