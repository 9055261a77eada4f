#include <fulgurite/hub/config.h>
#include <fulgurite/models/phi.h>
#include <fulgurite/models/phi3.h>

#include "hub/activation.h"
#include "hub/padding_token.h"
#include "hub/rotary_config.h"

namespace fulgurite::models {

namespace {

using hub::Config;

template <class Options>
Options common_options(const Config& config) {
  Options o;
  o.vocabulary = config.integer("vocab_size");
  o.layers = config.integer("num_hidden_layers");
  o.heads = config.integer("num_attention_heads");
  o.key_value_heads = config.integer("num_key_value_heads", o.heads);
  o.width = config.integer("hidden_size");
  o.hidden = config.integer("intermediate_size");
  o.head_width = config.integer("head_dim", 0);
  o.tied = config.boolean("tie_word_embeddings", false);
  return o;
}

template <class Options>
void set_rotary(Options& o, const hub::RotaryKeys& rotary) {
  o.rotary_base = rotary.base;
  o.rotary_share = rotary.share;
  o.rotary_scaling = rotary.scaling;
}

// Phi-3 has its training's length beside the keys of rotary positions, and older names of longrope.
hub::RotaryKeys phi3_rotary(const Config& config) {
  const int64_t block = config.integer("max_position_embeddings", 4096);
  const Config keys = config.object(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  hub::RotaryKeys rotary = hub::rotary_keys(config, block);
  RotaryScaling& scaling = rotary.scaling;
  if (scaling.kind == "default") return rotary;
  if (scaling.kind == "yarn") scaling.kind = "longrope";
  if (scaling.kind != "longrope") keys.refuse(keys.has("rope_type") ? "rope_type" : "type", "phi3 has longrope");
  scaling.original_block = config.integer("original_max_position_embeddings", 4096);
  if (!keys.has("factor")) scaling.factor = static_cast<double>(block) / static_cast<double>(scaling.original_block);
  return rotary;
}

}  // namespace

Phi Phi::from_config(const hub::Config& config, const LayerMaker& make) {
  if (config.model_type() != "phi") config.refuse("model_type", "models::Phi has phi");
  auto o = common_options<PhiOptions>(config);
  o.eps = config.number("layer_norm_eps", 1e-5);
  o.activation = hub::activation_of(config, "hidden_act", "gelu_new");
  o.head_norms = config.boolean("qk_layernorm", false);
  o.padding = hub::padding_token(config, o.vocabulary);
  set_rotary(o, hub::rotary_keys(config, config.integer("max_position_embeddings", 2048), 0.5));
  return make_phi(o, make);
}

Phi3 Phi3::from_config(const hub::Config& config, const LayerMaker& make) {
  if (config.model_type() != "phi3") config.refuse("model_type", "models::Phi3 has phi3");
  auto o = common_options<Phi3Options>(config);
  o.eps = config.number("rms_norm_eps", 1e-5);
  o.activation = hub::activation_of(config, "hidden_act", "silu");
  o.window = config.integer("sliding_window", 0);
  o.padding = hub::padding_token(config, o.vocabulary, 32000);
  set_rotary(o, phi3_rotary(config));
  return make_phi3(o, make);
}

}  // namespace fulgurite::models
