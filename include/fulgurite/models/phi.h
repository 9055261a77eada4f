#pragma once
#include <fulgurite/detail/requirements.h>

// Phi-1, Phi-1.5 and Phi-2 (Gunasekar et al. 2023): attention and feed-forward layer side by side after one layer norm.
// Members are named as in the files of transformers: the path of a tensor is its name in a checkpoint.
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

/// Sizes and variants of a Phi.
struct PhiOptions {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 8;
  int64_t key_value_heads = 8;  // heads / key_value_heads query heads share a key and a value
  int64_t width = 128;
  int64_t hidden = 512;    // width of the feed-forward layer
  int64_t head_width = 0;  // 0: width / heads
  double eps = 1e-5;
  double rotary_base = 10000;
  double rotary_share = 0.5;  // the share of a head's features that is rotated
  RotaryScaling rotary_scaling = {};
  bool head_norms = false;                       // layer norms of each head's query and key
  std::string activation = "gelu_pytorch_tanh";  // a name of models::activate
  bool tied = false;                             // the output layer has the embedding's weight
  std::optional<int64_t> padding{};              // a token whose embedding gets no gradient
};

/// Causal attention with rotary positions on a share of the features.
struct PhiAttention {
  nn::Linear q_proj, k_proj, v_proj, dense;
  nn::LayerNorm q_layernorm, k_layernorm;
  CausalHeads heads;
  bool has_head_norms = false;

  /// x: [batch, length, width] at the positions from 0.
  Tensor operator()(const Tensor& x, const RotaryTables& tables) const {
    const Tensor query = turned(q_proj(x), heads.count, q_layernorm, tables);
    const Tensor keys = turned(k_proj(x), heads.key_value_count, k_layernorm, tables);
    const Tensor values = by_head(v_proj(x), heads.key_value_count, heads.width);
    return dense(causal_attention(heads, query, keys, values));
  }
  /// As LlamaAttention::step.
  Tensor step(const Tensor& x, const RotaryTables& tables, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    const Tensor query = turned(q_proj(x), heads.count, q_layernorm, tables);
    const Tensor keys = turned(k_proj(x), heads.key_value_count, k_layernorm, tables);
    const Tensor values = by_head(v_proj(x), heads.key_value_count, heads.width);
    return dense(cached_attention(heads, query, keys, values, positions, cached_keys, cached_values));
  }

 private:
  Tensor turned(const Tensor& part, int64_t count, const nn::LayerNorm& norm, const RotaryTables& tables) const {
    const Tensor split = by_head(part, count, heads.width);
    return rotate(has_head_norms ? norm(split) : split, tables.first, tables.second);
  }
};

/// fc2(activation(fc1(x)))
struct PhiMlp {
  nn::Linear fc1, fc2;
  std::string activation = "gelu_pytorch_tanh";

  Tensor operator()(const Tensor& x) const { return fc2(activate(fc1(x), activation)); }
};

/// The sum of attention, feed-forward layer and input.
struct PhiBlock {
  PhiAttention self_attn;
  PhiMlp mlp;
  nn::LayerNorm input_layernorm;

  Tensor operator()(const Tensor& x, const RotaryTables& tables) const {
    const Tensor y = input_layernorm(x);
    const Tensor attended = self_attn(y, tables);
    return attended + mlp(y) + x;
  }
  Tensor step(const Tensor& x, const RotaryTables& tables, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    const Tensor y = input_layernorm(x);
    const Tensor attended = self_attn.step(y, tables, positions, cached_keys, cached_values);
    return attended + mlp(y) + x;
  }
};

/// A Phi-1 or Phi-2: token indices [batch, length] of i64 to logits [batch, length, vocabulary].
struct Phi {
  /// The layers below the output layer.
  struct Body {
    nn::Embedding embed_tokens;
    std::vector<PhiBlock> layers;
    nn::LayerNorm final_layernorm;
    RotaryEmbedding rotary_emb;

    /// Maps tokens [batch, length] to [batch, length, width].
    Tensor operator()(const Tensor& tokens) const {
      const RotaryTables tables = rotary_tables(rotary_emb, tokens.size(1));
      Tensor x = embed_tokens(tokens);
      for (const PhiBlock& layer : layers) x = layer(x, tables);
      return final_layernorm(x);
    }
    /// The same for tokens at `positions` (i64 [length], or [batch, length]), whose predecessors are in the cache.
    Tensor step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache) const {
      const RotaryTables tables = rotary_tables(rotary_emb, positions, cache.is_long);
      Tensor x = embed_tokens(tokens);
      for (size_t i = 0; i < layers.size(); ++i)
        x = layers[i].step(x, tables, positions, cache.keys[i], cache.values[i]);
      return final_layernorm(x);
    }
  };
  Body model;
  nn::Linear lm_head;  // has the embedding's weight in a tied model, and a bias of its own

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

  /// The model that a config.json of the family "phi" describes.
  static Phi from_config(const hub::Config& config, const LayerMaker& make);
  /// True for tensors that checkpoint files have: not for those that are computed from the options.
  static bool is_in_files(std::string_view name) { return name.find("rotary_emb.") == std::string_view::npos; }
};

/// Returns a model with fresh parameters: normal weights with a deviation of 0.02, smaller for those that end a
/// residual branch. UserError where the options' sizes do not fit together.
Phi make_phi(const PhiOptions& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `Phi::step`.
KeyValueCache make_cache(const Phi& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
