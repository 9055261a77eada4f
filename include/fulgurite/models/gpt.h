#pragma once
#include <fulgurite/detail/requirements.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Language models as plain structures: read them as examples, or train them.
namespace models {

/// Members are given in this order.
struct GptOptions {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t width = 128;
  int64_t block = 64;  // the longest sequence
  double dropout = 0;
  bool bias = false;
  bool tanh_gelu = false;  // GPT-2's approximation of gelu
};

/// Each position attends to itself and those before it.
struct CausalSelfAttention {
  nn::Linear qkv, proj;
  nn::Dropout dropout;
  int64_t heads = 1;

  Tensor operator()(const Tensor& x) const {
    const Int batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto parts = split(qkv(x), width, 2);
    const auto by_head = [&](const Tensor& part) {
      return transpose(reshape(part, {batch, length, heads, width / heads}), 1, 2);
    };
    const Tensor query = by_head(parts[0]), key = by_head(parts[1]), value = by_head(parts[2]);
    const double p = dropout.training ? dropout.p : 0.0;
    const Tensor y = nn::scaled_dot_product_attention(query, key, value, {}, p, true);
    return dropout(proj(reshape(transpose(y, 1, 2), {batch, length, width})));
  }

  /// For the one token at `position` (i64, [1]): x is [1, 1, width]. Writes its key and value into the cache, in place.
  Tensor step(const Tensor& x, const Tensor& position, Tensor keys, Tensor values) const {
    const Int width = x.size(2);
    const auto parts = split(qkv(x), width, 2);
    const auto by_head = [&](const Tensor& part) { return reshape(part, {1, heads, 1, width / heads}); };
    const Tensor query = by_head(parts[0]), key = by_head(parts[1]), value = by_head(parts[2]);
    keys.copy_(index_copy(keys, 2, position, key));
    values.copy_(index_copy(values, 2, position, value));
    const Tensor is_before = arange(keys.size(2)) <= position;
    const Tensor y = nn::scaled_dot_product_attention(query, keys, values, is_before);
    return proj(reshape(y, {1, 1, width}));
  }
};

/// By layer, the keys and values of the tokens so far: [1, heads, block, width / heads].
struct GptCache {
  std::vector<Tensor> keys, values;
};

/// The feed-forward layer: linear, gelu, linear, dropout.
struct Mlp {
  nn::Linear fc, out;
  nn::Dropout dropout;
  bool tanh_gelu = false;

  Tensor operator()(const Tensor& x) const { return dropout(out(nn::gelu(fc(x), tanh_gelu ? "tanh" : "none"))); }
};

/// Attention and feed-forward layer, each with a layer norm before it and a residual around it.
struct GptBlock {
  nn::LayerNorm ln_1;
  CausalSelfAttention attn;
  nn::LayerNorm ln_2;
  Mlp mlp;

  Tensor operator()(const Tensor& x) const {
    const Tensor y = x + attn(ln_1(x));
    return y + mlp(ln_2(y));
  }
  Tensor step(const Tensor& x, const Tensor& position, const Tensor& keys, const Tensor& values) const {
    const Tensor y = x + attn.step(ln_1(x), position, keys, values);
    return y + mlp(ln_2(y));
  }
};

/// GPT-2's architecture; the output layer shares the token embedding's weight.
struct Gpt {
  nn::Embedding wte, wpe;
  nn::Dropout dropout;
  std::vector<GptBlock> blocks;
  nn::LayerNorm ln_f;

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& tokens) const {
    const Tensor token = wte(tokens);
    const Tensor position = narrow(wpe.weight, 0, 0, tokens.size(1));
    Tensor x = dropout(token + position);
    for (const GptBlock& block : blocks) x = block(x);
    return nn::linear(ln_f(x), wte.weight);
  }

  /// Maps one token [1] at `position` (i64, [1], below the block's length) to the scores of its successor:
  /// [vocabulary]. Requires a step for each earlier token; writes this one's keys and values into the cache, in place.
  Tensor step(const Tensor& token, const Tensor& position, const GptCache& cache) const {
    Tensor x = unsqueeze(wte(token) + wpe(position), 0);
    for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i].step(x, position, cache.keys[i], cache.values[i]);
    return reshape(nn::linear(ln_f(x), wte.weight), {-1});
  }

  /// The mean cross entropy of predicting `targets` [batch, length].
  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    const Tensor logits = (*this)(tokens);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(targets, {-1}));
  }
};

/// An empty cache for `step`.
inline GptCache make_cache(const Gpt& model) {
  GptCache cache;
  for (const GptBlock& block : model.blocks) {
    const Int heads = block.attn.heads, width = model.wpe.weight.size(1);
    const TensorOptions like_weights{.dtype = model.wpe.weight.dtype(), .device = model.wpe.weight.device()};
    cache.keys.push_back(zeros({1, heads, model.wpe.weight.size(0), width / heads}, like_weights));
    cache.values.push_back(zeros({1, heads, model.wpe.weight.size(0), width / heads}, like_weights));
  }
  return cache;
}

/// A model with GPT-2's initial values: normal with deviation 0.02, smaller for the layers that end a residual branch.
inline Gpt make_gpt(const GptOptions& o) {
  if (o.heads < 1 || o.width % o.heads != 0)
    throw UserError("make_gpt: width " + std::to_string(o.width) + " is not a multiple of heads " +
                    std::to_string(o.heads));
  const auto matrix = [&](int64_t from, int64_t to, double deviation) {
    nn::Linear layer(from, to, o.bias);
    nn::normal_(layer.weight, 0, deviation);
    if (o.bias) nn::uniform_(layer.bias, 0, 0);
    return layer;
  };
  const auto table = [&](int64_t rows) {
    nn::Embedding layer(rows, o.width);
    nn::normal_(layer.weight, 0, 0.02);
    return layer;
  };
  const auto norm = [&] { return nn::LayerNorm(o.width, 1e-5, true, o.bias); };
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers));

  Gpt model;
  model.wte = table(o.vocabulary);
  model.wpe = table(o.block);
  model.dropout = {o.dropout};
  for (int64_t i = 0; i < o.layers; ++i) {
    GptBlock block;
    block.ln_1 = norm();
    block.attn.qkv = matrix(o.width, 3 * o.width, 0.02);
    block.attn.proj = matrix(o.width, o.width, residual);
    block.attn.dropout = {o.dropout};
    block.attn.heads = o.heads;
    block.ln_2 = norm();
    block.mlp.fc = matrix(o.width, 4 * o.width, 0.02);
    block.mlp.out = matrix(4 * o.width, o.width, residual);
    block.mlp.dropout = {o.dropout};
    block.mlp.tanh_gelu = o.tanh_gelu;
    model.blocks.push_back(std::move(block));
  }
  model.ln_f = norm();
  return model;
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
