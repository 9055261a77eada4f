#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/models/activation.h>
#include <fulgurite/models/causal_attention.h>
#include <fulgurite/models/whisper.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

void check(const WhisperOptions& o) {
  for (const int64_t heads : {o.heads, o.decoder_heads})
    if (heads < 1 || o.width % heads != 0)
      throw UserError(text::cat("make_whisper: width ", o.width, " must be a multiple of the heads ", heads));
  if (o.width < 4 || o.width % 2 != 0)
    throw UserError(text::cat("make_whisper: the width must be even and at least 4, it is ", o.width));
}

// Sines and cosines of positions, whose wavelengths grow geometrically from 2 pi to 10000 times as much.
Tensor sinusoids(int64_t positions, int64_t width, Dtype dtype) {
  const int64_t half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(half - 1);
  std::vector<double> values;
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t i = 0; i < width; ++i) {
      const double angle = static_cast<double>(position) * std::exp(-step * static_cast<double>(i % half));
      values.push_back(i < half ? std::sin(angle) : std::cos(angle));
    }
  return reshape(tensor(values), {positions, width}).to(dtype);
}

WhisperAttention make_attention(int64_t width, int64_t heads, const LayerMaker& make) {
  WhisperAttention attention;
  attention.k_proj = make.linear(width, width);
  for (nn::Linear* projection : {&attention.v_proj, &attention.q_proj, &attention.out_proj})
    *projection = make.linear(width, width, true);
  attention.heads = heads;
  attention.head_width = width / heads;
  return attention;
}

constexpr double eps = 1e-5;

WhisperEncoderLayer make_encoder_layer(const WhisperOptions& o, const LayerMaker& make) {
  WhisperEncoderLayer layer;
  layer.self_attn = make_attention(o.width, o.heads, make);
  layer.self_attn_layer_norm = make.layer_norm(o.width, eps);
  layer.fc1 = make.linear(o.width, o.hidden, true);
  layer.fc2 = make.linear(o.hidden, o.width, true);
  layer.final_layer_norm = make.layer_norm(o.width, eps);
  layer.activation = o.activation;
  return layer;
}

WhisperDecoderLayer make_decoder_layer(const WhisperOptions& o, const LayerMaker& make) {
  WhisperDecoderLayer layer;
  layer.self_attn = make_attention(o.width, o.decoder_heads, make);
  layer.self_attn_layer_norm = make.layer_norm(o.width, eps);
  layer.encoder_attn = make_attention(o.width, o.decoder_heads, make);
  layer.encoder_attn_layer_norm = make.layer_norm(o.width, eps);
  layer.fc1 = make.linear(o.width, o.decoder_hidden, true);
  layer.fc2 = make.linear(o.decoder_hidden, o.width, true);
  layer.final_layer_norm = make.layer_norm(o.width, eps);
  layer.activation = o.activation;
  return layer;
}

Whisper::Encoder make_encoder(const WhisperOptions& o, const LayerMaker& make) {
  Whisper::Encoder encoder;
  encoder.conv1 = make.conv1d(o.mel_bins, o.width, 3, 1, 1, true);
  encoder.conv2 = make.conv1d(o.width, o.width, 3, 2, 1, true);
  encoder.embed_positions.weight = make.initialize ? sinusoids(o.source_positions, o.width, make.dtype)
                                                   : empty({o.source_positions, o.width}, {.dtype = make.dtype});
  for (int64_t i = 0; i < o.layers; ++i) encoder.layers.push_back(make_encoder_layer(o, make));
  encoder.layer_norm = make.layer_norm(o.width, eps);
  return encoder;
}

Whisper::Decoder make_decoder(const WhisperOptions& o, const LayerMaker& make) {
  Whisper::Decoder decoder;
  decoder.embed_tokens = make.embedding(o.vocabulary, o.width);
  decoder.embed_tokens.padding_idx = o.padding;
  decoder.embed_positions = make.embedding(o.target_positions, o.width);
  for (int64_t i = 0; i < o.decoder_layers; ++i) decoder.layers.push_back(make_decoder_layer(o, make));
  decoder.layer_norm = make.layer_norm(o.width, eps);
  return decoder;
}

void check_features(const Whisper::Encoder& encoder, const Tensor& features) {
  const Int bins = encoder.conv1.weight.size(1), frames = 2 * encoder.embed_positions.weight.size(0);
  if (features.ndim() != 3 || features.size(1) != bins || features.size(2) != frames)
    throw UserError(text::cat("Whisper takes features [batch, ", bins, ", ", frames, "], got shape ", features.shape(),
                              "; pad or cut the audio, as hub::AudioProcessor does"));
}

}  // namespace

Tensor WhisperAttention::query(const Tensor& x) const {
  const Tensor scaled = q_proj(x) * (1 / std::sqrt(static_cast<double>(head_width)));
  return by_head(scaled, heads, head_width);
}
Tensor WhisperAttention::keys(const Tensor& x) const { return by_head(k_proj(x), heads, head_width); }
Tensor WhisperAttention::values(const Tensor& x) const { return by_head(v_proj(x), heads, head_width); }

Tensor WhisperAttention::attend(const Tensor& queries, const Tensor& all_keys, const Tensor& all_values,
                                const Tensor& mask, bool is_causal) const {
  const Tensor y = nn::scaled_dot_product_attention(queries, all_keys, all_values, mask, 0.0, is_causal, Float(1.0));
  return out_proj(reshape(transpose(y, 1, 2), {y.size(0), y.size(2), heads * head_width}));
}

Tensor WhisperEncoderLayer::operator()(const Tensor& x) const {
  const Tensor before = self_attn_layer_norm(x);
  const Tensor queries = self_attn.query(before);
  const Tensor keys = self_attn.keys(before);
  const Tensor values = self_attn.values(before);
  const Tensor y = x + self_attn.attend(queries, keys, values, {});
  const Tensor hidden = activate(fc1(final_layer_norm(y)), activation);
  return within_f16(y + fc2(hidden));
}

Tensor WhisperDecoderLayer::after_self(const Tensor& x, const Tensor& keys, const Tensor& values) const {
  const Tensor queries = encoder_attn.query(encoder_attn_layer_norm(x));
  const Tensor y = x + encoder_attn.attend(queries, keys, values, {});
  const Tensor hidden = activate(fc1(final_layer_norm(y)), activation);
  return y + fc2(hidden);
}

Tensor WhisperDecoderLayer::operator()(const Tensor& x, const Tensor& keys, const Tensor& values) const {
  const Tensor before = self_attn_layer_norm(x);
  const Tensor queries = self_attn.query(before);
  const Tensor own_keys = self_attn.keys(before);
  const Tensor own_values = self_attn.values(before);
  return after_self(x + self_attn.attend(queries, own_keys, own_values, {}, true), keys, values);
}

Tensor WhisperDecoderLayer::step(const Tensor& x, const Tensor& mask, const Tensor& positions,
                                 const Tensor& cached_keys, const Tensor& cached_values, const Tensor& keys,
                                 const Tensor& values) const {
  const Tensor before = self_attn_layer_norm(x);
  const Tensor queries = self_attn.query(before);
  write_rows(cached_keys, positions, self_attn.keys(before));
  write_rows(cached_values, positions, self_attn.values(before));
  return after_self(x + self_attn.attend(queries, cached_keys, cached_values, mask), keys, values);
}

Tensor Whisper::Encoder::operator()(const Tensor& features) const {
  check_features(*this, features);
  const Tensor first = nn::gelu(conv1(features.to(conv1.weight.dtype())));
  const Tensor second = nn::gelu(conv2(first));
  Tensor x = transpose(second, 1, 2) + embed_positions.weight;
  for (const WhisperEncoderLayer& layer : layers) x = layer(x);
  return layer_norm(x);
}

Tensor Whisper::Decoder::operator()(const Tensor& tokens, const SourceCache& source) const {
  const Tensor& table = embed_positions.weight;
  if (tokens.ndim() != 2 || tokens.size(1) > table.size(0))
    throw UserError(text::cat("Whisper takes tokens [batch, length] of at most ", table.size(0), " tokens, got shape ",
                              tokens.shape()));
  const Tensor words = embed_tokens(tokens);
  Tensor x = words + narrow(table, 0, 0, tokens.size(1));
  for (size_t i = 0; i < layers.size(); ++i) x = layers[i](x, source.keys[i], source.values[i]);
  return layer_norm(x);
}

Tensor Whisper::Decoder::step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache,
                              const SourceCache& source) const {
  const Tensor words = embed_tokens(tokens);
  Tensor x = words + embed_positions(positions);
  if (layers.empty()) return layer_norm(x);
  const Tensor mask = causal_mask(positions, arange(cache.keys[0].size(2)));
  for (size_t i = 0; i < layers.size(); ++i)
    x = layers[i].step(x, mask, positions, cache.keys[i], cache.values[i], source.keys[i], source.values[i]);
  return layer_norm(x);
}

SourceCache Whisper::encode(const Tensor& features) const {
  const Tensor encoded = model.encoder(features);
  SourceCache source;
  for (const WhisperDecoderLayer& layer : model.decoder.layers) {
    source.keys.push_back(layer.encoder_attn.keys(encoded));
    source.values.push_back(layer.encoder_attn.values(encoded));
  }
  return source;
}

Tensor Whisper::operator()(const Tensor& features, const Tensor& tokens) const {
  const SourceCache source = encode(features);
  return proj_out(model.decoder(tokens, source));
}

Tensor Whisper::step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache,
                     const SourceCache& source) const {
  return proj_out(index_select(model.decoder.step(tokens, positions, cache, source), 1, rows));
}

Tensor Whisper::loss(const Tensor& features, const Tensor& labels) const {
  const Tensor logits = (*this)(features, shifted(labels));
  return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(labels, {-1}));
}

Tensor Whisper::shifted(const Tensor& labels) const {
  const Tensor start = full({labels.size(0), 1}, start_token, {.dtype = labels.dtype(), .device = labels.device()});
  const Tensor all = cat({start, narrow(labels, 1, 0, labels.size(1) - 1)}, 1);
  return where(eq(all, -100), padding, all);
}

int64_t Whisper::max_length() const { return model.decoder.embed_positions.weight.size(0); }

std::array<int64_t, 2> Whisper::feature_size() const {
  return {model.encoder.conv1.weight.size(1), 2 * model.encoder.embed_positions.weight.size(0)};
}

Whisper make_whisper(const WhisperOptions& o, const LayerMaker& make) {
  check(o);
  Whisper whisper;
  whisper.model.encoder = make_encoder(o, make);
  whisper.model.decoder = make_decoder(o, make);
  if (o.tied) whisper.proj_out.weight = whisper.model.decoder.embed_tokens.weight;
  else whisper.proj_out = make.linear(o.width, o.vocabulary);
  whisper.start_token = o.start_token;
  whisper.padding = o.padding.value_or(0);
  return whisper;
}

KeyValueCache make_cache(const Whisper& whisper, int64_t capacity, int64_t batch) {
  const std::vector<WhisperDecoderLayer>& layers = whisper.model.decoder.layers;
  if (layers.empty()) return {};
  const WhisperAttention& attention = layers.front().self_attn;
  const Tensor& weight = attention.k_proj.weight;
  return make_key_value_cache(layers.size(), {batch, attention.heads, capacity, attention.head_width},
                              {.dtype = weight.dtype(), .device = weight.device()});
}

}  // namespace fulgurite::models
