#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>

#include <fulgurite/attention_layers.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Options of Transformer; members are given in this order.
struct TransformerOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t d_model = 512;
  int64_t nhead = 8;
  int64_t num_encoder_layers = 6;
  int64_t num_decoder_layers = 6;
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or "gelu"
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  std::optional<Dtype> dtype = {};
};
/// The optional arguments of a call of Transformer. A boolean mask is true where attention is not allowed; a floating
/// one is added to the scores.
struct TransformerArguments {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor src_mask = {};                 // [S, S] or [N * heads, S, S]
  Tensor tgt_mask = {};                 // [T, T] or [N * heads, T, T]
  Tensor memory_mask = {};              // [T, S]
  Tensor src_key_padding_mask = {};     // [N, S]
  Tensor tgt_key_padding_mask = {};     // [N, T]
  Tensor memory_key_padding_mask = {};  // [N, S]
};
/// An encoder and a decoder with a last norm each; matrices start with Glorot's values (Vaswani et al. 2017). The
/// sequences are [S, N, d_model] and [T, N, d_model], [N, S, d_model] with batch_first, or without N; the result has
/// the sizes of `tgt`. (torch.nn.Transformer)
struct Transformer {
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  int64_t d_model = 0, nhead = 1;
  bool batch_first = false;
  Transformer() = default;
  explicit Transformer(const TransformerOptions& options, SourceLocation at = SourceLocation::here());
  Transformer(int64_t d_model, int64_t nhead, int64_t num_encoder_layers = 6, int64_t num_decoder_layers = 6,
              const TransformerLayerOptions& options = {}, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& src, const Tensor& tgt, const TransformerArguments& arguments = {},
                    SourceLocation at = SourceLocation::here()) const;
  /// causal_mask: [size, size] with minus infinity above the diagonal.
  static Tensor generate_square_subsequent_mask(int64_t size, SourceLocation at = SourceLocation::here());
  static void parts(auto& model, auto&& member) {
    member("encoder", model.encoder);
    member("decoder", model.decoder);
    member("d_model", model.d_model);
    member("nhead", model.nhead);
    member("batch_first", model.batch_first);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
