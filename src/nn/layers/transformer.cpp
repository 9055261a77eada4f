// The encoder and decoder of "Attention Is All You Need".
#include <fulgurite/transformer.h>

#include <fulgurite/error.h>
#include <fulgurite/init.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

TransformerLayerOptions layer_options(const TransformerOptions& o) {
  return {.dim_feedforward = o.dim_feedforward,
          .dropout = o.dropout,
          .activation = o.activation,
          .layer_norm_eps = o.layer_norm_eps,
          .batch_first = o.batch_first,
          .norm_first = o.norm_first,
          .bias = o.bias,
          .dtype = o.dtype};
}

LayerNorm last_norm(int64_t d_model, const TransformerLayerOptions& o, SourceLocation at) {
  return LayerNorm(d_model, {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype}, at);
}

void check_features(const Tensor& x, const char* name, int64_t d_model, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat("Transformer: ", name, " is an undefined tensor"), at);
  if ((x.dim() != 2 && x.dim() != 3) || x.size(-1) != d_model)
    throw UserError(text::cat("Transformer: ", name, " must have 2 or 3 dimensions, the last of size ", d_model,
                              ", not ", type_text(x)),
                    at);
}

}  // namespace

Transformer::Transformer(const TransformerOptions& o, SourceLocation at)
    : Transformer(o.d_model, o.nhead, o.num_encoder_layers, o.num_decoder_layers, layer_options(o), at) {}

Transformer::Transformer(int64_t features, int64_t heads, int64_t num_encoder_layers, int64_t num_decoder_layers,
                         const TransformerLayerOptions& o, SourceLocation at)
    : encoder(TransformerEncoderLayer(features, heads, o, at), num_encoder_layers, last_norm(features, o, at), at),
      decoder(TransformerDecoderLayer(features, heads, o, at), num_decoder_layers, last_norm(features, o, at), at),
      d_model(features),
      nhead(heads),
      batch_first(o.batch_first) {
  for (const Tensor& parameter : parameters(*this))
    if (parameter.dim() > 1) init::xavier_uniform_(parameter, 1, {}, at);
}

Tensor Transformer::operator()(const Tensor& src, const Tensor& tgt, const TransformerArguments& a,
                               SourceLocation at) const {
  check_features(src, "src", d_model, at);
  check_features(tgt, "tgt", d_model, at);
  const int batch = batch_first ? 0 : 1;
  if (src.dim() != tgt.dim() || (src.dim() == 3 && src.size(batch) != tgt.size(batch)))
    throw UserError(
        text::cat("Transformer: src and tgt must have one batch, they are ", type_text(src), " and ", type_text(tgt)),
        at);
  const Tensor memory = encoder(src, a.src_mask, a.src_key_padding_mask, false, at);
  return decoder(tgt, memory, a.tgt_mask, a.memory_mask, a.tgt_key_padding_mask, a.memory_key_padding_mask, at);
}

Tensor Transformer::generate_square_subsequent_mask(int64_t size, SourceLocation at) { return causal_mask(size, at); }

}  // namespace fulgurite::nn
