#include <fulgurite/error.h>
#include <fulgurite/models/activation.h>
#include <fulgurite/models/image_classification.h>
#include <fulgurite/models/vit.h>
#include <fulgurite/operators.h>

#include "nn/models/images.h"
#include "support/text/text.h"

namespace fulgurite::models {

namespace {

VitLayer make_layer(const VitOptions& o, const LayerMaker& make) {
  VitLayer layer;
  layer.attention.attention.query = make.linear(o.width, o.width, o.query_bias);
  layer.attention.attention.key = make.linear(o.width, o.width, o.query_bias);
  layer.attention.attention.value = make.linear(o.width, o.width, o.query_bias);
  layer.attention.attention.heads = o.heads;
  layer.attention.output.dense = make.linear(o.width, o.width, true);
  layer.intermediate.dense = make.linear(o.width, o.hidden, true);
  layer.output.dense = make.linear(o.hidden, o.width, true);
  layer.layernorm_before = make.layer_norm(o.width, o.eps);
  layer.layernorm_after = make.layer_norm(o.width, o.eps);
  layer.activation = o.activation;
  return layer;
}

VitEmbeddings make_embeddings(const VitOptions& o, const LayerMaker& make) {
  const Grid grid = grid_of(o.image, o.patch);
  VitEmbeddings embeddings;
  embeddings.cls_token = make.parameter({1, 1, o.width}, 0.02);
  embeddings.position_embeddings = make.parameter({1, 1 + grid[0] * grid[1], o.width}, 0.02);
  const nn::WindowSizes patch{o.patch[0], o.patch[1]};
  embeddings.patch_embeddings.projection = make.conv2d(o.channels, o.width, patch, patch, {0}, true);
  embeddings.image = o.image;
  return embeddings;
}

}  // namespace

Tensor VitEmbeddings::operator()(const Tensor& images, bool interpolates) const {
  const nn::Conv2d& projection = patch_embeddings.projection;
  check_images("Vit", images, projection.weight, interpolates ? std::nullopt : std::optional(image));
  const Grid patch{projection.stride.at(0), projection.stride.at(1)};
  const Grid wanted = grid_of({images.size(2), images.size(3)}, patch);
  const Tensor patches = patch_rows(projection, images);
  const Tensor first = expand(cls_token, {images.size(0), 1, cls_token.size(2)});
  const Tensor rows = cat({first, patches}, 1);
  const Tensor positions = interpolate_positions(position_embeddings, grid_of(image, patch), wanted);
  return rows + positions;
}

Tensor VitLayer::operator()(const Tensor& x) const {
  const Tensor before = layernorm_before(x);
  const Tensor attended = attention.attention(before, {});
  const Tensor y = attention.output.dense(attended) + x;
  const Tensor after = layernorm_after(y);
  const Tensor hidden = activate(intermediate.dense(after), activation);
  return output.dense(hidden) + y;
}

Tensor Vit::operator()(const Tensor& images, bool interpolates) const {
  Tensor x = embeddings(images, interpolates);
  for (const VitLayer& layer : encoder.layer) x = layer(x);
  return layernorm(x);
}

Tensor Vit::pooled(const Tensor& features) const {
  if (!pooler.dense.has_weight()) throw UserError("Vit: the model has no pooler; its files have no tensors of one");
  const Tensor y = pooler.dense(select(features, 1, 0));
  return activate(y, pooler.activation);
}

Tensor VitClassifier::operator()(const Tensor& images, bool interpolates) const {
  const Tensor features = vit(images, interpolates);
  return classifier(select(features, 1, 0));
}

Tensor VitClassifier::loss(const Tensor& images, const Tensor& labels, bool interpolates) const {
  const Tensor logits = (*this)(images, interpolates);
  return image_classification_loss(logits, labels, problem_type);
}

Vit make_vit(const VitOptions& o, const LayerMaker& make) {
  if (o.heads < 1 || o.width % o.heads != 0)
    throw UserError(text::cat("make_vit: width ", o.width, " must be a multiple of the heads ", o.heads));
  Vit model;
  model.embeddings = make_embeddings(o, make);
  for (int64_t i = 0; i < o.layers; ++i) model.encoder.layer.push_back(make_layer(o, make));
  model.layernorm = make.layer_norm(o.width, o.eps);
  model.pooler = {make.linear(o.width, o.pooled_width, true), o.pooled_activation};
  return model;
}

}  // namespace fulgurite::models
