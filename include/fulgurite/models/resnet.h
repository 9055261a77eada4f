#pragma once
#include <fulgurite/detail/requirements.h>

// The residual network (He et al. 2015) with the members of transformers: the path of a tensor is its name in a
// checkpoint.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/convolution_layers.h>
#include <fulgurite/fields.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {
class Config;
}

namespace models {

/// Sizes of a Resnet.
struct ResnetOptions {
  int64_t channels = 3;
  int64_t stem_width = 64;
  std::vector<int64_t> widths{256, 512, 1024, 2048};  // channels after each stage
  std::vector<int64_t> depths{3, 4, 6, 3};            // layers of each stage
  bool bottleneck = true;                             // false: two convolutions of 3 x 3 a layer
  std::string activation = "relu";
  bool downsample_first_stage = false;
  bool downsample_in_bottleneck = false;  // in the first convolution of a bottleneck instead of the second
};

/// Convolution, batch norm and an activation; none if its name is empty.
struct ResnetConvolution {
  nn::Conv2d convolution;
  nn::BatchNorm2d normalization;
  std::string activation;

  Tensor operator()(const Tensor& x) const;
};

/// Convolutions, and the input added to their result; through a convolution of its own if the sizes differ.
struct ResnetLayer {
  struct Shortcut {
    nn::Conv2d convolution;
    nn::BatchNorm2d normalization;
  };
  std::optional<Shortcut> shortcut;
  std::vector<ResnetConvolution> layer;
  std::string activation = "relu";

  Tensor operator()(const Tensor& x) const;
};

/// The residual network without a head: images [batch, channels, rows, columns], in f32 or the dtype of the weights, to
/// features [batch, width, rows / 32, columns / 32] of four stages. nn::train makes batch norms use and update
/// statistics of batches; a loaded model uses those of the files.
struct Resnet {
  struct Embedder {
    ResnetConvolution embedder;
    nn::MaxPool2d pooler;
  };
  struct Stage {
    std::vector<ResnetLayer> layers;
  };
  struct Encoder {
    std::vector<Stage> stages;
  };
  Embedder embedder;
  Encoder encoder;

  Tensor operator()(const Tensor& images) const;
  /// The mean of each channel: [batch, width].
  Tensor pooled(const Tensor& features) const;

  /// The model that a config.json of the family resnet describes.
  static Resnet from_config(const hub::Config& config, const LayerMaker& make);
  /// Files of models with a head name the body, and have the head's tensors too.
  static constexpr std::array<std::string_view, 1> extra_prefixes = {"resnet."};
  static bool is_ignorable(std::string_view name) { return name.starts_with("classifier."); }
};

/// A residual network with a linear layer on its pooled features: images to the scores of classes [batch, classes].
struct ResnetClassifier {
  Resnet resnet;
  nn::Linear classifier;            // "classifier.1" in files
  std::vector<std::string> labels;  // the names of the classes
  std::string problem_type;         // as image_classification_loss takes it

  Tensor operator()(const Tensor& images) const;
  /// The loss of predicting `labels`: image_classification_loss.
  Tensor loss(const Tensor& images, const Tensor& labels) const;

  static ResnetClassifier from_config(const hub::Config& config, const LayerMaker& make);
};

/// Returns a model with He's initial values. UserError if there are not as many depths as widths, or a stage has no
/// layer.
Resnet make_resnet(const ResnetOptions& options, const LayerMaker& make = {});

}  // namespace models

/// Calls do not depend on the labels.
template <>
struct Fields<models::ResnetClassifier> {
  static void visit(auto& object, auto&& member) {
    member("resnet", object.resnet);
    member("classifier.1", object.classifier);
    member("problem_type", object.problem_type);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
