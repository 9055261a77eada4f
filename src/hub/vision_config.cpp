#include "hub/vision_config.h"

#include <fulgurite/models/resnet.h>
#include <fulgurite/models/vit.h>

#include "hub/activation.h"
#include "support/text/text.h"

namespace fulgurite::hub {

std::array<int64_t, 2> rows_and_columns(const Config& config, std::string_view key, int64_t otherwise) {
  if (!config.has(key)) return {otherwise, otherwise};
  const std::vector<int64_t> sizes = config.integers(key);
  if (sizes.size() == 1) return {sizes[0], sizes[0]};
  if (sizes.size() != 2) config.refuse(key, "it must be one number, or rows and columns");
  return {sizes[0], sizes[1]};
}

std::vector<std::string> labels_of(const Config& config) {
  std::vector<std::string> labels;
  const auto count = static_cast<int64_t>(config.has("id2label") ? config.keys("id2label").size() : 0);
  const Config names = config.object("id2label");
  const int64_t classes = count > 0 ? count : config.integer("num_labels", 2);
  if (classes < 1) config.refuse("num_labels", "a classifier needs a class");
  for (int64_t i = 0; i < classes; ++i) {
    const std::string index = std::to_string(i);
    if (count > 0 && !names.has(index)) config.refuse("id2label", text::cat("the label of class ", i, " is missing"));
    labels.push_back(names.string(index, "LABEL_" + index));
  }
  return labels;
}

std::string problem_type_of(const Config& config) {
  std::string type = config.string("problem_type", "");
  for (const char* known : {"", "regression", "single_label_classification", "multi_label_classification"})
    if (type == known) return type;
  config.refuse("problem_type", "there are regression, single_label_classification and multi_label_classification");
}

}  // namespace fulgurite::hub

namespace fulgurite::models {

namespace {

VitOptions vit_options(const hub::Config& config) {
  if (config.model_type() != "vit") config.refuse("model_type", "models::Vit has vit");
  VitOptions o;
  o.channels = config.integer("num_channels", 3);
  o.image = hub::rows_and_columns(config, "image_size", 224);
  o.patch = hub::rows_and_columns(config, "patch_size", 16);
  o.layers = config.integer("num_hidden_layers", 12);
  o.heads = config.integer("num_attention_heads", 12);
  o.width = config.integer("hidden_size", 768);
  o.hidden = config.integer("intermediate_size", 3072);
  o.eps = config.number("layer_norm_eps", 1e-12);
  o.activation = hub::activation_of(config, "hidden_act", "gelu");
  o.query_bias = config.boolean("qkv_bias", true);
  o.pooled_width = config.integer("pooler_output_size", o.width);
  o.pooled_activation = hub::activation_of(config, "pooler_act", "tanh");
  return o;
}

ResnetOptions resnet_options(const hub::Config& config) {
  if (config.model_type() != "resnet") config.refuse("model_type", "models::Resnet has resnet");
  ResnetOptions o;
  o.channels = config.integer("num_channels", 3);
  o.stem_width = config.integer("embedding_size", 64);
  if (config.has("hidden_sizes")) o.widths = config.integers("hidden_sizes");
  if (config.has("depths")) o.depths = config.integers("depths");
  const std::string kind = config.string("layer_type", "bottleneck");
  if (kind != "basic" && kind != "bottleneck") config.refuse("layer_type", "there are basic and bottleneck");
  o.bottleneck = kind == "bottleneck";
  o.activation = hub::activation_of(config, "hidden_act", "relu");
  o.downsample_first_stage = config.boolean("downsample_in_first_stage", false);
  o.downsample_in_bottleneck = config.boolean("downsample_in_bottleneck", false);
  return o;
}

template <class Classifier>
void add_head(Classifier& model, const hub::Config& config, int64_t width, const LayerMaker& make) {
  model.labels = hub::labels_of(config);
  model.classifier = make.linear(width, static_cast<int64_t>(model.labels.size()), true);
  model.problem_type = hub::problem_type_of(config);
}

}  // namespace

Vit Vit::from_config(const hub::Config& config, const LayerMaker& make) { return make_vit(vit_options(config), make); }

VitClassifier VitClassifier::from_config(const hub::Config& config, const LayerMaker& make) {
  VitClassifier model;
  const VitOptions options = vit_options(config);
  model.vit = make_vit(options, make);
  model.vit.pooler = {};
  add_head(model, config, options.width, make);
  return model;
}

Resnet Resnet::from_config(const hub::Config& config, const LayerMaker& make) {
  return make_resnet(resnet_options(config), make);
}

ResnetClassifier ResnetClassifier::from_config(const hub::Config& config, const LayerMaker& make) {
  ResnetClassifier model;
  const ResnetOptions options = resnet_options(config);
  model.resnet = make_resnet(options, make);
  add_head(model, config, options.widths.back(), make);
  return model;
}

}  // namespace fulgurite::models
