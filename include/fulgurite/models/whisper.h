#pragma once
#include <fulgurite/detail/requirements.h>

// Whisper (Radford et al. 2022), which writes texts for speech, with the members of transformers: the path of a tensor
// is its name in a checkpoint.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/models/key_value_cache.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/models/source_cache.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {
class Config;
}

namespace models {

/// Sizes of a Whisper.
struct WhisperOptions {
  int64_t vocabulary = 51865;
  int64_t mel_bins = 80;
  int64_t layers = 4, decoder_layers = 4;
  int64_t heads = 6, decoder_heads = 6;
  int64_t width = 384;
  int64_t hidden = 1536, decoder_hidden = 1536;  // of the feed-forward layers
  int64_t source_positions = 1500;               // encoded frames; there are twice as many frames of features
  int64_t target_positions = 448;                // the most tokens of a text
  std::string activation = "gelu";               // a name of models::activate
  bool tied = true;                              // the output layer has the embedding's weight
  int64_t start_token = 50257;                   // begins the decoder's texts
  std::optional<int64_t> padding{};              // a token whose embedding gets no gradient; stands for labels of -100
};

/// Attention whose queries are scaled before the products.
struct WhisperAttention {
  nn::Linear k_proj, v_proj, q_proj, out_proj;  // k_proj has no bias
  int64_t heads = 1, head_width = 1;

  /// x [batch, length, width] to [batch, heads, length, head_width].
  Tensor query(const Tensor& x) const;
  Tensor keys(const Tensor& x) const;
  Tensor values(const Tensor& x) const;
  /// `mask`: bool, true for the columns to attend to; undefined: all, or earlier ones if `is_causal`.
  Tensor attend(const Tensor& queries, const Tensor& all_keys, const Tensor& all_values, const Tensor& mask,
                bool is_causal = false) const;
};

/// Attention of the encoder to all frames and a feed-forward layer, each with a layer norm before it and a residual.
struct WhisperEncoderLayer {
  WhisperAttention self_attn;
  nn::LayerNorm self_attn_layer_norm;
  nn::Linear fc1, fc2;
  nn::LayerNorm final_layer_norm;
  std::string activation = "gelu";

  Tensor operator()(const Tensor& x) const;
};

/// Attention of the decoder to earlier tokens and to the encoded source, and a feed-forward layer.
struct WhisperDecoderLayer {
  WhisperAttention self_attn;
  nn::LayerNorm self_attn_layer_norm;
  WhisperAttention encoder_attn;
  nn::LayerNorm encoder_attn_layer_norm;
  nn::Linear fc1, fc2;
  nn::LayerNorm final_layer_norm;
  std::string activation = "gelu";

  /// `keys` and `values` are those of the encoded source.
  Tensor operator()(const Tensor& x, const Tensor& keys, const Tensor& values) const;
  /// For rows at `positions` and their causal_mask; writes their keys and values into the cached ones, in place.
  Tensor step(const Tensor& x, const Tensor& mask, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values, const Tensor& keys, const Tensor& values) const;

 private:
  Tensor after_self(const Tensor& x, const Tensor& keys, const Tensor& values) const;
};

/// A Whisper: features of speech, [batch, mel_bins, frames] as hub::AudioProcessor makes them, and tokens, i64 [batch,
/// length], to logits [batch, length, vocabulary].
struct Whisper {
  /// Features to [batch, frames / 2, width].
  struct Encoder {
    nn::Conv1d conv1, conv2;
    nn::Embedding embed_positions;  // sinusoids, without gradients
    std::vector<WhisperEncoderLayer> layers;
    nn::LayerNorm layer_norm;

    /// UserError for another shape than [batch, mel_bins, frames] with two frames for each position.
    Tensor operator()(const Tensor& features) const;
  };
  /// Layers of the text, which attend to the encoded source.
  struct Decoder {
    nn::Embedding embed_tokens, embed_positions;
    std::vector<WhisperDecoderLayer> layers;
    nn::LayerNorm layer_norm;

    /// UserError for more tokens than there are positions.
    Tensor operator()(const Tensor& tokens, const SourceCache& source) const;
    /// The same for tokens at `positions` (i64 [length], or [batch, length]), whose predecessors are in the cache.
    Tensor step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache,
                const SourceCache& source) const;
  };
  struct Body {
    Encoder encoder;
    Decoder decoder;
  };
  Body model;
  nn::Linear proj_out;  // has the embedding's weight in a tied model
  int64_t start_token = 50257, padding = 0;

  /// Encodes features for `step`: the keys and values of the decoder's layers.
  SourceCache encode(const Tensor& features) const;
  /// The scores of each token's successor.
  Tensor operator()(const Tensor& features, const Tensor& tokens) const;
  /// Maps tokens [batch, length] at `positions` (i64 [length], or [batch, length]) to the scores of the successors of
  /// `rows` (i64, indices into length): [batch, rows, vocabulary]. Writes the tokens' keys and values into the cache,
  /// in place; the cache has those of all earlier positions.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache,
              const SourceCache& source) const;
  /// The mean cross entropy of predicting `labels` [batch, length] from features; those of -100 do not count.
  Tensor loss(const Tensor& features, const Tensor& labels) const;
  /// The decoder's tokens for labels: the start token, then all labels but the last.
  Tensor shifted(const Tensor& labels) const;
  /// The most tokens of a text.
  int64_t max_length() const;
  /// Rows and columns of the features of one source: mel_bins and frames.
  std::array<int64_t, 2> feature_size() const;

  /// The model that a config.json of the family whisper describes.
  static Whisper from_config(const hub::Config& config, const LayerMaker& make);
  /// Files of a model without its output layer lack the beginning "model.".
  static constexpr std::string_view optional_prefix = "model.";
};

/// Returns a model with Whisper's initial values: normal with deviation 0.02, and sinusoids as positions of the
/// encoder. UserError if the width is odd, smaller than 4 or not a multiple of the heads.
Whisper make_whisper(const WhisperOptions& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `Whisper::step`.
KeyValueCache make_cache(const Whisper& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
