#include <fulgurite/hub/config.h>
#include <fulgurite/models/llama.h>

#include "hub/activation.h"
#include "hub/padding_token.h"
#include "hub/rotary_config.h"

namespace fulgurite::models {

namespace {

using hub::Config;

LlamaOptions common_options(const Config& config) {
  LlamaOptions o;
  o.vocabulary = config.integer("vocab_size");
  o.layers = config.integer("num_hidden_layers");
  o.heads = config.integer("num_attention_heads");
  o.key_value_heads = config.integer("num_key_value_heads", o.heads);
  o.width = config.integer("hidden_size");
  o.hidden = config.integer("intermediate_size");
  o.block = config.integer("max_position_embeddings", 2048);
  o.eps = config.number("rms_norm_eps", 1e-6);
  o.head_width = config.integer("head_dim", o.heads > 0 ? o.width / o.heads : 0);
  o.activation = hub::activation_of(config, "hidden_act", "silu");
  const hub::RotaryKeys rotary = hub::rotary_keys(config, o.block);
  o.rotary_base = rotary.base;
  o.rotary_share = rotary.share;
  o.rotary_scaling = rotary.scaling;
  o.query_bias = o.output_bias = config.boolean("attention_bias", false);
  o.mlp_bias = config.boolean("mlp_bias", false);
  return o;
}

// Layers with a window: "layer_types", or those from "max_window_layers" on.
void read_windows(LlamaOptions& o, const Config& config, bool is_used) {
  o.window = is_used ? config.integer("sliding_window", 0) : 0;
  if (o.window == 0) return;
  const std::vector<std::string> kinds = config.strings("layer_types");
  const int64_t first = config.integer("max_window_layers", 0);
  for (int64_t i = 0; i < o.layers; ++i) {
    const bool is_listed = i < static_cast<int64_t>(kinds.size());
    o.is_windowed.push_back(is_listed ? kinds[static_cast<size_t>(i)] == "sliding_attention" : i >= first);
  }
}

void read_rotated_layers(LlamaOptions& o, const Config& config) {
  const std::vector<int64_t> rotated = config.integers("no_rope_layers");  // 1 for layers that have rotary positions
  const int64_t interval = config.integer("no_rope_layer_interval", 4);
  for (int64_t i = 0; i < o.layers; ++i) {
    const bool is_listed = i < static_cast<int64_t>(rotated.size());
    o.is_rotated.push_back(is_listed ? rotated[static_cast<size_t>(i)] != 0 : (i + 1) % interval != 0);
  }
}

void read_granite(LlamaOptions& o, const Config& config) {
  o.embedding_scale = config.number("embedding_multiplier", 1);
  o.attention_scale = config.number("attention_multiplier", 1);
  o.residual_scale = config.number("residual_multiplier", 1);
  o.logits_scale = config.number("logits_scaling", 1);
}

// The token for padding of transformers' config class.
std::optional<int64_t> default_padding(std::string_view family) {
  if (family == "olmo2") return 1;
  if (family == "smollm3") return 128004;
  return std::nullopt;
}

LlamaOptions options_of(const Config& config) {
  LlamaOptions o = common_options(config);
  const std::string family = config.model_type();
  o.tied = config.boolean("tie_word_embeddings", family == "smollm3");
  o.padding = hub::padding_token(config, o.vocabulary, default_padding(family));
  if (family == "llama") return o;
  if (family == "mistral") {
    o.query_bias = o.output_bias = false;
    read_windows(o, config, true);
  } else if (family == "qwen2") {
    o.query_bias = true;
    o.output_bias = false;
    read_windows(o, config, config.boolean("use_sliding_window", false));
  } else if (family == "qwen3") {
    o.head_width = config.integer("head_dim", 128);
    o.head_norms = true;
    read_windows(o, config, config.boolean("use_sliding_window", false));
  } else if (family == "smollm3") {
    read_rotated_layers(o, config);
    read_windows(o, config, config.boolean("use_sliding_window", false));
  } else if (family == "olmo2") {
    o.width_norms = o.norms_after = true;
  } else if (family == "granite") {
    read_granite(o, config);
  } else {
    config.refuse("model_type", "models::Llama has llama, mistral, qwen2, qwen3, smollm3, olmo2 and granite");
  }
  return o;
}

}  // namespace

Llama Llama::from_config(const hub::Config& config, const LayerMaker& make) {
  return make_llama(options_of(config), make);
}

}  // namespace fulgurite::models
