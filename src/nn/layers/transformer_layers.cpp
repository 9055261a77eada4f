// Transformer layers.
#include <fulgurite/attention_layers.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::nn {

namespace {

MultiheadAttention attention(int64_t d_model, int64_t nhead, const TransformerLayerOptions& o, SourceLocation at) {
  return MultiheadAttention(d_model, nhead,
                            {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first, .dtype = o.dtype}, at);
}

LayerNorm layer_norm(int64_t d_model, const TransformerLayerOptions& o, SourceLocation at) {
  return LayerNorm(d_model, {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype}, at);
}

void check_activation(const std::string& activation, const char* layer, SourceLocation at) {
  if (activation != "relu" && activation != "gelu")
    throw UserError(text::cat(layer, ": activation must be \"relu\" or \"gelu\", not \"", activation, "\""), at);
}

template <class Layer>
Tensor feed_forward(const Layer& layer, const Tensor& x, SourceLocation at) {
  const Tensor wide = layer.linear1(x, at),
               active = layer.activation == "gelu" ? gelu(wide, "none", at) : relu(wide, at);
  const Tensor dropped = dropout(active, layer.dropout, layer.training, false, at);
  return dropout(layer.linear2(dropped, at), layer.dropout, layer.training, false, at);
}

/// x + part(x), normalized before the part or after the sum.
template <class Part>
Tensor with_residual(const Tensor& x, const LayerNorm& norm, bool norm_first, const Part& part, SourceLocation at) {
  if (norm_first) return add(x, part(norm(x, at)), 1, at);
  return norm(add(x, part(x), 1, at), at);
}

template <class Layer>
std::vector<Layer> copies(const Layer& layer, int64_t count, const char* name, SourceLocation at) {
  if (count < 1) throw UserError(text::cat(name, ": num_layers must be at least 1, not ", count), at);
  std::vector<Layer> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(clone(layer));
  return out;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& o,
                                                 SourceLocation at)
    : self_attn(attention(d_model, nhead, o, at)),
      linear1(d_model, o.dim_feedforward, {.bias = o.bias, .dtype = o.dtype}, at),
      linear2(o.dim_feedforward, d_model, {.bias = o.bias, .dtype = o.dtype}, at),
      norm1(layer_norm(d_model, o, at)),
      norm2(layer_norm(d_model, o, at)),
      dropout(o.dropout),
      activation(o.activation),
      norm_first(o.norm_first) {
  check_activation(activation, "TransformerEncoderLayer", at);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& src, const Tensor& mask, const Tensor& padding, bool is_causal,
                                           SourceLocation at) const {
  const auto attend = [&](const Tensor& x) {
    const Tensor y = std::get<0>(self_attn(
        x, x, x, {.key_padding_mask = padding, .need_weights = false, .attn_mask = mask, .is_causal = is_causal}, at));
    return nn::dropout(y, dropout, training, false, at);
  };
  const Tensor x = with_residual(src, norm1, norm_first, attend, at);
  return with_residual(
      x, norm2, norm_first, [&](const Tensor& y) { return feed_forward(*this, y, at); }, at);
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                                       std::optional<LayerNorm> last, SourceLocation at)
    : layers(copies(layer, num_layers, "TransformerEncoder", at)), norm(std::move(last)) {}

Tensor TransformerEncoder::operator()(const Tensor& src, const Tensor& mask, const Tensor& padding, bool is_causal,
                                      SourceLocation at) const {
  Tensor x = src;
  for (const TransformerEncoderLayer& layer : layers) x = layer(x, mask, padding, is_causal, at);
  return norm ? (*norm)(x, at) : x;
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& o,
                                                 SourceLocation at)
    : self_attn(attention(d_model, nhead, o, at)),
      multihead_attn(attention(d_model, nhead, o, at)),
      linear1(d_model, o.dim_feedforward, {.bias = o.bias, .dtype = o.dtype}, at),
      linear2(o.dim_feedforward, d_model, {.bias = o.bias, .dtype = o.dtype}, at),
      norm1(layer_norm(d_model, o, at)),
      norm2(layer_norm(d_model, o, at)),
      norm3(layer_norm(d_model, o, at)),
      dropout(o.dropout),
      activation(o.activation),
      norm_first(o.norm_first) {
  check_activation(activation, "TransformerDecoderLayer", at);
}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                           const Tensor& memory_mask, const Tensor& tgt_padding,
                                           const Tensor& memory_padding, SourceLocation at) const {
  const auto attend = [&](const MultiheadAttention& layer, const Tensor& x, const Tensor& to, const Tensor& mask,
                          const Tensor& padding) {
    const Tensor y =
        std::get<0>(layer(x, to, to, {.key_padding_mask = padding, .need_weights = false, .attn_mask = mask}, at));
    return nn::dropout(y, dropout, training, false, at);
  };
  Tensor x = with_residual(
      tgt, norm1, norm_first, [&](const Tensor& y) { return attend(self_attn, y, y, tgt_mask, tgt_padding); }, at);
  x = with_residual(
      x, norm2, norm_first,
      [&](const Tensor& y) { return attend(multihead_attn, y, memory, memory_mask, memory_padding); }, at);
  return with_residual(
      x, norm3, norm_first, [&](const Tensor& y) { return feed_forward(*this, y, at); }, at);
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                                       std::optional<LayerNorm> last, SourceLocation at)
    : layers(copies(layer, num_layers, "TransformerDecoder", at)), norm(std::move(last)) {}

Tensor TransformerDecoder::operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                      const Tensor& memory_mask, const Tensor& tgt_padding,
                                      const Tensor& memory_padding, SourceLocation at) const {
  Tensor x = tgt;
  for (const TransformerDecoderLayer& layer : layers)
    x = layer(x, memory, tgt_mask, memory_mask, tgt_padding, memory_padding, at);
  return norm ? (*norm)(x, at) : x;
}

}  // namespace fulgurite::nn
