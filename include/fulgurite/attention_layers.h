#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/activation_layers.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/nn.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Options of MultiheadAttention; members are given in this order.
struct MultiheadAttentionOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double dropout = 0;
  bool bias = true;
  bool add_bias_kv = false;
  bool add_zero_attn = false;
  std::optional<int64_t> kdim = {};
  std::optional<int64_t> vdim = {};
  bool batch_first = false;
  std::optional<Dtype> dtype = {};
};
/// The optional arguments of a call of MultiheadAttention. A boolean mask is true where attention is not allowed, as
/// PyTorch's; a floating one is added to the scores.
struct AttentionArguments {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor key_padding_mask = {};  // [N, S]
  bool need_weights = true;
  Tensor attn_mask = {};  // [L, S] or [N * heads, L, S]
  bool average_attn_weights = true;
  bool is_causal = false;
};
/// Attention of several heads with projections of queries, keys and values. Sequences are [L, N, features], [N, L,
/// features] with batch_first, or [L, features].
struct MultiheadAttention {
  Tensor in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k,
      bias_v;  // those that are used
  Linear out_proj;
  int64_t embed_dim = 0, num_heads = 1;
  double dropout = 0;
  bool add_zero_attn = false, batch_first = false, training = true;
  MultiheadAttention() = default;
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, const MultiheadAttentionOptions& options = {},
                     SourceLocation at = SourceLocation::here());
  /// The results, and the weights of the attention (undefined without need_weights).
  std::tuple<Tensor, Tensor> operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const AttentionArguments& arguments = {},
                                        SourceLocation at = SourceLocation::here()) const;
  template <std::same_as<Tensor> T>
  std::tuple<Tensor, Tensor> operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const T& key_padding_mask, bool need_weights = true,
                                        const Tensor& attn_mask = {}, bool average_attn_weights = true,
                                        SourceLocation at = SourceLocation::here()) const {
    return (*this)(query, key, value,
                   AttentionArguments{.key_padding_mask = key_padding_mask,
                                      .need_weights = need_weights,
                                      .attn_mask = attn_mask,
                                      .average_attn_weights = average_attn_weights},
                   at);
  }
  static void parts(auto& layer, auto&& member) {
    member("in_proj_weight", layer.in_proj_weight);
    member("q_proj_weight", layer.q_proj_weight);
    member("k_proj_weight", layer.k_proj_weight);
    member("v_proj_weight", layer.v_proj_weight);
    member("in_proj_bias", layer.in_proj_bias);
    member("bias_k", layer.bias_k);
    member("bias_v", layer.bias_v);
    member("out_proj", layer.out_proj);
    member("num_heads", layer.num_heads);
    member("dropout", layer.dropout);
    member("add_zero_attn", layer.add_zero_attn);
    member("batch_first", layer.batch_first);
    member("training", layer.training);
  }

 private:
  std::tuple<Tensor, Tensor, Tensor> project(const Tensor& q, const Tensor& k, const Tensor& v,
                                             SourceLocation at) const;
};

/// The optional arguments of multi_head_attention_forward; members are given in this order.
struct MultiheadAttentionForwardOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool training = true;
  Tensor key_padding_mask = {};
  bool need_weights = true;
  Tensor attn_mask = {};
  bool use_separate_proj_weight = false;  // then the weights that follow are used, not in_proj_weight
  Tensor q_proj_weight = {}, k_proj_weight = {}, v_proj_weight = {};
  bool average_attn_weights = true;
  bool is_causal = false;
};
/// MultiheadAttention with the given parameters, over sequences [L, N, features] or [L, features]. Throws UserError if
/// the query's features are not `embed_dim_to_check`. (torch.nn.functional.multi_head_attention_forward)
std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim_to_check, int64_t num_heads,
    const Tensor& in_proj_weight, const Tensor& in_proj_bias, const Tensor& bias_k, const Tensor& bias_v,
    bool add_zero_attn, double dropout_p, const Tensor& out_proj_weight, const Tensor& out_proj_bias,
    const MultiheadAttentionForwardOptions& options = {}, SourceLocation at = SourceLocation::here());

/// Options of Transformer layers.
struct TransformerLayerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or "gelu"
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  std::optional<Dtype> dtype = {};
};
/// The same options by the names of the layers.
using TransformerEncoderLayerOptions = TransformerLayerOptions;
using TransformerDecoderLayerOptions = TransformerLayerOptions;

/// Self-attention and two linear layers, each with a residual and a norm.
struct TransformerEncoderLayer {
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  double dropout = 0.1;
  std::string activation = "relu";
  bool norm_first = false, training = true;
  TransformerEncoderLayer() = default;
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options = {},
                          SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {},
                    bool is_causal = false, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("self_attn", layer.self_attn);
    member("linear1", layer.linear1);
    member("linear2", layer.linear2);
    member("norm1", layer.norm1);
    member("norm2", layer.norm2);
    member("dropout", layer.dropout);
    member("activation", layer.activation);
    member("norm_first", layer.norm_first);
    member("training", layer.training);
  }
};

/// Copies of a layer one behind another, with parameters of their own, and a last norm.
struct TransformerEncoder {
  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
  TransformerEncoder() = default;
  TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers, std::optional<LayerNorm> norm = {},
                     SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& src, const Tensor& mask = {}, const Tensor& src_key_padding_mask = {},
                    bool is_causal = false, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& encoder, auto&& member) {
    member("layers", encoder.layers);
    member("norm", encoder.norm);
  }
};

/// Self-attention, attention to an encoder's results and two linear layers, each with a residual and a norm.
struct TransformerDecoderLayer {
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  double dropout = 0.1;
  std::string activation = "relu";
  bool norm_first = false, training = true;
  TransformerDecoderLayer() = default;
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options = {},
                          SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                    const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                    const Tensor& memory_key_padding_mask = {}, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("self_attn", layer.self_attn);
    member("multihead_attn", layer.multihead_attn);
    member("linear1", layer.linear1);
    member("linear2", layer.linear2);
    member("norm1", layer.norm1);
    member("norm2", layer.norm2);
    member("norm3", layer.norm3);
    member("dropout", layer.dropout);
    member("activation", layer.activation);
    member("norm_first", layer.norm_first);
    member("training", layer.training);
  }
};
/// Copies of a decoder layer one behind another, and a last norm.
struct TransformerDecoder {
  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
  TransformerDecoder() = default;
  TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers, std::optional<LayerNorm> norm = {},
                     SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                    const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                    const Tensor& memory_key_padding_mask = {}, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& decoder, auto&& member) {
    member("layers", decoder.layers);
    member("norm", decoder.norm);
  }
};

/// [size, size] with minus infinity above the diagonal: a position sees itself and those before it.
Tensor causal_mask(int64_t size, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
