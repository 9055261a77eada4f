#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/models/activation.h>
#include <fulgurite/models/image_classification.h>
#include <fulgurite/models/resnet.h>
#include <fulgurite/operators.h>

#include "nn/models/images.h"
#include "support/text/text.h"

namespace fulgurite::models {

namespace {

constexpr int64_t bottleneck_reduction = 4;

nn::Conv2d make_convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride, const LayerMaker& make) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
  return make.conv2d(in, out, {kernel, kernel}, {stride}, {kernel / 2}, false, deviation);
}

ResnetConvolution make_block(int64_t in, int64_t out, int64_t kernel, int64_t stride, const std::string& activation,
                             const LayerMaker& make) {
  return {make_convolution(in, out, kernel, stride, make), make.batch_norm2d(out), activation};
}

// The inner convolutions have relu whatever the config's activation is, as in transformers.
std::vector<ResnetConvolution> make_blocks(const ResnetOptions& o, int64_t in, int64_t out, int64_t stride,
                                           const LayerMaker& make) {
  if (!o.bottleneck) return {make_block(in, out, 3, stride, "relu", make), make_block(out, out, 3, 1, "", make)};
  const int64_t reduced = out / bottleneck_reduction;
  const int64_t first = o.downsample_in_bottleneck ? stride : 1;
  return {make_block(in, reduced, 1, first, "relu", make),
          make_block(reduced, reduced, 3, stride / first, "relu", make), make_block(reduced, out, 1, 1, "", make)};
}

ResnetLayer make_layer(const ResnetOptions& o, int64_t in, int64_t out, int64_t stride, const LayerMaker& make) {
  ResnetLayer layer;
  if (in != out || stride != 1)
    layer.shortcut = ResnetLayer::Shortcut{make_convolution(in, out, 1, stride, make), make.batch_norm2d(out)};
  layer.layer = make_blocks(o, in, out, stride, make);
  layer.activation = o.activation;
  return layer;
}

Resnet::Stage make_stage(const ResnetOptions& o, size_t index, const LayerMaker& make) {
  const int64_t in = index == 0 ? o.stem_width : o.widths[index - 1], out = o.widths[index];
  const int64_t stride = index == 0 && !o.downsample_first_stage ? 1 : 2;
  Resnet::Stage stage;
  stage.layers.push_back(make_layer(o, in, out, stride, make));
  for (int64_t i = 1; i < o.depths[index]; ++i) stage.layers.push_back(make_layer(o, out, out, 1, make));
  return stage;
}

void check(const ResnetOptions& o) {
  if (o.widths.empty() || o.widths.size() != o.depths.size())
    throw UserError(text::cat("make_resnet: there are ", o.widths.size(), " widths of stages and ", o.depths.size(),
                              " depths; they must be as many, at least one"));
  for (const int64_t depth : o.depths)
    if (depth < 1) throw UserError(text::cat("make_resnet: a stage needs a layer, its depth is ", depth));
}

}  // namespace

Tensor ResnetConvolution::operator()(const Tensor& x) const {
  const Tensor y = normalization(convolution(x));
  return activation.empty() ? y : activate(y, activation);
}

Tensor ResnetLayer::operator()(const Tensor& x) const {
  Tensor y = x;
  for (const ResnetConvolution& block : layer) y = block(y);
  const Tensor residual = shortcut ? shortcut->normalization(shortcut->convolution(x)) : x;
  return activate(y + residual, activation);
}

Tensor Resnet::operator()(const Tensor& images) const {
  const Tensor& weight = embedder.embedder.convolution.weight;
  check_images("Resnet", images, weight, {});
  const Tensor stem = embedder.embedder(images.to(weight.dtype()));
  Tensor x = embedder.pooler(stem);
  for (const Stage& stage : encoder.stages)
    for (const ResnetLayer& layer : stage.layers) x = layer(x);
  return x;
}

Tensor Resnet::pooled(const Tensor& features) const { return flatten(nn::adaptive_avg_pool2d(features, {1, 1}), 1); }

Tensor ResnetClassifier::operator()(const Tensor& images) const { return classifier(resnet.pooled(resnet(images))); }

Tensor ResnetClassifier::loss(const Tensor& images, const Tensor& labels) const {
  const Tensor logits = (*this)(images);
  return image_classification_loss(logits, labels, problem_type);
}

Resnet make_resnet(const ResnetOptions& o, const LayerMaker& make) {
  check(o);
  Resnet model;
  model.embedder.embedder = make_block(o.channels, o.stem_width, 7, 2, o.activation, make);
  model.embedder.pooler = nn::MaxPool2d(3, 2, 1);
  for (size_t i = 0; i < o.widths.size(); ++i) model.encoder.stages.push_back(make_stage(o, i, make));
  return model;
}

}  // namespace fulgurite::models
