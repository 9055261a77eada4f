#include "hub/rotary_config.h"

namespace fulgurite::hub {

models::RotaryScaling rotary_scaling(const Config& keys, int64_t original_block) {
  models::RotaryScaling scaling;
  scaling.kind = keys.string("rope_type", keys.string("type", "default"));
  scaling.factor = keys.number("factor", 1);
  scaling.original_block = keys.integer("original_max_position_embeddings", original_block);
  scaling.low_frequency_factor = keys.number("low_freq_factor", 1);
  scaling.high_frequency_factor = keys.number("high_freq_factor", 4);
  scaling.beta_fast = keys.number("beta_fast", 32);
  scaling.beta_slow = keys.number("beta_slow", 1);
  scaling.attention_factor = keys.number("attention_factor", 0);
  scaling.mscale = keys.number("mscale", 0);
  scaling.mscale_all_dim = keys.number("mscale_all_dim", 0);
  scaling.truncate = keys.boolean("truncate", true);
  for (const char* kind : {"default", "linear", "dynamic", "llama3", "yarn"})
    if (scaling.kind == kind) return scaling;
  keys.refuse(keys.has("rope_type") ? "rope_type" : "type", "there are default, linear, dynamic, llama3 and yarn");
}

RotaryKeys rotary_keys(const Config& config, int64_t block) {
  const Config keys = config.object(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  const double base = keys.number("rope_theta", config.number("rope_theta", 10000));
  const double share = keys.number("partial_rotary_factor", config.number("partial_rotary_factor", 1));
  return {base, share, rotary_scaling(keys, config.integer("original_max_position_embeddings", block))};
}

}  // namespace fulgurite::hub
