#include <fulgurite/hub/config.h>
#include <fulgurite/models/whisper.h>

#include "hub/activation.h"
#include "hub/padding_token.h"

namespace fulgurite::models {

Whisper Whisper::from_config(const hub::Config& config, const LayerMaker& make) {
  if (config.model_type() != "whisper") config.refuse("model_type", "models::Whisper has whisper");
  WhisperOptions o;
  o.vocabulary = config.integer("vocab_size", o.vocabulary);
  o.mel_bins = config.integer("num_mel_bins", o.mel_bins);
  o.layers = config.integer("encoder_layers", o.layers);
  o.decoder_layers = config.integer("decoder_layers", o.decoder_layers);
  o.heads = config.integer("encoder_attention_heads", o.heads);
  o.decoder_heads = config.integer("decoder_attention_heads", o.decoder_heads);
  o.width = config.integer("d_model", o.width);
  o.hidden = config.integer("encoder_ffn_dim", o.hidden);
  o.decoder_hidden = config.integer("decoder_ffn_dim", o.decoder_hidden);
  o.source_positions = config.integer("max_source_positions", o.source_positions);
  o.target_positions = config.integer("max_target_positions", o.target_positions);
  o.activation = hub::activation_of(config, "activation_function", o.activation);
  o.tied = config.boolean("tie_word_embeddings", true);
  o.start_token = config.integer("decoder_start_token_id", o.start_token);
  o.padding = hub::padding_token(config, o.vocabulary, 50256);
  return make_whisper(o, make);
}

}  // namespace fulgurite::models
