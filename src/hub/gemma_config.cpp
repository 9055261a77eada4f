#include <cmath>

#include <fulgurite/hub/config.h>
#include <fulgurite/models/gemma.h>

#include "hub/activation.h"
#include "hub/padding_token.h"
#include "hub/rotary_config.h"

namespace fulgurite::models {

namespace {

using hub::Config;

// Configs on the hub omit the keys whose values are the defaults of transformers.
GemmaOptions common_options(const Config& config, int64_t default_vocabulary) {
  GemmaOptions o;
  o.vocabulary = config.integer("vocab_size", default_vocabulary);
  o.layers = config.integer("num_hidden_layers");
  o.heads = config.integer("num_attention_heads", 8);
  o.key_value_heads = config.integer("num_key_value_heads", 4);
  o.width = config.integer("hidden_size");
  o.hidden = config.integer("intermediate_size");
  o.head_width = config.integer("head_dim", 256);
  o.eps = config.number("rms_norm_eps", 1e-6);
  o.attention_bias = config.boolean("attention_bias", false);
  o.tied = config.boolean("tie_word_embeddings", true);
  o.padding = hub::padding_token(config, o.vocabulary, 0);
  if (config.boolean("use_bidirectional_attention", false))
    config.refuse("use_bidirectional_attention", "language models attend to earlier tokens");
  return o;
}

void read_rotary(GemmaOptions& o, const Config& config) {
  const hub::RotaryKeys rotary = hub::rotary_keys(config, config.integer("max_position_embeddings", 8192));
  o.rotary_base = rotary.base;
  o.rotary_scaling = rotary.scaling;
}

// Gemma 3 has frequencies for each kind of layers: nested objects of transformers 5; "rope_theta" and "rope_scaling"
// for layers without a window, "rope_local_base_freq" for those with one in earlier ones.
void read_both_rotaries(GemmaOptions& o, const Config& config) {
  const Config both = config.object("rope_parameters");
  if (config.has("rope_parameters") && !both.has("full_attention"))
    config.refuse("rope_parameters", "gemma3 has an object full_attention and an object sliding_attention in it");
  const int64_t block = config.integer("max_position_embeddings", 131072);
  const Config all = config.has("rope_parameters") ? both.object("full_attention") : config.object("rope_scaling");
  const Config local = both.object("sliding_attention");
  o.rotary_base = all.number("rope_theta", config.number("rope_theta", 1e6));
  o.rotary_scaling = hub::rotary_scaling(all, block, block);
  o.local_rotary_base = local.number("rope_theta", config.number("rope_local_base_freq", 1e4));
  o.local_rotary_scaling = hub::rotary_scaling(local, block, block);
}

// Every `interval`-th layer attends to all positions, where "layer_types" does not list them.
void read_windows(GemmaOptions& o, const Config& config, int64_t interval) {
  o.window = config.is_null("sliding_window") ? 0 : config.integer("sliding_window", 4096);
  const std::vector<std::string> kinds = config.strings("layer_types");
  for (int64_t i = 0; i < o.layers; ++i) {
    const bool is_listed = i < static_cast<int64_t>(kinds.size());
    o.is_windowed.push_back(is_listed ? kinds[static_cast<size_t>(i)] == "sliding_attention" : (i + 1) % interval != 0);
  }
}

// A cap that is null is none.
double cap_of(const Config& config, const char* key, double otherwise) {
  return config.is_null(key) ? 0 : config.number(key, otherwise);
}

void read_caps(GemmaOptions& o, const Config& config, double score_cap, double logits_cap) {
  o.score_cap = cap_of(config, "attn_logit_softcapping", score_cap);
  o.logits_cap = cap_of(config, "final_logit_softcapping", logits_cap);
  o.attention_scale = 1 / std::sqrt(config.number("query_pre_attn_scalar", 256));
}

GemmaOptions first_options(const Config& config) {
  GemmaOptions o = common_options(config, 256000);
  o.heads = config.integer("num_attention_heads", 16);
  o.key_value_heads = config.integer("num_key_value_heads", 16);
  // The first files say gelu and mean its approximation with tanh.
  o.activation = config.string("hidden_act", "gelu") == "gelu" ? "gelu_pytorch_tanh"
                                                               : hub::activation_of(config, "hidden_act", "gelu");
  read_rotary(o, config);
  return o;
}

GemmaOptions later_options(const Config& config, bool is_third) {
  GemmaOptions o = common_options(config, is_third ? 262208 : 256000);
  o.activation = hub::activation_of(config, "hidden_activation", "gelu_pytorch_tanh");
  o.branch_norms = true;
  o.head_norms = is_third;
  if (is_third) {
    read_both_rotaries(o, config);
    read_windows(o, config, config.integer("sliding_window_pattern", config.integer("_sliding_window_pattern", 6)));
  } else {
    read_rotary(o, config);
    read_windows(o, config, 2);
  }
  return o;
}

GemmaOptions options_of(const Config& config) {
  const std::string family = config.model_type();
  if (family == "gemma") return first_options(config);
  if (family != "gemma2" && family != "gemma3" && family != "gemma3_text")
    config.refuse("model_type", "models::Gemma has gemma, gemma2, gemma3 and gemma3_text");
  const Config text = family == "gemma3" ? config.object("text_config") : config;
  GemmaOptions o = later_options(text, family != "gemma2");
  if (family == "gemma2") read_caps(o, text, 50, 30);
  else read_caps(o, text, 0, 0);
  if (family == "gemma3") o.tied = config.boolean("tie_word_embeddings", true);
  return o;
}

}  // namespace

Gemma Gemma::from_config(const hub::Config& config, const LayerMaker& make) {
  return make_gemma(options_of(config), make);
}

}  // namespace fulgurite::models
