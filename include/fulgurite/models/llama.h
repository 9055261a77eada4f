#pragma once
#include <fulgurite/detail/requirements.h>

// The LLaMA family: RMS norm, rotary positions, grouped heads, gated feed-forward layers (Touvron et al. 2023). Members
// are named as in the files of transformers: the path of a tensor is its name in a checkpoint.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/models/activation.h>
#include <fulgurite/models/key_value_cache.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/models/rotary.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {
class Config;
}

namespace models {

/// Sizes and variants of a Llama.
struct LlamaOptions {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 8;
  int64_t key_value_heads = 4;  // heads / key_value_heads query heads share a key and a value
  int64_t width = 128;
  int64_t hidden = 344;  // width of the gated feed-forward layer
  int64_t block = 64;    // the longest sequence
  double eps = 1e-5;
  double rotary_base = 10000;
  RotaryScaling rotary_scaling = {};
  int64_t head_width = 0;           // 0: width / heads
  double rotary_share = 1;          // the share of a head's features that is rotated
  std::vector<bool> is_rotated{};   // by layer; empty: all (SmolLM3 has layers without positions)
  int64_t window = 0;               // a position attends to so many before it and itself; 0: to all
  std::vector<bool> is_windowed{};  // by layer; empty: all
  bool query_bias = false, output_bias = false, mlp_bias = false;  // query_bias: of query, key and value (Qwen2)
  bool head_norms = false;                                         // norms of each head's query and key (Qwen3)
  bool width_norms = false;         // norms of all heads' queries and keys together (OLMo2)
  bool norms_after = false;         // norms after attention and feed-forward layer instead of before (OLMo2)
  std::string activation = "silu";  // a name of models::activate
  bool tied = false;                // the output layer has the embedding's weight
  double embedding_scale = 1, attention_scale = 0, residual_scale = 1, logits_scale = 1;  // Granite; 0: 1 / √head_width
  std::optional<int64_t> padding{};  // a token whose embedding gets no gradient
};

/// Keys and values of the positions so far, for a cache that grows: [batch, key_value_heads, length, head_width] each.
struct KeyValues {
  Tensor keys, values;
};

/// Causal attention with rotary embeddings; groups of query heads may share keys and values.
struct LlamaAttention {
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  nn::RMSNorm q_norm, k_norm;
  int64_t heads = 1, key_value_heads = 1, head_width = 1;
  int64_t window = 0;  // 0: all positions
  bool is_rotated = true, has_head_norms = false, has_width_norms = false;
  double scale = 1;

  /// x: [batch, length, width] at the positions from 0.
  Tensor operator()(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor query = turned(by_head(normed(q_proj(x), q_norm), heads, q_norm), cosines, sines);
    const auto [keys, values] = keys_and_values(x, cosines, sines);
    const Int length = x.size(1);
    if (window == 0 || bool(length <= window)) return attend(x, query, keys, values, {}, true);
    const Tensor positions = arange(length);
    return attend(x, query, keys, values, causal_mask(positions, positions, window), false);
  }

  /// For rows x [batch, length, width] at `positions` (i64 [length], or [batch, length]): writes their keys and values
  /// into the cache, in place, and attends to the cache's positions up to each row's.
  Tensor step(const Tensor& x, const Tensor& cosines, const Tensor& sines, const Tensor& positions, const Tensor& keys,
              const Tensor& values) const {
    const Tensor query = turned(by_head(normed(q_proj(x), q_norm), heads, q_norm), cosines, sines);
    const auto [new_keys, new_values] = keys_and_values(x, cosines, sines);
    write_rows(keys, positions, new_keys);
    write_rows(values, positions, new_values);
    const Tensor mask = causal_mask(positions, arange(keys.size(2)), window);
    const Tensor y = attend_rows(query, keys, values, mask, Float(scale), heads != key_value_heads);
    return joined(x, y);
  }

  /// For the position after `past`: x [batch, 1, width], and the tables' rows of that position. Also returns `past`
  /// extended by it.
  std::pair<Tensor, KeyValues> extend(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                                      const KeyValues& past) const {
    const Tensor query = turned(by_head(normed(q_proj(x), q_norm), heads, q_norm), cosines, sines);
    const auto [new_keys, new_values] = keys_and_values(x, cosines, sines);
    const Tensor keys = cat({past.keys, new_keys}, 2);
    const Tensor values = cat({past.values, new_values}, 2);
    return {attend(x, query, keys, values, {}, false), KeyValues{keys, values}};
  }

 private:
  Tensor normed(const Tensor& x, const nn::RMSNorm& norm) const { return has_width_norms ? norm(x) : x; }
  Tensor by_head(const Tensor& part, int64_t count, const nn::RMSNorm& norm) const {
    const Tensor split = reshape(part, {part.size(0), part.size(1), count, head_width});
    return transpose(has_head_norms ? norm(split) : split, 1, 2);
  }
  Tensor turned(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    return is_rotated ? rotate(x, cosines, sines) : x;
  }
  std::pair<Tensor, Tensor> keys_and_values(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor keys = turned(by_head(normed(k_proj(x), k_norm), key_value_heads, k_norm), cosines, sines);
    const Tensor value = v_proj(x);
    const Tensor values = transpose(reshape(value, {value.size(0), value.size(1), key_value_heads, head_width}), 1, 2);
    return {keys, values};
  }
  Tensor attend(const Tensor& x, const Tensor& query, const Tensor& keys, const Tensor& values, const Tensor& mask,
                bool is_causal) const {
    const bool is_grouped = heads != key_value_heads;
    const Tensor y =
        nn::scaled_dot_product_attention(query, keys, values, mask, 0.0, is_causal, Float(scale), is_grouped);
    return joined(x, y);
  }
  Tensor joined(const Tensor& x, const Tensor& y) const {
    return o_proj(reshape(transpose(y, 1, 2), {x.size(0), x.size(1), heads * head_width}));
  }
};

/// down(activation(gate(x)) * up(x))
struct GatedMlp {
  nn::Linear gate_proj, up_proj, down_proj;
  std::string activation = "silu";

  Tensor operator()(const Tensor& x) const {
    const Tensor opened = activate(gate_proj(x), activation);
    return down_proj(opened * up_proj(x));
  }
};

/// Attention and feed-forward layer, each with an RMS norm and a residual around both.
struct LlamaBlock {
  LlamaAttention self_attn;
  GatedMlp mlp;
  nn::RMSNorm input_layernorm, post_attention_layernorm, post_feedforward_layernorm;
  bool norms_after = false;
  double residual_scale = 1;

  Tensor operator()(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor y = joined(x, after_attention(self_attn(before_attention(x), cosines, sines)));
    return joined(y, feed_forward(y));
  }

  /// LlamaAttention::step for a complete block.
  Tensor step(const Tensor& x, const Tensor& cosines, const Tensor& sines, const Tensor& positions, const Tensor& keys,
              const Tensor& values) const {
    const Tensor attended = self_attn.step(before_attention(x), cosines, sines, positions, keys, values);
    const Tensor y = joined(x, after_attention(attended));
    return joined(y, feed_forward(y));
  }

  /// LlamaAttention::extend for a complete block.
  std::pair<Tensor, KeyValues> extend(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                                      const KeyValues& past) const {
    const auto [attended, all] = self_attn.extend(before_attention(x), cosines, sines, past);
    const Tensor y = joined(x, after_attention(attended));
    return {joined(y, feed_forward(y)), all};
  }

 private:
  Tensor before_attention(const Tensor& x) const { return norms_after ? x : input_layernorm(x); }
  Tensor after_attention(const Tensor& x) const { return norms_after ? post_attention_layernorm(x) : x; }
  Tensor feed_forward(const Tensor& x) const {
    return norms_after ? post_feedforward_layernorm(mlp(x)) : mlp(post_attention_layernorm(x));
  }
  Tensor joined(const Tensor& x, const Tensor& branch) const {
    return residual_scale == 1 ? x + branch : x + branch * residual_scale;
  }
};

/// A model of the LLaMA family: token indices [batch, length] of i64 to logits [batch, length, vocabulary].
struct Llama {
  /// The layers below the output layer.
  struct Body {
    nn::Embedding embed_tokens;
    std::vector<LlamaBlock> layers;
    nn::RMSNorm norm;
    RotaryEmbedding rotary_emb;
    double embedding_scale = 1;

    /// Maps tokens [batch, length] to [batch, length, width].
    Tensor operator()(const Tensor& tokens) const {
      const auto [cosines, sines] = rotary_tables(rotary_emb, tokens.size(1));
      Tensor x = embedded(tokens);
      for (const LlamaBlock& layer : layers) x = layer(x, cosines, sines);
      return norm(x);
    }
    /// The same for tokens at `positions` (i64 [length], or [batch, length]), whose predecessors are in the cache.
    Tensor step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache) const {
      const auto [cosines, sines] = rotary_tables(rotary_emb, positions, cache.is_long);
      Tensor x = embedded(tokens);
      for (size_t i = 0; i < layers.size(); ++i)
        x = layers[i].step(x, cosines, sines, positions, cache.keys[i], cache.values[i]);
      return norm(x);
    }

   private:
    Tensor embedded(const Tensor& tokens) const {
      const Tensor x = embed_tokens(tokens);
      return embedding_scale == 1 ? x : x * embedding_scale;
    }
  };
  Body model;
  nn::Linear lm_head;  // has the embedding's weight in a tied model
  double logits_scale = 1;

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& tokens) const { return scores(model(tokens)); }

  /// Maps tokens [batch, length] at `positions` (i64 [length], or [batch, length]) to the scores of the successors of
  /// `rows` (i64, indices into length): [batch, rows, vocabulary]. Writes the tokens' keys and values into the cache,
  /// in place; the cache has those of all earlier positions.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache) const {
    return scores(index_select(model.step(tokens, positions, cache), 1, rows));
  }

  /// The mean cross entropy of predicting `targets` [batch, length]; those of -100 do not count.
  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    const Tensor logits = (*this)(tokens);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(targets, {-1}));
  }

  /// Texts of more tokens have other frequencies (longrope); 0: there are none.
  int64_t long_length() const { return model.rotary_emb.original_block; }

  /// The model that a config.json describes, of the family "llama", "mistral", "qwen2", "qwen3", "smollm3", "olmo2" or
  /// "granite".
  static Llama from_config(const hub::Config& config, const LayerMaker& make);
  /// True for tensors that checkpoint files have: not for those that are computed from the options.
  static bool is_in_files(std::string_view name) { return name.find("rotary_emb.") == std::string_view::npos; }

 private:
  Tensor scores(const Tensor& x) const {
    const Tensor logits = lm_head(x);
    return logits_scale == 1 ? logits : logits / logits_scale;
  }
};

/// A block whose normal weights have a deviation of 0.02, smaller for those that end a residual branch. UserError where
/// the options' sizes do not fit together.
LlamaBlock make_llama_block(const LlamaOptions& options, int64_t layer = 0, const LayerMaker& make = {});
/// Returns a model with fresh parameters.
Llama make_llama(const LlamaOptions& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `Llama::step`.
KeyValueCache make_cache(const Llama& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
