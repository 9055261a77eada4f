#pragma once
#include <fulgurite/detail/requirements.h>

// T5 (Raffel et al. 2020): an encoder and a decoder with relative positions. Members are named as in the files of
// transformers: the path of a tensor is its name in a checkpoint.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fulgurite/models/activation.h>
#include <fulgurite/models/causal_attention.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/models/source_cache.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {
class Config;
}

namespace models {

/// Sizes and variants of a T5.
struct T5Options {
  int64_t vocabulary = 32128;
  int64_t layers = 6, decoder_layers = 6;
  int64_t heads = 8;
  int64_t head_width = 64;
  int64_t width = 512;
  int64_t hidden = 2048;       // width of the feed-forward layer
  int64_t buckets = 32;        // of relative positions, each with a number that is added to the scores of a head
  int64_t max_distance = 128;  // positions as far or farther share a bucket
  double eps = 1e-6;
  std::string activation = "relu";  // a name of models::activate
  bool is_gated = false;            // the feed-forward layer is gated (T5 1.1)
  bool tied = true;                 // the output layer has the embedding's weight
  bool scales_output = true;        // features are divided by √width before the output layer (not in T5 1.1)
  int64_t start_token = 0;          // begins the decoder's texts
  int64_t padding = 0;              // in the decoder's texts instead of -100
};

/// Attention without a scale, whose scores have a number for each head and bucket of relative positions.
struct T5Attention {
  nn::Linear q, k, v, o;
  nn::Embedding relative_attention_bias;  // [buckets, heads]; in the first layer, which shares it with the others
  int64_t heads = 1, head_width = 1;

  Tensor query(const Tensor& x) const { return by_head(q(x), heads, head_width); }
  Tensor keys(const Tensor& x) const { return by_head(k(x), heads, head_width); }
  Tensor values(const Tensor& x) const { return by_head(v(x), heads, head_width); }
  /// `mask`: bool, true for the columns to attend to, or numbers that are added to the scores.
  Tensor attend(const Tensor& queries, const Tensor& all_keys, const Tensor& all_values, const Tensor& mask) const {
    const Tensor y = nn::scaled_dot_product_attention(queries, all_keys, all_values, mask, 0.0, false, Float(1.0));
    return o(reshape(transpose(y, 1, 2), {y.size(0), y.size(2), heads * head_width}));
  }
  /// The numbers that are added to the scores of rows at positions (i64 [rows], or [batch, rows]) and columns: [heads,
  /// rows, columns], or [batch, heads, rows, columns]. `buckets`: those of the relative positions from -max_distance to
  /// max_distance.
  Tensor bias(const Tensor& row_positions, const Tensor& column_positions, const Tensor& buckets) const {
    const Tensor relative = column_positions - unsqueeze(row_positions, -1);
    const Int far = (buckets.size(0) - 1) / 2;
    const Tensor entries = clamp(relative, -far, far) + far;
    const Tensor bucket = reshape(index_select(buckets, 0, reshape(entries, {-1})), entries.shape());
    const Tensor numbers = relative_attention_bias(bucket);
    return row_positions.dim() == 1 ? permute(numbers, {2, 0, 1}) : permute(numbers, {0, 3, 1, 2});
  }
};

/// Attention of a stack to its own positions.
struct T5SelfLayer {
  T5Attention SelfAttention;
  nn::RMSNorm layer_norm;

  Tensor operator()(const Tensor& x, const Tensor& mask) const {
    const Tensor y = layer_norm(x);
    const Tensor queries = SelfAttention.query(y);
    const Tensor keys = SelfAttention.keys(y);
    const Tensor values = SelfAttention.values(y);
    return within_f16(x + SelfAttention.attend(queries, keys, values, mask));
  }
  /// Writes keys and values into the cached ones, in place.
  Tensor step(const Tensor& x, const Tensor& mask, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    const Tensor y = layer_norm(x);
    const Tensor queries = SelfAttention.query(y);
    write_rows(cached_keys, positions, SelfAttention.keys(y));
    write_rows(cached_values, positions, SelfAttention.values(y));
    return within_f16(x + SelfAttention.attend(queries, cached_keys, cached_values, mask));
  }
};

/// Attention of the decoder to the encoded source.
struct T5CrossLayer {
  T5Attention EncDecAttention;
  nn::RMSNorm layer_norm;

  Tensor operator()(const Tensor& x, const Tensor& keys, const Tensor& values, const Tensor& mask) const {
    const Tensor queries = EncDecAttention.query(layer_norm(x));
    return within_f16(x + EncDecAttention.attend(queries, keys, values, mask));
  }
};

/// The feed-forward layer: wo(activation(wi(x))), or wo(activation(wi_0(x)) * wi_1(x)).
struct T5FeedForward {
  struct Dense {
    nn::Linear wi, wi_0, wi_1, wo;
    std::string activation = "relu";  // a name of models::activate
    bool is_gated = false;

    Tensor operator()(const Tensor& x) const {
      if (!is_gated) return wo(activate(wi(x), activation));
      const Tensor opened = activate(wi_0(x), activation);
      return wo(opened * wi_1(x));
    }
  };
  Dense DenseReluDense;
  nn::RMSNorm layer_norm;

  Tensor operator()(const Tensor& x) const { return within_f16(x + DenseReluDense(layer_norm(x))); }
};

/// A T5: source tokens and target tokens, i64 [batch, length] each, to logits [batch, target length, vocabulary].
struct T5 {
  struct Encoder {
    struct Block {
      std::tuple<T5SelfLayer, T5FeedForward> layer;
    };
    std::vector<Block> block;
    nn::RMSNorm final_layer_norm;
    Tensor relative_buckets;  // i64, of the relative positions from -max_distance to max_distance

    Tensor operator()(const Tensor& embedded, const Tensor& mask) const {
      if (block.empty()) return final_layer_norm(embedded);
      const Tensor positions = arange(embedded.size(1));
      const Tensor bias = std::get<0>(block[0].layer).SelfAttention.bias(positions, positions, relative_buckets);
      const Tensor numbers = mask.defined() ? where(mask, bias, -std::numeric_limits<double>::infinity()) : bias;
      Tensor x = embedded;
      for (const Block& b : block) x = std::get<1>(b.layer)(std::get<0>(b.layer)(x, numbers));
      return final_layer_norm(x);
    }
  };
  /// Layers of the target, which attend to the encoded source.
  struct Decoder {
    struct Block {
      std::tuple<T5SelfLayer, T5CrossLayer, T5FeedForward> layer;
    };
    std::vector<Block> block;
    nn::RMSNorm final_layer_norm;
    Tensor relative_buckets;

    Tensor operator()(const Tensor& embedded, const SourceCache& source) const {
      const Tensor positions = arange(embedded.size(1));
      const Tensor numbers = biased_mask(positions, positions);
      Tensor x = embedded;
      for (size_t i = 0; i < block.size(); ++i) {
        const auto& [self, cross, feed_forward] = block[i].layer;
        x = feed_forward(cross(self(x, numbers), source.keys[i], source.values[i], source.mask));
      }
      return final_layer_norm(x);
    }
    /// The same for tokens at `positions` (i64 [length], or [batch, length]), whose predecessors are in the cache.
    Tensor step(const Tensor& embedded, const Tensor& positions, const KeyValueCache& cache,
                const SourceCache& source) const {
      if (block.empty()) return final_layer_norm(embedded);
      const Tensor numbers = biased_mask(positions, arange(cache.keys[0].size(2)));
      Tensor x = embedded;
      for (size_t i = 0; i < block.size(); ++i) {
        const auto& [self, cross, feed_forward] = block[i].layer;
        const Tensor y = self.step(x, numbers, positions, cache.keys[i], cache.values[i]);
        x = feed_forward(cross(y, source.keys[i], source.values[i], source.mask));
      }
      return final_layer_norm(x);
    }

   private:
    Tensor biased_mask(const Tensor& rows, const Tensor& columns) const {
      if (block.empty()) return {};
      const Tensor bias = std::get<0>(block[0].layer).SelfAttention.bias(rows, columns, relative_buckets);
      return where(causal_mask(rows, columns), bias, -std::numeric_limits<double>::infinity());
    }
  };
  nn::Embedding shared;
  Encoder encoder;
  Decoder decoder;
  nn::Linear lm_head;  // undefined in a tied model: the output layer has the embedding's weight
  double output_scale = 1;
  int64_t start_token = 0, padding = 0;

  /// Encodes source tokens [batch, length] for `step`. `mask` [batch, length] of bool or i64 is true, or 1, for tokens
  /// and false for padding; undefined: all are tokens.
  SourceCache encode(const Tensor& source, const Tensor& mask = {}) const {
    SourceCache cache;
    if (mask.defined()) cache.mask = reshape(mask.to(Dtype::boolean), {mask.size(0), 1, 1, mask.size(1)});
    const Tensor features = encoder(shared(source), cache.mask);
    for (const Decoder::Block& b : decoder.block) {
      const T5Attention& attention = std::get<1>(b.layer).EncDecAttention;
      cache.keys.push_back(attention.keys(features));
      cache.values.push_back(attention.values(features));
    }
    return cache;
  }
  /// The scores of each target token's successor. `mask` as for `encode`.
  Tensor operator()(const Tensor& source, const Tensor& target, const Tensor& mask = {}) const {
    const SourceCache encoded = encode(source, mask);
    return scores(decoder(shared(target), encoded));
  }
  /// Maps target tokens [batch, length] at `positions` (i64 [length], or [batch, length]) to the scores of the
  /// successors of `rows` (i64, indices into length): [batch, rows, vocabulary]. Writes the tokens' keys and values
  /// into the cache, in place; the cache has those of all earlier positions.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache,
              const SourceCache& source) const {
    return scores(index_select(decoder.step(shared(tokens), positions, cache, source), 1, rows));
  }
  /// The mean cross entropy of predicting `labels` [batch, length] from the source; those of -100 do not count.
  Tensor loss(const Tensor& source, const Tensor& labels, const Tensor& mask = {}) const {
    const Tensor logits = (*this)(source, shifted(labels), mask);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(labels, {-1}));
  }
  /// The decoder's tokens for labels: the start token, then all labels but the last.
  Tensor shifted(const Tensor& labels) const {
    const Tensor start = full({labels.size(0), 1}, start_token, {.dtype = labels.dtype(), .device = labels.device()});
    const Tensor all = cat({start, narrow(labels, 1, 0, labels.size(1) - 1)}, 1);
    return where(eq(all, -100), padding, all);
  }

  /// The model that a config.json of the family "t5" or "mt5" describes.
  static T5 from_config(const hub::Config& config, const LayerMaker& make);
  /// True for tensors that checkpoint files have: not for those that are computed from the options.
  static bool is_in_files(std::string_view name) { return !name.ends_with("relative_buckets"); }
  /// Older files have copies of the embedding, and numbers that are not used.
  static bool is_ignorable(std::string_view name) {
    return name.ends_with(".embed_tokens.weight") || name.ends_with("EncDecAttention.relative_attention_bias.weight");
  }
  static bool is_optional(std::string_view name) { return name == "lm_head.weight"; }

 private:
  Tensor scores(const Tensor& x) const {
    const Tensor scaled = output_scale == 1 ? x : x * output_scale;
    return lm_head.has_weight() ? lm_head(scaled) : nn::linear(scaled, shared.weight);
  }
};

/// Returns a model with T5's initial values. UserError for fewer than four buckets, or a maximal distance that does not
/// exceed half of them.
T5 make_t5(const T5Options& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `T5::step`.
KeyValueCache make_cache(const T5& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
