#pragma once
#include <fulgurite/detail/requirements.h>

// The vision transformer (Dosovitskiy et al. 2020) with the members of transformers: the path of a tensor is its name
// in a checkpoint.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/fields.h>
#include <fulgurite/models/bert.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Sizes of a Vit.
struct VitOptions {
  int64_t channels = 3;
  std::array<int64_t, 2> image{224, 224};  // rows and columns in pixels
  std::array<int64_t, 2> patch{16, 16};
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t width = 768;
  int64_t hidden = 3072;
  double eps = 1e-12;
  std::string activation = "gelu";
  bool query_bias = true;  // of queries, keys and values
  int64_t pooled_width = 768;
  std::string pooled_activation = "tanh";
};

/// A table of positions for a class token and a grid of patches: [1, 1 + rows * columns, width] of `table`, whose grid
/// has the sizes `grid`, interpolated bicubically to the sizes `wanted`.
Tensor interpolate_positions(const Tensor& table, const std::array<int64_t, 2>& grid,
                             const std::array<int64_t, 2>& wanted);

/// A class token before the features of the patches, plus positions.
struct VitEmbeddings {
  struct PatchEmbeddings {
    nn::Conv2d projection;
  };
  Tensor cls_token, position_embeddings;  // [1, 1, width], [1, 1 + patches, width]
  PatchEmbeddings patch_embeddings;
  std::array<int64_t, 2> image{0, 0};  // rows and columns of the images that the positions are for

  /// Images [batch, channels, rows, columns] to [batch, 1 + patches, width].
  Tensor operator()(const Tensor& images, bool interpolates) const;
};

/// Attention and a feed-forward layer, each with a layer norm before it and a residual.
struct VitLayer {
  struct Dense {
    nn::Linear dense;
  };
  struct Attention {
    BertAttention::Self attention;
    Dense output;
  };
  Attention attention;
  Dense intermediate, output;
  nn::LayerNorm layernorm_before, layernorm_after;
  std::string activation = "gelu";

  Tensor operator()(const Tensor& x) const;
};

/// The vision transformer without a head: images [batch, channels, rows, columns], in f32 or the dtype of the weights,
/// to features [batch, 1 + patches, width].
struct Vit {
  struct Encoder {
    std::vector<VitLayer> layer;
  };
  struct Pooler {
    nn::Linear dense;
    std::string activation = "tanh";
  };
  VitEmbeddings embeddings;
  Encoder encoder;
  nn::LayerNorm layernorm;
  Pooler pooler;  // undefined in files without one

  /// Images have the size of the config, or any number of patches if `interpolates`: the positions are then
  /// interpolated. UserError for another size.
  Tensor operator()(const Tensor& images, bool interpolates = false) const;
  /// The features of each image's class token, transformed: [batch, width].
  Tensor pooled(const Tensor& features) const;

  /// The model that a config.json of the family vit describes.
  static Vit from_config(const hub::Config& config, const LayerMaker& make);
  /// Files of models with a head name the body, and have the head's tensors too.
  static constexpr std::array<std::string_view, 1> extra_prefixes = {"vit."};
  static bool is_ignorable(std::string_view name) {
    return name.starts_with("classifier.") || name.starts_with("decoder.") || name.ends_with("mask_token");
  }
  static bool is_optional(std::string_view name) { return name.starts_with("pooler."); }
};

/// A vision transformer with a linear layer on its class token: images to the scores of classes [batch, classes].
struct VitClassifier {
  Vit vit;
  nn::Linear classifier;
  std::vector<std::string> labels;  // the names of the classes
  std::string problem_type;         // as image_classification_loss takes it

  Tensor operator()(const Tensor& images, bool interpolates = false) const;
  /// The loss of predicting `labels`: image_classification_loss.
  Tensor loss(const Tensor& images, const Tensor& labels, bool interpolates = false) const;

  static VitClassifier from_config(const hub::Config& config, const LayerMaker& make);
  static bool is_ignorable(std::string_view name) {
    return name.starts_with("vit.pooler.") || name.ends_with("mask_token");
  }
};

/// Returns a model with normal initial values of deviation 0.02. UserError if the width is not a multiple of the heads,
/// or an image has no whole patch.
Vit make_vit(const VitOptions& options, const LayerMaker& make = {});

}  // namespace models

/// Calls do not depend on the labels.
template <>
struct Fields<models::VitClassifier> {
  static void visit(auto& object, auto&& member) {
    member("vit", object.vit);
    member("classifier", object.classifier);
    member("problem_type", object.problem_type);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
