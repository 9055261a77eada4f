#include <fulgurite/error.h>
#include <fulgurite/models/bert.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

BertAttention::Output make_output(const BertOptions& o, int64_t in, const LayerMaker& make) {
  return {make.linear(in, o.width, true), make.layer_norm(o.width, o.eps)};
}

BertLayer make_layer(const BertOptions& o, const LayerMaker& make) {
  BertLayer layer;
  layer.attention.self.query = make.linear(o.width, o.width, true);
  layer.attention.self.key = make.linear(o.width, o.width, true);
  layer.attention.self.value = make.linear(o.width, o.width, true);
  layer.attention.self.heads = o.heads;
  layer.attention.output = make_output(o, o.width, make);
  layer.intermediate = {make.linear(o.width, o.hidden, true), o.activation};
  layer.output = make_output(o, o.hidden, make);
  return layer;
}

}  // namespace

Bert make_bert(const BertOptions& o, const LayerMaker& make) {
  if (o.heads < 1 || o.width % o.heads != 0)
    throw UserError(text::cat("make_bert: width ", o.width, " must be a multiple of the heads ", o.heads));
  Bert model;
  model.embeddings.word_embeddings = make.embedding(o.vocabulary, o.width);
  model.embeddings.word_embeddings.padding_idx = o.padding;
  model.embeddings.position_embeddings = make.embedding(o.block, o.width);
  model.embeddings.token_type_embeddings = make.embedding(o.types, o.width);
  model.embeddings.LayerNorm = make.layer_norm(o.width, o.eps);
  model.embeddings.first_position = o.first_position;
  for (int64_t i = 0; i < o.layers; ++i) model.encoder.layer.push_back(make_layer(o, make));
  model.pooler.dense = make.linear(o.width, o.width, true);
  return model;
}

}  // namespace fulgurite::models
