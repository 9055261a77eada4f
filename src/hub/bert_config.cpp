#include <fulgurite/hub/config.h>
#include <fulgurite/models/bert.h>

#include "hub/activation.h"
#include "hub/padding_token.h"

namespace fulgurite::models {

Bert Bert::from_config(const hub::Config& config, const LayerMaker& make) {
  const std::string family = config.model_type();
  const bool is_roberta = family == "roberta" || family == "xlm-roberta";
  if (family != "bert" && !is_roberta) config.refuse("model_type", "models::Bert has bert, roberta and xlm-roberta");
  if (config.string("position_embedding_type", "absolute") != "absolute")
    config.refuse("position_embedding_type", "there are absolute positions");
  BertOptions o;
  o.vocabulary = config.integer("vocab_size");
  o.layers = config.integer("num_hidden_layers");
  o.heads = config.integer("num_attention_heads");
  o.width = config.integer("hidden_size");
  o.hidden = config.integer("intermediate_size");
  o.block = config.integer("max_position_embeddings", 512);
  o.types = config.integer("type_vocab_size", 2);
  o.eps = config.number("layer_norm_eps", 1e-12);
  o.activation = hub::activation_of(config, "hidden_act", "gelu");
  o.padding = hub::padding_token(config, o.vocabulary, is_roberta ? 1 : 0);
  o.first_position = is_roberta ? config.integer("pad_token_id", 1) + 1 : 0;
  return make_bert(o, make);
}

}  // namespace fulgurite::models
