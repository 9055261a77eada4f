#include <fulgurite/hub/config.h>
#include <fulgurite/models/t5.h>

#include "hub/activation.h"

namespace fulgurite::models {

namespace {

using hub::Config;

// "relu", "gated-gelu", "gated-silu", …
void read_feed_forward(T5Options& o, const Config& config, const std::string& otherwise) {
  const std::string kind = config.string("feed_forward_proj", otherwise);
  o.is_gated = kind.starts_with("gated-");
  // The first files of T5 1.1 say gelu and mean its approximation with tanh.
  o.activation = kind == "gated-gelu"
                     ? "gelu_pytorch_tanh"
                     : hub::activation_named(config, "feed_forward_proj", o.is_gated ? kind.substr(6) : kind);
}

// "scale_decoder_outputs" of transformers 5; earlier ones scale where the weights are tied.
bool scales_output(const Config& config) {
  return config.boolean("scale_decoder_outputs", config.boolean("tie_word_embeddings", true));
}

}  // namespace

T5 T5::from_config(const Config& config, const LayerMaker& make) {
  const std::string family = config.model_type();
  const bool is_mt5 = family == "mt5";
  if (family != "t5" && !is_mt5) config.refuse("model_type", "models::T5 has t5 and mt5");
  T5Options o;
  o.vocabulary = config.integer("vocab_size");
  o.layers = config.integer("num_layers");
  o.decoder_layers = config.integer("num_decoder_layers", o.layers);
  o.heads = config.integer("num_heads");
  o.head_width = config.integer("d_kv");
  o.width = config.integer("d_model");
  o.hidden = config.integer("d_ff");
  o.buckets = config.integer("relative_attention_num_buckets", 32);
  o.max_distance = config.integer("relative_attention_max_distance", 128);
  o.eps = config.number("layer_norm_epsilon", 1e-6);
  read_feed_forward(o, config, is_mt5 ? "gated-gelu" : "relu");
  o.scales_output = !is_mt5 && scales_output(config);
  o.start_token = config.integer("decoder_start_token_id", config.integer("pad_token_id", 0));
  o.padding = config.integer("pad_token_id", 0);
  o.tied = make.initialize;  // files with weights of the output layer have them, whatever the config says
  return make_t5(o, make);
}

}  // namespace fulgurite::models
