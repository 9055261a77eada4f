#include "hub/rotary_config.h"

namespace fulgurite::hub {

models::RotaryScaling rotary_scaling(const Config& keys, int64_t block, int64_t original_block) {
  models::RotaryScaling scaling;
  scaling.kind = keys.string("rope_type", keys.string("type", "default"));
  if (scaling.kind == "su") scaling.kind = "longrope";  // its first name
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
  scaling.short_factors = keys.numbers("short_factor");
  scaling.long_factors = keys.numbers("long_factor");
  if (scaling.kind == "longrope" && !keys.has("factor") && scaling.original_block > 0)
    scaling.factor = static_cast<double>(block) / static_cast<double>(scaling.original_block);
  for (const char* kind : {"default", "linear", "dynamic", "llama3", "yarn", "longrope"})
    if (scaling.kind == kind) return scaling;
  keys.refuse(keys.has("rope_type") ? "rope_type" : "type",
              "there are default, linear, dynamic, llama3, yarn and longrope");
}

RotaryKeys rotary_keys(const Config& config, int64_t block, double default_share) {
  const Config keys = config.object(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  const double base = keys.number("rope_theta", config.number("rope_theta", 10000));
  const double share = keys.number("partial_rotary_factor", config.number("partial_rotary_factor", default_share));
  return {base, share, rotary_scaling(keys, block, config.integer("original_max_position_embeddings", block))};
}

}  // namespace fulgurite::hub
