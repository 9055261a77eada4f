#pragma once
#include <fulgurite/detail/requirements.h>

// CLIP (Radford et al. 2021) with the members of transformers: the path of a tensor is its name in a checkpoint.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/models/layer_maker.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {
class Config;
}

namespace models {

/// Sizes of a tower of a Clip.
struct ClipTowerOptions {
  int64_t layers = 12;
  int64_t heads = 8;
  int64_t width = 512;
  int64_t hidden = 2048;
  double eps = 1e-5;
  std::string activation = "quick_gelu";
};

/// Sizes of a Clip.
struct ClipOptions {
  ClipTowerOptions text;
  ClipTowerOptions vision{.heads = 12, .width = 768, .hidden = 3072};
  int64_t vocabulary = 49408;
  int64_t block = 77;         // rows of the table of positions of tokens
  int64_t end_token = 49407;  // 2: a text ends at its largest token, as in the first files
  int64_t channels = 3;
  std::array<int64_t, 2> image{224, 224};  // rows and columns in pixels
  std::array<int64_t, 2> patch{32, 32};
  int64_t projection = 512;  // numbers of a vector of a text or of an image
  double logit_scale = 2.6592;
};

/// Attention and a feed-forward layer, each with a layer norm before it and a residual.
struct ClipLayer {
  struct Attention {
    nn::Linear k_proj, v_proj, q_proj, out_proj;
    int64_t heads = 1;

    /// `mask` [batch, 1, length, length] is true for tokens to attend to; undefined: all, or earlier ones if
    /// `is_causal`.
    Tensor operator()(const Tensor& x, const Tensor& mask, bool is_causal) const;
  };
  struct Mlp {
    nn::Linear fc1, fc2;
    std::string activation = "quick_gelu";
    Tensor operator()(const Tensor& x) const;
  };
  Attention self_attn;
  nn::LayerNorm layer_norm1;
  Mlp mlp;
  nn::LayerNorm layer_norm2;

  Tensor operator()(const Tensor& x, const Tensor& mask, bool is_causal) const;
};

/// The layers of a tower.
struct ClipEncoder {
  std::vector<ClipLayer> layers;
  Tensor operator()(const Tensor& x, const Tensor& mask, bool is_causal) const;
};

/// The tower of texts: tokens [batch, length] to features [batch, length, width].
struct ClipText {
  struct Embeddings {
    nn::Embedding token_embedding, position_embedding;
  };
  Embeddings embeddings;
  ClipEncoder encoder;
  nn::LayerNorm final_layer_norm;
  int64_t end_token = 49407;

  /// `mask` [batch, length] of bool or i64 is true, or 1, for tokens and false for padding behind them; undefined: all
  /// are tokens. UserError for more tokens than there are positions.
  Tensor operator()(const Tensor& tokens, const Tensor& mask = {}) const;
  /// The features of each text's end token, the first one if there are several: [batch, width].
  Tensor pooled(const Tensor& features, const Tensor& tokens) const;
};

/// The tower of images: [batch, channels, rows, columns] to features [batch, 1 + patches, width].
struct ClipVision {
  struct Embeddings {
    Tensor class_embedding;  // [width]
    nn::Conv2d patch_embedding;
    nn::Embedding position_embedding;
    std::array<int64_t, 2> image{0, 0};  // rows and columns of the images that the positions are for
  };
  Embeddings embeddings;
  nn::LayerNorm pre_layrnorm;  // the name in files
  ClipEncoder encoder;
  nn::LayerNorm post_layernorm;

  /// As Vit's.
  Tensor operator()(const Tensor& images, bool interpolates = false) const;
  /// The features of each image's class token, normalized: [batch, width].
  Tensor pooled(const Tensor& features) const;
};

/// The results of a Clip for texts and images.
struct ClipScores {
  Tensor logits_per_image;  // [images, texts]: the likeness of each image and each text, scaled
  Tensor logits_per_text;   // [texts, images]
  Tensor text_embeds;       // [texts, projection], of length 1
  Tensor image_embeds;      // [images, projection], of length 1
};

/// Texts and images as vectors of one space.
struct Clip {
  ClipText text_model;
  ClipVision vision_model;
  nn::Linear visual_projection, text_projection;
  Tensor logit_scale;  // one number, the logarithm of the scale

  /// The vectors of texts, [texts, projection], not normalized. `mask` as ClipText's.
  Tensor text_features(const Tensor& tokens, const Tensor& mask = {}) const;
  /// The vectors of images, [images, projection], not normalized. `interpolates` as Vit's.
  Tensor image_features(const Tensor& images, bool interpolates = false) const;
  /// The likeness of each text and each image.
  ClipScores operator()(const Tensor& tokens, const Tensor& images, const Tensor& mask = {},
                        bool interpolates = false) const;
  /// The mean cross entropy of finding each text's image and each image's text, which has the same index. UserError
  /// unless there are as many texts as images.
  Tensor loss(const Tensor& tokens, const Tensor& images, const Tensor& mask = {}, bool interpolates = false) const;

  /// The model that a config.json of the family clip describes.
  static Clip from_config(const hub::Config& config, const LayerMaker& make);
  static bool is_ignorable(std::string_view name) { return name.ends_with("position_ids"); }
};

/// Returns a model with normal initial values of deviation 0.02. UserError if a width is not a multiple of its heads,
/// or an image has no whole patch.
Clip make_clip(const ClipOptions& options, const LayerMaker& make = {});

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
