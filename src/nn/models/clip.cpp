#include <fulgurite/error.h>
#include <fulgurite/models/activation.h>
#include <fulgurite/models/clip.h>
#include <fulgurite/models/vit.h>
#include <fulgurite/operators.h>

#include "nn/models/images.h"
#include "support/text/text.h"

namespace fulgurite::models {

namespace {

// Files that were written before transformers corrected the end token's number have this one.
constexpr int64_t uncorrected_end_token = 2;

ClipLayer make_layer(const ClipTowerOptions& o, const LayerMaker& make) {
  ClipLayer layer;
  for (nn::Linear* projection :
       {&layer.self_attn.k_proj, &layer.self_attn.v_proj, &layer.self_attn.q_proj, &layer.self_attn.out_proj})
    *projection = make.linear(o.width, o.width, true);
  layer.self_attn.heads = o.heads;
  layer.layer_norm1 = make.layer_norm(o.width, o.eps);
  layer.mlp = {make.linear(o.width, o.hidden, true), make.linear(o.hidden, o.width, true), o.activation};
  layer.layer_norm2 = make.layer_norm(o.width, o.eps);
  return layer;
}

ClipEncoder make_encoder(const ClipTowerOptions& o, const LayerMaker& make) {
  if (o.heads < 1 || o.width % o.heads != 0)
    throw UserError(text::cat("make_clip: width ", o.width, " must be a multiple of the heads ", o.heads));
  ClipEncoder encoder;
  for (int64_t i = 0; i < o.layers; ++i) encoder.layers.push_back(make_layer(o, make));
  return encoder;
}

ClipText make_text(const ClipOptions& o, const LayerMaker& make) {
  ClipText tower;
  tower.embeddings.token_embedding = make.embedding(o.vocabulary, o.text.width);
  tower.embeddings.position_embedding = make.embedding(o.block, o.text.width);
  tower.encoder = make_encoder(o.text, make);
  tower.final_layer_norm = make.layer_norm(o.text.width, o.text.eps);
  tower.end_token = o.end_token;
  return tower;
}

ClipVision make_vision(const ClipOptions& o, const LayerMaker& make) {
  const Grid grid = grid_of(o.image, o.patch);
  const nn::WindowSizes patch{o.patch[0], o.patch[1]};
  ClipVision tower;
  tower.embeddings.class_embedding = make.parameter({o.vision.width}, 0.02);
  tower.embeddings.patch_embedding = make.conv2d(o.channels, o.vision.width, patch, patch, {0});
  tower.embeddings.position_embedding = make.embedding(1 + grid[0] * grid[1], o.vision.width);
  tower.embeddings.image = o.image;
  tower.pre_layrnorm = make.layer_norm(o.vision.width, o.vision.eps);
  tower.encoder = make_encoder(o.vision, make);
  tower.post_layernorm = make.layer_norm(o.vision.width, o.vision.eps);
  return tower;
}

Tensor divided(const Tensor& y, int64_t heads) {
  return transpose(reshape(y, {y.size(0), y.size(1), heads, y.size(2) / heads}), 1, 2);
}

// The tokens up to each token, without padding: [batch, 1, length, length].
Tensor causal_mask(const Tensor& mask, Int length) {
  const Tensor earlier = tril(ones({length, length}, {.dtype = Dtype::boolean}));
  const Tensor tokens = reshape(mask.to(Dtype::boolean), {mask.size(0), 1, 1, length});
  return logical_and(earlier, tokens);
}

Tensor normalized(const Tensor& vectors) {
  const Tensor squares = sum(vectors * vectors, {-1}, true);
  return vectors / sqrt(squares);
}

}  // namespace

Tensor ClipLayer::Attention::operator()(const Tensor& x, const Tensor& mask, bool is_causal) const {
  const Tensor q = divided(q_proj(x), heads);
  const Tensor k = divided(k_proj(x), heads);
  const Tensor v = divided(v_proj(x), heads);
  const Tensor y = nn::scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal && !mask.defined());
  return out_proj(reshape(transpose(y, 1, 2), {x.size(0), x.size(1), x.size(2)}));
}

Tensor ClipLayer::Mlp::operator()(const Tensor& x) const { return fc2(activate(fc1(x), activation)); }

Tensor ClipLayer::operator()(const Tensor& x, const Tensor& mask, bool is_causal) const {
  const Tensor y = self_attn(layer_norm1(x), mask, is_causal) + x;
  return mlp(layer_norm2(y)) + y;
}

Tensor ClipEncoder::operator()(const Tensor& x, const Tensor& mask, bool is_causal) const {
  Tensor y = x;
  for (const ClipLayer& layer : layers) y = layer(y, mask, is_causal);
  return y;
}

Tensor ClipText::operator()(const Tensor& tokens, const Tensor& mask) const {
  const Tensor& table = embeddings.position_embedding.weight;
  if (tokens.ndim() != 2 || tokens.size(1) > table.size(0))
    throw UserError(text::cat("Clip takes tokens [batch, length] of at most ", table.size(0), " tokens, got shape ",
                              tokens.shape()));
  const Int length = tokens.size(1);
  const Tensor words = embeddings.token_embedding(tokens);
  const Tensor positions = narrow(table, 0, 0, length);
  const Tensor attended = mask.defined() ? causal_mask(mask, length) : Tensor();
  return final_layer_norm(encoder(words + positions, attended, true));
}

Tensor ClipText::pooled(const Tensor& features, const Tensor& tokens) const {
  const Tensor is_end = end_token == uncorrected_end_token ? tokens : eq(tokens, end_token).to(Dtype::i64);
  const Tensor at = reshape(argmax(is_end, 1), {tokens.size(0), 1, 1});
  const Tensor rows = gather(features, 1, expand(at, {tokens.size(0), 1, features.size(2)}));
  return squeeze(rows, 1);
}

Tensor ClipVision::operator()(const Tensor& images, bool interpolates) const {
  const nn::Conv2d& projection = embeddings.patch_embedding;
  check_images("Clip", images, projection.weight, interpolates ? std::nullopt : std::optional(embeddings.image));
  const Grid patch{projection.stride.at(0), projection.stride.at(1)};
  const Grid wanted = grid_of({images.size(2), images.size(3)}, patch);
  const Tensor patches = patch_rows(projection, images);
  const Tensor first = expand(embeddings.class_embedding, {images.size(0), 1, patches.size(2)});
  const Tensor rows = cat({first, patches}, 1);
  const Tensor table = unsqueeze(embeddings.position_embedding.weight, 0);
  const Tensor positions = interpolate_positions(table, grid_of(embeddings.image, patch), wanted);
  return encoder(pre_layrnorm(rows + positions), {}, false);
}

Tensor ClipVision::pooled(const Tensor& features) const { return post_layernorm(select(features, 1, 0)); }

Tensor Clip::text_features(const Tensor& tokens, const Tensor& mask) const {
  const Tensor features = text_model(tokens, mask);
  return text_projection(text_model.pooled(features, tokens));
}

Tensor Clip::image_features(const Tensor& images, bool interpolates) const {
  const Tensor features = vision_model(images, interpolates);
  return visual_projection(vision_model.pooled(features));
}

ClipScores Clip::operator()(const Tensor& tokens, const Tensor& images, const Tensor& mask, bool interpolates) const {
  ClipScores scores;
  scores.image_embeds = normalized(image_features(images, interpolates));
  scores.text_embeds = normalized(text_features(tokens, mask));
  const Tensor likeness = matmul(scores.text_embeds, transpose(scores.image_embeds, 0, 1));
  scores.logits_per_text = likeness * exp(logit_scale);
  scores.logits_per_image = transpose(scores.logits_per_text, 0, 1);
  return scores;
}

Tensor Clip::loss(const Tensor& tokens, const Tensor& images, const Tensor& mask, bool interpolates) const {
  if (tokens.size(0) != images.size(0))
    throw UserError(text::cat("Clip: the loss takes one text for each image, got ", tokens.size(0), " texts and ",
                              images.size(0), " images"));
  const ClipScores scores = (*this)(tokens, images, mask, interpolates);
  const Tensor pairs = arange(tokens.size(0));
  const Tensor of_texts = nn::cross_entropy(scores.logits_per_text, pairs);
  const Tensor of_images = nn::cross_entropy(scores.logits_per_image, pairs);
  return (of_texts + of_images) / 2;
}

Clip make_clip(const ClipOptions& o, const LayerMaker& make) {
  Clip model;
  model.text_model = make_text(o, make);
  model.vision_model = make_vision(o, make);
  model.visual_projection = make.linear(o.vision.width, o.projection);
  model.text_projection = make.linear(o.text.width, o.projection);
  model.logit_scale = make.parameter({}, 0, o.logit_scale);
  return model;
}

}  // namespace fulgurite::models
