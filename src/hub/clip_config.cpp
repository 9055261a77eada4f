#include <fulgurite/hub/config.h>
#include <fulgurite/models/clip.h>

#include "hub/activation.h"
#include "hub/vision_config.h"

namespace fulgurite::models {

namespace {

// Older files have the keys of a tower twice; transformers reads those of "text_config_dict" and "vision_config_dict".
hub::Config tower_config(const hub::Config& config, const std::string& name) {
  return config.object(config.has(name + "_dict") ? name + "_dict" : name);
}

ClipTowerOptions tower_options(const hub::Config& config, ClipTowerOptions o) {
  o.layers = config.integer("num_hidden_layers", o.layers);
  o.heads = config.integer("num_attention_heads", o.heads);
  o.width = config.integer("hidden_size", o.width);
  o.hidden = config.integer("intermediate_size", o.hidden);
  o.eps = config.number("layer_norm_eps", o.eps);
  o.activation = hub::activation_of(config, "hidden_act", o.activation);
  return o;
}

ClipOptions clip_options(const hub::Config& config) {
  if (config.model_type() != "clip") config.refuse("model_type", "models::Clip has clip");
  const hub::Config text = tower_config(config, "text_config"), vision = tower_config(config, "vision_config");
  ClipOptions o;
  o.text = tower_options(text, o.text);
  o.vision = tower_options(vision, o.vision);
  o.vocabulary = text.integer("vocab_size", o.vocabulary);
  o.block = text.integer("max_position_embeddings", o.block);
  o.end_token = text.integer("eos_token_id", o.end_token);
  o.channels = vision.integer("num_channels", o.channels);
  o.image = hub::rows_and_columns(vision, "image_size", 224);
  o.patch = hub::rows_and_columns(vision, "patch_size", 32);
  o.projection = config.integer("projection_dim", o.projection);
  o.logit_scale = config.number("logit_scale_init_value", o.logit_scale);
  return o;
}

}  // namespace

Clip Clip::from_config(const hub::Config& config, const LayerMaker& make) {
  return make_clip(clip_options(config), make);
}

}  // namespace fulgurite::models
