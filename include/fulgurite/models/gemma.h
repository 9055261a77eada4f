#pragma once
#include <fulgurite/detail/requirements.h>

// The Gemma family (Gemma Team 2024, 2025): norms that scale by 1 + weight, scaled embeddings, attention with windows
// on some layers. Members are named as in the files of transformers: the path of a tensor is its name in a checkpoint.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/models/causal_attention.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/models/llama.h>
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

/// Sizes and variants of a Gemma.
struct GemmaOptions {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 8;
  int64_t key_value_heads = 4;  // heads / key_value_heads query heads share a key and a value
  int64_t width = 128;
  int64_t hidden = 512;  // width of the gated feed-forward layer
  int64_t head_width = 32;
  double eps = 1e-6;
  double rotary_base = 10000;
  RotaryScaling rotary_scaling = {};
  double local_rotary_base = 0;  // of layers with a window; 0: as the other layers (Gemma 3 has 10000)
  RotaryScaling local_rotary_scaling = {};
  int64_t window = 0;                            // a position attends to so many before it and itself; 0: to all
  std::vector<bool> is_windowed{};               // by layer; empty: all
  double attention_scale = 0;                    // 0: 1 / √head_width
  double score_cap = 0;                          // of the attention's scores; 0: none (Gemma 2)
  double logits_cap = 0;                         // 0: none (Gemma 2)
  bool attention_bias = false;                   // of query, key, value and output
  bool head_norms = false;                       // norms of each head's query and key (Gemma 3)
  bool branch_norms = false;                     // norms after attention and feed-forward layer too (Gemma 2 and 3)
  std::string activation = "gelu_pytorch_tanh";  // a name of models::activate
  bool tied = true;                              // the output layer has the embedding's weight
  std::optional<int64_t> padding{};              // a token whose embedding gets no gradient
};

/// x / √(mean(x²) + eps) · (1 + weight), computed in f32.
struct GemmaNorm {
  Tensor weight;
  double eps = 1e-6;

  Tensor operator()(const Tensor& x) const {
    const Dtype wide = x.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    const Tensor scale = weight.to(wide) + 1.0;
    const Tensor features = x.to(wide);
    return nn::rms_norm(features, {weight.size(0)}, scale, Float(eps)).to(x.dtype());
  }
};

/// Causal attention with rotary positions; groups of query heads may share keys and values.
struct GemmaAttention {
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  GemmaNorm q_norm, k_norm;
  CausalHeads heads;
  bool has_head_norms = false;

  /// x: [batch, length, width] at the positions from 0.
  Tensor operator()(const Tensor& x, const RotaryTables& tables) const {
    const Tensor query = turned(q_proj(x), heads.count, q_norm, tables);
    const Tensor keys = turned(k_proj(x), heads.key_value_count, k_norm, tables);
    const Tensor values = by_head(v_proj(x), heads.key_value_count, heads.width);
    return o_proj(causal_attention(heads, query, keys, values));
  }
  /// As LlamaAttention::step.
  Tensor step(const Tensor& x, const RotaryTables& tables, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    const Tensor query = turned(q_proj(x), heads.count, q_norm, tables);
    const Tensor keys = turned(k_proj(x), heads.key_value_count, k_norm, tables);
    const Tensor values = by_head(v_proj(x), heads.key_value_count, heads.width);
    return o_proj(cached_attention(heads, query, keys, values, positions, cached_keys, cached_values));
  }

 private:
  Tensor turned(const Tensor& part, int64_t count, const GemmaNorm& norm, const RotaryTables& tables) const {
    const Tensor split = by_head(part, count, heads.width);
    return rotate(has_head_norms ? norm(split) : split, tables.first, tables.second);
  }
};

/// Attention and a gated feed-forward layer, each with a norm before it, a residual around it, and in later versions a
/// norm after it.
struct GemmaBlock {
  GemmaAttention self_attn;
  GatedMlp mlp;
  GemmaNorm input_layernorm, post_attention_layernorm, pre_feedforward_layernorm, post_feedforward_layernorm;
  bool has_branch_norms = false;

  Tensor operator()(const Tensor& x, const RotaryTables& tables) const {
    return after_attention(x, self_attn(input_layernorm(x), tables));
  }
  Tensor step(const Tensor& x, const RotaryTables& tables, const Tensor& positions, const Tensor& cached_keys,
              const Tensor& cached_values) const {
    return after_attention(x, self_attn.step(input_layernorm(x), tables, positions, cached_keys, cached_values));
  }

 private:
  Tensor after_attention(const Tensor& x, const Tensor& attended) const {
    if (!has_branch_norms) {
      const Tensor y = x + attended;
      return y + mlp(post_attention_layernorm(y));
    }
    const Tensor y = x + post_attention_layernorm(attended);
    return y + post_feedforward_layernorm(mlp(pre_feedforward_layernorm(y)));
  }
};

/// A model of the Gemma family: token indices [batch, length] of i64 to logits [batch, length, vocabulary].
struct Gemma {
  /// The layers below the output layer.
  struct Body {
    nn::Embedding embed_tokens;
    std::vector<GemmaBlock> layers;
    GemmaNorm norm;
    RotaryEmbedding rotary_emb, local_rotary_emb;
    bool has_local_rotary = false;  // layers with a window have frequencies of their own
    double embedding_scale = 1;

    /// Maps tokens [batch, length] to [batch, length, width].
    Tensor operator()(const Tensor& tokens) const {
      const RotaryTables all = rotary_tables(rotary_emb, tokens.size(1));
      const RotaryTables local = has_local_rotary ? rotary_tables(local_rotary_emb, tokens.size(1)) : all;
      Tensor x = embedded(tokens);
      for (const GemmaBlock& layer : layers) x = layer(x, is_local(layer) ? local : all);
      return norm(x);
    }
    /// The same for tokens at `positions` (i64 [length], or [batch, length]), whose predecessors are in the cache.
    Tensor step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache) const {
      const RotaryTables all = rotary_tables(rotary_emb, positions, cache.is_long);
      const RotaryTables local = has_local_rotary ? rotary_tables(local_rotary_emb, positions, cache.is_long) : all;
      Tensor x = embedded(tokens);
      for (size_t i = 0; i < layers.size(); ++i)
        x = layers[i].step(x, is_local(layers[i]) ? local : all, positions, cache.keys[i], cache.values[i]);
      return norm(x);
    }

   private:
    static bool is_local(const GemmaBlock& layer) { return layer.self_attn.heads.window != 0; }
    // The scale is rounded to the embedding's dtype: 55.5 instead of √3072 in bf16.
    Tensor embedded(const Tensor& tokens) const {
      const Tensor x = embed_tokens(tokens);
      const Tensor scale = full({}, embedding_scale, {.dtype = x.dtype(), .device = x.device()});
      return x * scale;
    }
  };
  Body model;
  nn::Linear lm_head;  // has the embedding's weight in a tied model
  double logits_cap = 0;

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& tokens) const { return scores(model(tokens)); }
  /// As Llama::step.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache) const {
    return scores(index_select(model.step(tokens, positions, cache), 1, rows));
  }
  /// The mean cross entropy of predicting `targets` [batch, length]; those of -100 do not count.
  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    const Tensor logits = (*this)(tokens);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(targets, {-1}));
  }

  /// As Llama::long_length.
  int64_t long_length() const { return model.rotary_emb.original_block; }

  /// The model that a config.json of the family "gemma", "gemma2" or "gemma3_text" describes, or the language model of
  /// "gemma3".
  static Gemma from_config(const hub::Config& config, const LayerMaker& make);
  /// True for tensors that checkpoint files have: not for those that are computed from the options.
  static bool is_in_files(std::string_view name) { return name.find("rotary_emb.") == std::string_view::npos; }
  /// Files of models of images and texts name the language model, and have the tensors for images too.
  static constexpr std::array<std::string_view, 1> extra_prefixes = {"language_model."};
  static bool is_ignorable(std::string_view name) {
    return name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.");
  }

 private:
  Tensor scores(const Tensor& x) const {
    const Tensor logits = lm_head(x);
    return logits_cap == 0 ? logits : soft_capped(logits, logits_cap);
  }
};

/// Returns a model with fresh parameters: normal weights with a deviation of 0.02, smaller for those that end a
/// residual branch. UserError where the options' sizes do not fit together.
Gemma make_gemma(const GemmaOptions& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `Gemma::step`.
KeyValueCache make_cache(const Gemma& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
