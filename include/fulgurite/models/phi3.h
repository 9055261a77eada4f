#pragma once
#include <fulgurite/detail/requirements.h>

// Phi-3, Phi-3.5 and Phi-4 (Abdin et al. 2024): LLaMA's layers with joined projections. Members are named as in the
// files of transformers: the path of a tensor is its name in a checkpoint.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/models/activation.h>
#include <fulgurite/models/causal_attention.h>
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

/// Sizes and variants of a Phi3.
struct Phi3Options {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 8;
  int64_t key_value_heads = 8;  // heads / key_value_heads query heads share a key and a value
  int64_t width = 128;
  int64_t hidden = 344;    // width of the gated feed-forward layer
  int64_t head_width = 0;  // 0: width / heads
  double eps = 1e-5;
  double rotary_base = 10000;
  double rotary_share = 1;  // the share of a head's features that is rotated
  RotaryScaling rotary_scaling = {};
  int64_t window = 0;                // a position attends to so many before it and itself; 0: to all
  std::string activation = "silu";   // a name of models::activate
  bool tied = false;                 // the output layer has the embedding's weight
  std::optional<int64_t> padding{};  // a token whose embedding gets no gradient
};

/// Causal attention with rotary positions; one projection computes queries, keys and values.
struct Phi3Attention {
  nn::Linear qkv_proj, o_proj;
  CausalHeads heads;

  /// x: [batch, length, width] at the positions from 0.
  Tensor operator()(const Tensor& x, const RotaryTables& tables) const {
    const Tensor joined = qkv_proj(x);
    const Tensor query = rotate(query_of(joined), tables.first, tables.second);
    const Tensor keys = rotate(shared_part(joined, 0), tables.first, tables.second);
    return o_proj(causal_attention(heads, query, keys, shared_part(joined, 1)));
  }
  /// As LlamaAttention::step.
  Tensor step(const Tensor& x, const RotaryTables& tables, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    const Tensor joined = qkv_proj(x);
    const Tensor query = rotate(query_of(joined), tables.first, tables.second);
    const Tensor keys = rotate(shared_part(joined, 0), tables.first, tables.second);
    const Tensor values = shared_part(joined, 1);
    return o_proj(cached_attention(heads, query, keys, values, positions, cached_keys, cached_values));
  }

 private:
  Tensor query_of(const Tensor& joined) const {
    return by_head(narrow(joined, -1, 0, heads.count * heads.width), heads.count, heads.width);
  }
  // Part 0 has the keys, part 1 the values.
  Tensor shared_part(const Tensor& joined, int64_t part) const {
    const int64_t begin = (heads.count + part * heads.key_value_count) * heads.width;
    return by_head(narrow(joined, -1, begin, heads.key_value_count * heads.width), heads.key_value_count, heads.width);
  }
};

/// down(activation(gate(x)) * up(x)), with one projection for gate and up.
struct Phi3Mlp {
  nn::Linear gate_up_proj, down_proj;
  std::string activation = "silu";

  Tensor operator()(const Tensor& x) const {
    const std::vector<Tensor> parts = chunk(gate_up_proj(x), 2, -1);
    return down_proj(parts[1] * activate(parts[0], activation));
  }
};

/// Attention and feed-forward layer, each with an RMS norm before it and a residual around both.
struct Phi3Block {
  Phi3Attention self_attn;
  Phi3Mlp mlp;
  nn::RMSNorm input_layernorm, post_attention_layernorm;

  Tensor operator()(const Tensor& x, const RotaryTables& tables) const {
    const Tensor y = x + self_attn(input_layernorm(x), tables);
    return y + mlp(post_attention_layernorm(y));
  }
  Tensor step(const Tensor& x, const RotaryTables& tables, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    const Tensor y = x + self_attn.step(input_layernorm(x), tables, positions, cached_keys, cached_values);
    return y + mlp(post_attention_layernorm(y));
  }
};

/// A Phi-3: token indices [batch, length] of i64 to logits [batch, length, vocabulary].
struct Phi3 {
  /// The layers below the output layer.
  struct Body {
    nn::Embedding embed_tokens;
    std::vector<Phi3Block> layers;
    nn::RMSNorm norm;
    RotaryEmbedding rotary_emb;

    /// Maps tokens [batch, length] to [batch, length, width].
    Tensor operator()(const Tensor& tokens) const {
      const RotaryTables tables = rotary_tables(rotary_emb, tokens.size(1));
      Tensor x = embed_tokens(tokens);
      for (const Phi3Block& layer : layers) x = layer(x, tables);
      return norm(x);
    }
    /// The same for tokens at `positions` (i64 [length], or [batch, length]), whose predecessors are in the cache.
    Tensor step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache) const {
      const RotaryTables tables = rotary_tables(rotary_emb, positions, cache.is_long);
      Tensor x = embed_tokens(tokens);
      for (size_t i = 0; i < layers.size(); ++i)
        x = layers[i].step(x, tables, positions, cache.keys[i], cache.values[i]);
      return norm(x);
    }
  };
  Body model;
  nn::Linear lm_head;  // has the embedding's weight in a tied model

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& tokens) const { return lm_head(model(tokens)); }
  /// As Llama::step.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache) const {
    return lm_head(index_select(model.step(tokens, positions, cache), 1, rows));
  }
  /// The mean cross entropy of predicting `targets` [batch, length]; those of -100 do not count.
  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    const Tensor logits = (*this)(tokens);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(targets, {-1}));
  }
  /// As Llama::long_length.
  int64_t long_length() const { return model.rotary_emb.original_block; }

  /// The model that a config.json of the family "phi3" describes.
  static Phi3 from_config(const hub::Config& config, const LayerMaker& make);
  /// True for tensors that checkpoint files have: not for those that are computed from the options.
  static bool is_in_files(std::string_view name) { return name.find("rotary_emb.") == std::string_view::npos; }
};

/// Returns a model with fresh parameters: normal weights with a deviation of 0.02, smaller for those that end a
/// residual branch. UserError where the options' sizes do not fit together.
Phi3 make_phi3(const Phi3Options& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `Phi3::step`.
KeyValueCache make_cache(const Phi3& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
