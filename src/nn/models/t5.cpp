#include <algorithm>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/models/t5.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

void check(const T5Options& o) {
  if (o.buckets < 4 || o.max_distance <= o.buckets / 2)
    throw UserError(
        text::cat("make_t5: there must be at least 4 buckets, and max_distance must exceed half of them; "
                  "there are ",
                  o.buckets, ", and max_distance is ", o.max_distance));
}

// The bucket of a distance: one for each of the near half, logarithmically wider ones for the rest. In f32, as
// transformers computes it.
int64_t bucket_of(int64_t distance, int64_t buckets, int64_t max_distance) {
  const int64_t near = buckets / 2;
  if (distance < near) return distance;
  const double widest = std::log(static_cast<double>(max_distance) / static_cast<double>(near));
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(near)) / static_cast<float>(widest);
  const auto far = static_cast<int64_t>(share * static_cast<float>(buckets - near));
  return std::min(near + far, buckets - 1);
}

// In the encoder half of the buckets are those of later positions; the decoder does not attend to them.
Tensor relative_buckets(const T5Options& o, bool is_encoder) {
  const int64_t count = is_encoder ? o.buckets / 2 : o.buckets;
  std::vector<int64_t> out;
  for (int64_t relative = -o.max_distance; relative <= o.max_distance; ++relative) {
    const int64_t distance = is_encoder ? std::abs(relative) : std::max<int64_t>(-relative, 0);
    out.push_back(bucket_of(distance, count, o.max_distance) + (is_encoder && relative > 0 ? count : 0));
  }
  return tensor(out);
}

double root(int64_t count) { return std::sqrt(static_cast<double>(count)); }

T5Attention make_attention(const T5Options& o, bool has_bias, const LayerMaker& make) {
  const int64_t all = o.heads * o.head_width;
  T5Attention attention;
  attention.q = make.linear(o.width, all, false, 1 / root(o.width * o.head_width));
  attention.k = make.linear(o.width, all, false, 1 / root(o.width));
  attention.v = make.linear(o.width, all, false, 1 / root(o.width));
  attention.o = make.linear(all, o.width, false, 1 / root(all));
  if (has_bias) attention.relative_attention_bias = make.embedding(o.buckets, o.heads, 1 / root(o.width));
  attention.heads = o.heads;
  attention.head_width = o.head_width;
  return attention;
}

T5FeedForward make_feed_forward(const T5Options& o, const LayerMaker& make) {
  T5FeedForward layer;
  T5FeedForward::Dense& dense = layer.DenseReluDense;
  if (o.is_gated) {
    dense.wi_0 = make.linear(o.width, o.hidden, false, 1 / root(o.width));
    dense.wi_1 = make.linear(o.width, o.hidden, false, 1 / root(o.width));
  } else {
    dense.wi = make.linear(o.width, o.hidden, false, 1 / root(o.width));
  }
  dense.wo = make.linear(o.hidden, o.width, false, 1 / root(o.hidden));
  dense.activation = o.activation;
  dense.is_gated = o.is_gated;
  layer.layer_norm = make.rms_norm(o.width, o.eps);
  return layer;
}

T5SelfLayer make_self_layer(const T5Options& o, bool is_first, const LayerMaker& make) {
  return {make_attention(o, is_first, make), make.rms_norm(o.width, o.eps)};
}

T5::Encoder make_encoder(const T5Options& o, const LayerMaker& make) {
  T5::Encoder encoder;
  for (int64_t i = 0; i < o.layers; ++i)
    encoder.block.push_back({.layer = {make_self_layer(o, i == 0, make), make_feed_forward(o, make)}});
  encoder.final_layer_norm = make.rms_norm(o.width, o.eps);
  encoder.relative_buckets = relative_buckets(o, true);
  return encoder;
}

T5::Decoder make_decoder(const T5Options& o, const LayerMaker& make) {
  T5::Decoder decoder;
  for (int64_t i = 0; i < o.decoder_layers; ++i) {
    const T5CrossLayer cross{make_attention(o, false, make), make.rms_norm(o.width, o.eps)};
    decoder.block.push_back({.layer = {make_self_layer(o, i == 0, make), cross, make_feed_forward(o, make)}});
  }
  decoder.final_layer_norm = make.rms_norm(o.width, o.eps);
  decoder.relative_buckets = relative_buckets(o, false);
  return decoder;
}

}  // namespace

T5 make_t5(const T5Options& o, const LayerMaker& make) {
  check(o);
  T5 model;
  model.shared = make.embedding(o.vocabulary, o.width, 1);
  model.encoder = make_encoder(o, make);
  model.decoder = make_decoder(o, make);
  if (!o.tied) model.lm_head = make.linear(o.width, o.vocabulary, false, 1);
  model.output_scale = o.scales_output ? 1 / root(o.width) : 1;
  model.start_token = o.start_token;
  model.padding = o.padding;
  return model;
}

KeyValueCache make_cache(const T5& model, int64_t capacity, int64_t batch) {
  if (model.decoder.block.empty()) return {};
  const T5Attention& attention = std::get<0>(model.decoder.block.front().layer).SelfAttention;
  const Tensor& weight = model.shared.weight;
  return make_key_value_cache(model.decoder.block.size(), {batch, attention.heads, capacity, attention.head_width},
                              {.dtype = weight.dtype(), .device = weight.device()});
}

}  // namespace fulgurite::models
